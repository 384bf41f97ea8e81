// Rows and what is noted of them, continued: gathering of prompts, layouts that rows of one test
// disagree in, notes of contradictions, groups by format, and what cannot be simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/score/calibrate.h"
#include "study/score/collectives_score.h"
#include "study/score/dlio_summary.h"
#include "study/score/open_loop_score.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"
#include "study/score/training_explain.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

RowFields noted_training(const RowFields& more) {
  return training_fields(
      with_fields({{"framework", "megatron-bridge"}, {"release", "25.11"}, {"source", ""}}, more));
}

TEST(RowNotes, both_formats_of_sixteen_bits_are_one_class) {
  const auto groups = [](const char* precision) {
    const CsvTable table = table_of({noted_training({{"precision", precision}})});
    return score_training(table, known_inputs()).value().series[0].rows.at(0).groups;
  };
  EXPECT_THAT(groups("bf16"), Contains("class=dense 16-bit"));
  EXPECT_THAT(groups("bf16"), Contains("class=dense bf16"));
  EXPECT_THAT(groups("fp16"), Contains("class=dense 16-bit"));
  EXPECT_THAT(groups("fp16"), Not(Contains("class=dense bf16")));
  EXPECT_THAT(groups("fp8"), Contains("class=dense 8-bit or less"));
}

TEST(RowNotes, a_row_that_was_fitted_is_said_to_be) {
  const auto said = [](const RowFields& more) {
    return explain_training_row(table_of({noted_training(more)}), known_inputs(), "a").value();
  };
  EXPECT_THAT(said({}),
              HasSubstr("\n  rows of its model, framework, release and accelerator were fitted\n"));
  EXPECT_THAT(said({{"release", "1.0"}}), HasSubstr("\n  no fitted row is of its release\n"));
  EXPECT_THAT(said({{"release", "1.0"}, {"model", "llama-2-70b"}}),
              Not(HasSubstr("of its model, framework, release")));
}

// 16 sequences of 4,096 tokens on 8 devices at 1,000 tokens/s each: 8.192 s.
TEST(RowNotes, a_difference_is_told_in_seconds_and_as_a_share_of_what_was_measured) {
  const CsvTable table = table_of({noted_training({{"tokens_per_s_per_gpu", "1000"}})});
  const std::string text = explain_training_row(table, known_inputs(), "a").value();
  EXPECT_THAT(text, HasSubstr("\n  measured             8.1920 s  1000 tokens/s per GPU\n"));
  const std::size_t at = text.find("  difference");
  ASSERT_NE(at, std::string::npos);
  const double seconds = std::stod(text.substr(at + 12));
  const double percent = std::stod(text.substr(text.find(" s ", at) + 3));
  EXPECT_GT(seconds, 1);
  EXPECT_NEAR(percent, 100 * seconds / 8.192, 0.06);
}

jobs::ServingQuery gathered(const char* model, double clients) {
  const catalog::Catalog& catalog = machine::known().catalog();
  jobs::ServingQuery q;
  q.model = *catalog.model(model);
  q.accelerator = catalog.accelerator("b200-sxm");
  q.engine = "trtllm";
  q.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  q.split.tp = 4;
  q.request = {.input = 1024, .output = 1024};
  q.concurrency = clients;
  return q;
}

// Prompts of DeepSeek's shape gather from 64 clients on; other mixtures do not.
TEST(RowNotes, only_latent_attention_gathers_for_experts) {
  EXPECT_EQ(load_of_test(gathered("deepseek-v3", 64)).gathering.iterations, 40);
  EXPECT_DOUBLE_EQ(load_of_test(gathered("deepseek-v3", 64)).gathering.tokens, 0.8 * 8192);
  EXPECT_EQ(load_of_test(gathered("deepseek-v3", 63)).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(gathered("mixtral-8x7b", 64)).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(gathered("llama-3-8b", 64)).gathering.iterations, 20);
  jobs::ServingQuery wide = gathered("deepseek-v3", 64);
  wide.precision.experts = catalog::Dtype::fp4;
  EXPECT_EQ(load_of_test(wide).gathering.iterations, 0);
}

RowFields apart_fields(const RowFields& more) {
  return with_fields({{"id", "a"},
                      {"silicon_data_source", "x; silicon_concurrency=64; measured=2026-02-03"},
                      {"mode", "disagg"},
                      {"backend", "sglang"},
                      {"model_path", "deepseek-ai/DeepSeek-R1"},
                      {"system", "h200_sxm"},
                      {"precision", "fp8"},
                      {"isl", "1024"},
                      {"osl", "1024"},
                      {"batch_size", "3"},
                      {"prefill_tp_size", "8"},
                      {"decode_tp_size", "8"}},
                     more);
}

