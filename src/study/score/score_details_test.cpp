// Scores of each kind, row by row: defaults of blank columns, intervals, doubtful rows, skipped
// ones with their reasons, and what reports write.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "layers/fabric/nccl_tuner.h"
#include "study/score/collectives_score.h"
#include "study/score/offline_score.h"
#include "study/score/rows_fixture.h"
#include "study/score/steps_score.h"

namespace orrery::score {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

TEST(ScoreDetails, nothing_measured_is_no_error_and_no_summary) {
  const ScoredRow blank{.id = "a", .predicted = {5, 4, 6}, .measured = std::nullopt};
  EXPECT_EQ(blank.ape(), 0);
  const ScoreSummary none = summarise({});
  EXPECT_EQ(none.scored, 0);
  EXPECT_EQ(none.median_ape, 0);
  EXPECT_EQ(none.mean_ape, 0);
  EXPECT_EQ(none.p90_ape, 0);
  EXPECT_EQ(none.coverage, 0);
  EXPECT_EQ(Score{}.rows, 0);
}

Score two_series() {
  Score s{.kind = "k", .rows = 3, .series = {{"time", "s", {}}, {"watts", "W", {}}}};
  s.series[0].rows = {
      {.id = "a",
       .predicted = {110, 90, 120},
       .measured = 100.0,
       .groups = {"gpu=x"},
       .note = "why"},
      {.id = "b", .predicted = {80, 70, 90}, .measured = 100.0, .groups = {"gpu=y"}}};
  s.series[1].rows = {
      {.id = "a", .predicted = {600, 500, 700}, .measured = 400.0, .groups = {"gpu=x"}}};
  s.skipped = {{"z", "reason"}};
  return s;
}

TEST(ScoreDetails, every_series_has_its_summary_and_groups_in_the_json) {
  const Json j = Json::parse(score_json(two_series()));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["kind"], "k");
  EXPECT_EQ(j["rows"], 3);
  EXPECT_EQ(j["scored"], 2);
  EXPECT_NEAR(j["median_ape"].get<double>(), 0.15, 1e-12);
  EXPECT_NEAR(j["mean_ape"].get<double>(), 0.15, 1e-12);
  EXPECT_NEAR(j["groups"]["gpu=x"]["median_ape"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(j["groups"]["gpu=y"]["mean_ape"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(j["groups"]["gpu=x"]["coverage"], 1.0);
  EXPECT_EQ(j["groups"]["gpu=y"]["coverage"], 0.0);
  EXPECT_EQ(j["watts"]["scored"], 1);
  EXPECT_NEAR(j["watts"]["p90_ape"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(j["watts"]["groups"]["gpu=x"]["p90_ape"].get<double>(), 0.5, 1e-12);
  ASSERT_EQ(j["worst"].size(), 2U);
  EXPECT_EQ(j["worst"][0]["id"], "b");
  EXPECT_EQ(j["worst"][0]["predicted"], 80);
  EXPECT_EQ(j["worst"][0]["measured"], 100);
  EXPECT_NEAR(j["worst"][0]["ape"].get<double>(), 0.2, 1e-12);
  EXPECT_FALSE(j["worst"][0].contains("note"));
  EXPECT_EQ(j["worst"][1]["note"], "why");
  EXPECT_EQ(j["skipped"][0]["id"], "z");
}

TEST(ScoreDetails, twenty_worst_rows_are_reported_and_ten_in_text) {
  Score s{.kind = "k", .rows = 25, .series = {{"time", "s", {}}}};
  for (int i = 0; i < 25; ++i) {
    s.series[0].rows.push_back(
        {.id = fmt::format("r{:02}", i), .predicted = {101.0 + i, 1, 2}, .measured = 100.0});
  }
  EXPECT_EQ(Json::parse(score_json(s))["worst"].size(), 20U);
  const std::string markdown = score_markdown(s);
  EXPECT_THAT(markdown, HasSubstr("| r05 | 106 | 100 | 6.0 % |"));
  EXPECT_THAT(markdown, testing::Not(HasSubstr("r04")));
  const std::string text = score_text(s);
  EXPECT_THAT(text, HasSubstr("r15 "));
  EXPECT_THAT(text, testing::Not(HasSubstr("r14 ")));
}

TEST(ScoreDetails, the_tables_have_a_line_of_every_group) {
  const std::string markdown = score_markdown(two_series());
  EXPECT_THAT(markdown, HasSubstr("### time (s)\n"));
  EXPECT_THAT(markdown, HasSubstr("| gpu=x | 1 | 10.0 % | 10.0 % | 10.0 % | 100.0 % |\n"));
  EXPECT_THAT(markdown, HasSubstr("| gpu=y | 1 | 20.0 % | 20.0 % | 20.0 % | 0.0 % |\n"));
  EXPECT_THAT(markdown, HasSubstr("### watts (W)\n"));
  EXPECT_THAT(markdown, HasSubstr("| gpu=x | 1 | 50.0 % | 50.0 % | 50.0 % | 0.0 % |\n"));
  EXPECT_THAT(markdown, HasSubstr("| a | 110 | 100 | 10.0 % | why |\n"));
  const std::string text = score_text(two_series());
  EXPECT_THAT(text, HasSubstr("k: 3 rows, 2 scored, 1 skipped\n"));
  EXPECT_THAT(text, testing::ContainsRegex("gpu=y +1 +20.0 % +20.0 % +0.0 %"));
  EXPECT_THAT(text, testing::ContainsRegex("b +predicted +80 measured +100 error +20.0 %"));
}

RowFields link_row(const RowFields& more) {
  return with_fields({{"id", "r"},
                      {"gpu", "h100-sxm"},
                      {"gpus_per_node", "8"},
                      {"nodes", "3"},
                      {"ranks", "24"},
                      {"fabric", "IB"},
                      {"collective", "all_reduce"},
                      {"bytes", "1000000000"},
                      {"quality", "A"},
                      {"algo", ""},
                      {"time_us_oop", "9000"},
                      {"nic_per_node", "8x400G"}},
                     more);
}
std::expected<CollectiveRow, std::string> linked(const RowFields& more) {
  const CsvTable table = table_of({link_row(more)});
  return read_collective_row(table, table.rows().at(0), machine::known().catalog());
}
Score links_scored(const RowFields& more) {
  return score_collectives(table_of({link_row(more)}), known_inputs()).value();
}

TEST(ScoreDetails, a_collective_s_hosts_are_counted_or_one) {
  const auto per_host = [](const char* nodes, const char* ranks) {
    const auto r = linked({{"nodes", nodes}, {"ranks", ranks}, {"gpus_per_node", ""}});
    EXPECT_TRUE(r) << r.error();
    return r->wiring.accelerators_per_host;
  };
  EXPECT_EQ(per_host("2", "8"), 4);
  EXPECT_EQ(per_host("", "8"), 8);
  EXPECT_EQ(per_host("0", "8"), 8);
  EXPECT_EQ(per_host("4294967296", "8"), 1) << "no more hosts than ranks";
  EXPECT_TRUE(linked({{"ranks", "10000000"}}));
  EXPECT_EQ(linked({{"ranks", "10000001"}}).error(), "no size or number of ranks");
  EXPECT_TRUE(linked({{"ranks", "2"}, {"nodes", "1"}}));
  EXPECT_THAT(linked({{"collective", "all_together"}}).error(), HasSubstr("all_together"));
  EXPECT_THAT(linked({{"gpu", "abacus"}}).error(), HasSubstr("abacus"));
  EXPECT_THAT(linked({{"fabric", "string"}}).error(), HasSubstr("no network kind in \"string\""));
  EXPECT_EQ(linked({{"quality", "B log"}})->quality, "B");
}

TEST(ScoreDetails, nics_are_counted_by_the_text_that_is_given) {
  EXPECT_FALSE(parse_nics(std::string_view("8 x400G", 1)));
  EXPECT_FALSE(parse_nics(std::string_view("8 x 400G", 4)));
  EXPECT_FALSE(parse_nics(""));
  EXPECT_FALSE(parse_nics("x400G"));
  EXPECT_FALSE(parse_nics("8x"));
  EXPECT_FALSE(parse_nics("8xG"));
  EXPECT_FALSE(parse_nics("8x0G"));
  EXPECT_EQ(parse_nics("12345678x400G")->count, 12345678);
  EXPECT_FALSE(parse_nics("123456789x400G"));
  EXPECT_EQ(parse_nics("4x100G EFA")->rate, gbits_per_s(100));
  EXPECT_EQ(parse_nics("4x100G EFA")->count, 4);
  EXPECT_EQ(parse_nics("16 EFA")->count, 16);
}

// 24 ranks in three domains: a bus rate of 2 x 23/24 of a gigabyte in t, two 23rds of which cross
// the NICs of 50 GB/s: 3,333 us at the least. A ring of eight on 450 GB/s: 1.75 GB in 3,889 us.
TEST(ScoreDetails, rates_beyond_the_links_are_doubtful) {
  const auto note = [](const RowFields& more) {
    return links_scored(more).series[0].rows.at(0).note;
  };
  EXPECT_THAT(note({{"time_us_oop", "3300"}}), HasSubstr("more than its NICs carry"));
  EXPECT_EQ(note({{"time_us_oop", "3370"}}), "");
  EXPECT_EQ(note({{"time_us_oop", "1"}, {"ranks", "16"}, {"nodes", "2"}}), "")
      << "of two domains each sends half";
  EXPECT_EQ(note({{"time_us_oop", ""}}), "");
  const RowFields inside = {{"ranks", "8"}, {"nodes", "1"}, {"algo", "ring"}};
  EXPECT_THAT(note(with_fields(inside, {{"time_us_oop", "3850"}})),
              HasSubstr("faster than a ring can be"));
  EXPECT_EQ(note(with_fields(inside, {{"time_us_oop", "3930"}})), "");
  EXPECT_EQ(note(with_fields(inside, {{"time_us_oop", "3850"}, {"algo", ""}})), "");
}

TEST(ScoreDetails, what_nccl_believes_stands_beside_where_it_has_equations) {
  const Score s = links_scored({});
  const ScoredRow& row = s.series[0].rows.at(0);
  EXPECT_THAT(row.groups,
              ElementsAre("size=from 64 MiB", "gpu=h100-sxm", "network=infiniband",
                          "collective=all_reduce", testing::StartsWith("limit="), "quality=A"));
  EXPECT_THAT(s.series[1].rows.at(0).groups, ElementsAre("size=from 64 MiB", "quality=A"));
  const auto believed = [](const char* gpu, fabric::GpuGeneration generation) {
    const auto r = linked({{"gpu", gpu}});
    const machine::Links links(r->wiring, machine::known().collectives);
    const fabric::NcclMachine nccl{
        .generation = generation,
        .nic_per_rank = links.built().nic_rate * links.built().nics_per_rank,
        .nvls = links.built().scaleup.nvls_share > 0};
    return nccl_choice(nccl, r->call).time.base() * 1e6;
  };
  const auto scored = [](const char* gpu) {
    return links_scored({{"gpu", gpu}}).series[1].rows.at(0).predicted.value;
  };
  EXPECT_DOUBLE_EQ(scored("h100-sxm"), believed("h100-sxm", fabric::GpuGeneration::hopper));
  EXPECT_DOUBLE_EQ(scored("b200-sxm"), believed("b200-sxm", fabric::GpuGeneration::blackwell));
  EXPECT_DOUBLE_EQ(scored("a100-80-sxm"), believed("a100-80-sxm", fabric::GpuGeneration::ampere));
  for (const char* other : {"all_to_all", "send_recv"}) {
    const Score apart = links_scored({{"collective", other}});
    EXPECT_EQ(apart.series[0].rows.size(), 1U) << other;
    EXPECT_TRUE(apart.series[1].rows.empty()) << other;
  }
  EXPECT_EQ(links_scored({{"ranks", "1"}}).skipped.at(0).id, "r");
}

RowFields queued_row(const RowFields& more) {
  return with_fields({{"id", "r"},
                      {"model", "Llama 3.3 70B"},
                      {"gpu", "H200"},
                      {"precision", "FP8"},
                      {"num_gpus", "2"},
                      {"isl", "128"},
                      {"osl", "2048"},
                      {"version", "0.17"},
                      {"value", "500"},
                      {"metric", "output tokens/s total"}},
                     more);
}
std::expected<OfflineRow, std::string> queued(const RowFields& more) {
  const CsvTable table = table_of({queued_row(more)});
  return read_offline_row(table, table.rows().at(0), known_inputs());
}

// TensorRT-LLM's perf-overview.md, "Preparing a Dataset".
TEST(ScoreDetails, tests_queue_as_many_requests_as_their_lengths_say) {
  const std::tuple<const char*, const char*, int> published[] = {
      {"128", "128", 30000},  {"128", "2048", 3000}, {"128", "4096", 1500},  {"2048", "128", 3000},
      {"2048", "2048", 1500}, {"500", "2000", 3000}, {"1000", "1000", 3000}, {"1000", "2000", 1500},
      {"1024", "2048", 1500}, {"5000", "500", 1500}, {"20000", "2000", 1000}};
  for (const auto& [input, output, requests] : published) {
    EXPECT_EQ(queued({{"isl", input}, {"osl", output}})->requests, requests) << input << output;
  }
  EXPECT_EQ(queued({{"isl", "128"}, {"osl", "129"}})->requests, 1500);
  EXPECT_EQ(queued({{"isl", "129"}, {"osl", "128"}})->requests, 1500);
}

TEST(ScoreDetails, an_offline_row_is_read_whole) {
  const auto r = queued({{"precision", "FP4"}, {"gpu", "B200"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->query.engine, "tensorrt-llm-0");
  EXPECT_FALSE(r->query.streams);
  EXPECT_EQ(r->query.memory_share, 0.95);
  EXPECT_EQ(r->query.model.sliding_window, 0);
  EXPECT_EQ(r->query.domain, 0);
  EXPECT_EQ(r->query.precision.products, catalog::Dtype::fp4);
  EXPECT_EQ(r->query.precision.experts, catalog::Dtype::fp4);
  EXPECT_EQ(r->query.precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(r->query.request.input, 128);
  EXPECT_EQ(r->query.request.output, 2048);
  EXPECT_EQ(queued({{"num_gpus", ""}})->query.split.tp, 1);
  const std::pair<const char*, const char*> devices[] = {
      {"GB200", "gb200"},        {"B200", "b200-sxm"},
      {"H100 80GB", "h100-sxm"}, {"A100-SXM4-80GB", "a100-80-sxm"},
      {"L40S", "l40s"},          {"H100-NVL", "h100-sxm"},
      {"MI300X", "mi300x"}};
  for (const auto& [name, id] : devices) {
    EXPECT_EQ(queued({{"gpu", name}})->query.accelerator->id, id) << name;
  }
  EXPECT_EQ(queued({{"model", "nothing"}}).error(), "unknown model");
  EXPECT_EQ(queued({{"gpu", "abacus"}}).error(), "unknown accelerator");
  EXPECT_EQ(queued({{"precision", "FP2"}}).error(), "unknown precision");
  EXPECT_EQ(queued({{"osl", ""}}).error(), "no lengths");
  EXPECT_EQ(queued({{"metric", "requests/s"}}).error(), "another metric");
}

TEST(ScoreDetails, an_offline_row_that_fits_nowhere_is_skipped) {
  const CsvTable table = table_of({queued_row({{"num_gpus", "1"}, {"precision", "FP16"}}),
                                   queued_row({{"id", "s"}, {"metric", "x"}})});
  const Score s = score_offline(table, known_inputs()).value();
  ASSERT_EQ(s.skipped.size(), 2U);
  EXPECT_THAT(s.skipped[0].reason, HasSubstr("leave no room"));
  EXPECT_TRUE(s.skipped[0].counts);
  EXPECT_TRUE(s.skipped[1].counts);
  EXPECT_EQ(s.skipped[1].id, "s");
  EXPECT_EQ(s.rows, 2);
  EXPECT_TRUE(s.series[0].rows.empty());
}

TEST(ScoreDetails, steps_are_skipped_with_their_reason) {
  const Score s = *score_steps(
      *CsvTable::parse("id,model,gpu,phase,batch,tokens_or_context,seconds,watts\n"
                       "a,8b,,idle,1,1,1,\nb,none,,decode,1,1,1,\nc,8b,,decode,2,100,0.5,300\n"
                       "d,llama-3-70b,l40s,decode,1,100,1,\n",
                       "s.csv"),
      known_inputs());
  ASSERT_GE(s.skipped.size(), 2U);
  EXPECT_EQ(s.skipped[0].reason, "unknown phase");
  EXPECT_EQ(s.skipped[1].reason, "unknown model");
  EXPECT_TRUE(s.skipped[0].counts);
  EXPECT_THAT(s.series[0].rows.at(0).groups, ElementsAre("gpu=h200-sxm", "phase=decode"));
  EXPECT_EQ(s.rows, 4);
}

}  // namespace
}  // namespace orrery::score