// Once two rows of one test disagree, a third that agrees with the first does not mend it.
TEST(RowNotes, rows_of_one_test_must_all_agree) {
  const auto named = [](const char* replicas) {
    return apart_fields({{"prefill_num_workers", "1"}, {"decode_num_workers", replicas}});
  };
  const auto from = [&](const std::vector<RowFields>& others) {
    std::vector<RowFields> rows = others;
    rows.push_back(apart_fields({}));
    const CsvTable table = table_of(rows);
    const auto read = ApartRows(table, known_inputs()).read(table.rows().back(), known_inputs());
    EXPECT_TRUE(read);
    return read->from;
  };
  EXPECT_EQ(from({named("2")}), ReplicasFrom::same_test);
  EXPECT_EQ(from({named("2"), named("2")}), ReplicasFrom::same_test);
  EXPECT_EQ(from({named("2"), named("3")}), ReplicasFrom::usual);
  EXPECT_EQ(from({named("2"), named("3"), named("2")}), ReplicasFrom::usual);
}

// The source's number of clients comes first, one is a number, and none is no row.
TEST(RowNotes, clients_are_those_that_the_source_names) {
  const auto clients = [](const std::string& source) {
    const CsvTable table = table_of({apart_fields({{"silicon_data_source", source}})});
    const auto q = read_serving_row(table, table.rows()[0], known_inputs(), "decode_");
    return q ? q->concurrency : -1;
  };
  EXPECT_EQ(clients("x; silicon_concurrency=64"), 64);
  EXPECT_EQ(clients("x; silicon_concurrency=1; y=2"), 1);
  EXPECT_EQ(clients("x"), 3) << "else the batch";
  EXPECT_EQ(clients("x; silicon_concurrency=0"), -1);
  EXPECT_EQ(clients("x; silicon_concurrency=many"), -1);
}

// Faster than a ring can be: inside a domain its label is in doubt, between hosts their NICs are.
TEST(RowNotes, what_contradicts_a_rate_depends_on_where_it_runs) {
  const auto note = [](const char* ranks, const char* nodes, const char* algorithm) {
    const CsvTable table = table_of({{{"id", "a"},
                                      {"system", "s"},
                                      {"gpu", "h100-sxm"},
                                      {"gpus_per_node", "8"},
                                      {"nodes", nodes},
                                      {"ranks", ranks},
                                      {"fabric", "InfiniBand"},
                                      {"nic_per_node", "8x400G"},
                                      {"collective", "all_gather"},
                                      {"algo", algorithm},
                                      {"bytes", "1073741824"},
                                      {"quality", "A"},
                                      {"time_us_oop", "100"}}});
    return score_collectives(table, known_inputs()).value().series[0].rows.at(0).note;
  };
  const char* nics = "more than its NICs carry: their number or rate is doubtful";
  EXPECT_EQ(note("8", "1", "ring"),
            "faster than a ring can be on this link: its label is doubtful");
  EXPECT_EQ(note("8", "1", ""), "");
  EXPECT_EQ(note("24", "3", "ring"), nics);
  EXPECT_EQ(note("24", "3", ""), nics);
}

TEST(RowNotes, a_model_that_does_not_fit_is_skipped_with_its_reason) {
  const Score s = score_open_loop(table_of({{{"id", "a"},
                                             {"gpu", "l40s"},
                                             {"model", "llama-3.1-405b"},
                                             {"engine", "vllm"},
                                             {"rate", "1"}}}),
                                  known_inputs())
                      .value();
  EXPECT_TRUE(s.series[0].rows.empty());
  ASSERT_EQ(s.skipped.size(), 1U);
  EXPECT_EQ(s.skipped[0].id, "a");
  EXPECT_FALSE(s.skipped[0].reason.empty());
  EXPECT_TRUE(s.skipped[0].counts);
}

// Objects beside one another are not inside one another; a text is no number.
TEST(RowNotes, a_summary_may_have_many_objects) {
  std::string beside;
  for (int i = 0; i < 20; ++i) beside += "\"o" + std::to_string(i) + "\": {\"a\": [1]}, ";
  const auto read = [](const std::string& more, const std::string& metric) {
    return calibrate_from_dlio(
        "{\"num_accelerators\": 16, " + more + "\"metric\": {" + metric + "}}", "s.json", "hot");
  };
  EXPECT_TRUE(read(beside, "\"train_io_mean_MB_per_second\": 2000.0"));
  EXPECT_FALSE(read("", "\"train_io_mean_MB_per_second\": \"2000\""));
}

TEST(RowNotes, fitted_values_are_written_to_four_digits) {
  CalibrationReport report{.accelerator = "a", .gpu = "G, one", .parts = {}};
  report.parts.push_back({.name = "passes", .fit = {}, .median_before = 0.5});
  compute::FitResult& fit = report.parts[0].fit;
  fit.values = {
      {.accelerator = "a", .library = "l", .dtype = "d", .parameter = "p", .value = 1.23456}};
  fit.fitted_on = 7;
  fit.median_error = 0.01234;
  fit.p90_error = 0.0567;
  EXPECT_EQ(calibration_csv(report),
            "accelerator,library,dtype,parameter,value,fit,rows,held_out_median,held_out_p90\n"
            "a,l,d,p,1.235,\"orrery calibrate: passes of one G, one\",7,0.012,0.057\n");
}

}  // namespace
}  // namespace orrery::score
