#include "study/score/collectives_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/catalog/embedded_table.h"
#include "layers/fabric/nccl_tuner.h"
#include "model/machine/known_fixture.h"
#include "study/score/log_standing.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

Score links_scored(const RowFields& more) {
  return score_collectives(table_of({link_row(more)}), known_inputs()).value();
}

std::expected<CollectiveRow, std::string> linked(const RowFields& more) {
  const CsvTable table = table_of({link_row(more)});
  return read_collective_row(table, table.rows().at(0), machine::known().catalog());
}

std::map<std::string, std::string> collective_fields() {
  return {{"id", "r"},
          {"gpu", "h100-sxm"},
          {"gpus_per_node", "8"},
          {"nodes", "2"},
          {"ranks", "16"},
          {"fabric", "IB"},
          {"collective", "all_reduce"},
          {"bytes", "1048576"},
          {"quality", "A"},
          {"nic_per_node", "8x400G"}};
}

Score scored_collectives(const std::map<std::string, std::string>& more) {
  auto fields = collective_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  return score_collectives(one_row(fields), known_inputs()).value();
}

std::expected<CollectiveRow, std::string> collective_row(
    const std::map<std::string, std::string>& more) {
  auto fields = collective_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_collective_row(table, table.rows().at(0), machine::known().catalog());
}

TEST(CollectivesScore, scale_up_domains_of_hosts) {
  catalog::Accelerator a{.id = "x"};
  const auto domain = [&a](int of_link, int per_host) {
    a.scaleup_domain = of_link;
    return domain_of_host(a, per_host);
  };
  EXPECT_EQ(domain(8, 16), 8);
  EXPECT_EQ(domain(8, 4), 4);
  EXPECT_EQ(domain(9, 4), 9);
  EXPECT_EQ(domain(72, 4), 72);
  LogLine line;
  line.measured.time_us = 2e6;
  line.expected.seconds = {.value = 1.5, .low = 2, .high = 2};
  EXPECT_FALSE(line.slow());
  EXPECT_FALSE(line.fast());
  line.expected.seconds = {.value = 1.5, .low = 2.1, .high = 1.9};
  EXPECT_TRUE(line.slow());
  EXPECT_TRUE(line.fast());
}

const ScoreSummary* find(const std::vector<GroupSummary>& groups, std::string_view name) {
  for (const GroupSummary& g : groups) {
    if (g.name == name) return &g.summary;
  }
  return nullptr;
}

// The gate: measured rows of quality A and B. Median error at most 10 % from 64 MiB, 20 % below;
// coverage of the 80 % interval between 0.70 and 0.92; and better than NCCL's own equations.
TEST(CollectivesScore, published_rows_are_within_the_limit) {
  const auto table = catalog::embedded_table("validation/collectives.csv");
  ASSERT_TRUE(table.has_value());
  const auto score = score_collectives(*table, {machine::known(), nullptr});
  ASSERT_TRUE(score.has_value());
  EXPECT_EQ(score->rows, 413);
  const ScoreSummary all = totals_of(score->series[0]);
  EXPECT_GT(all.scored, 385);
  EXPECT_GE(all.coverage, 0.70);
  EXPECT_LE(all.coverage, 0.92);
  const auto groups = groups_of_series(score->series[0]);
  const ScoreSummary* large = find(groups, "size=from 64 MiB");
  const ScoreSummary* small = find(groups, "size=below 64 MiB");
  ASSERT_TRUE(large && small);
  EXPECT_LE(large->median_ape, 0.04);
  EXPECT_LE(small->median_ape, 0.09);
  const ScoreSummary nccl = totals_of(score->series[1]);
  EXPECT_GT(nccl.median_ape, 2 * all.median_ape);
}

TEST(CollectivesScore, unusable_rows_are_skipped_with_a_reason) {
  const auto table = CsvTable::parse(
      "id,gpu,gpus_per_node,nodes,ranks,nic_per_node,fabric,collective,algo,bytes,quality\n"
      "a,abacus,8,1,8,-,NVLink4,all_reduce,auto,1024,A\n"
      "b,h100-sxm,8,2,16,unstated,IB,all_reduce,auto,1024,A\n"
      "c,h100-sxm,8,2,16,8x400G,IB,all_dance,auto,1024,A\n"
      "d,h100-sxm,8,2,16,8x400G,IB,all_reduce,auto,,A\n"
      "e,h100-sxm,8,2,16,8x400G,IB,all_reduce,auto,1024,A\n",
      "t.csv");
  const auto score = score_collectives(*table, {machine::known(), nullptr});
  ASSERT_TRUE(score.has_value());
  EXPECT_EQ(score->skipped.size(), 4u);
  ASSERT_EQ(score->series[0].rows.size(), 1u);
  EXPECT_FALSE(score->series[0].rows[0].measured.has_value());
}

TEST(CollectivesScore, nic_descriptions_are_read) {
  EXPECT_DOUBLE_EQ(parse_nics("8x400G")->rate.base(), 50e9);
  EXPECT_DOUBLE_EQ(parse_nics("32x100G EFA")->count, 32);
  EXPECT_DOUBLE_EQ(parse_nics("16 EFA")->count, 16);
  EXPECT_FALSE(parse_nics("-").has_value());
  EXPECT_FALSE(parse_nics("unstated").has_value());
  EXPECT_FALSE(parse_nics("8x").has_value());
}

TEST(CollectivesScore, ranks_and_racks_have_domains) {
  EXPECT_EQ(machine::packed_group(1984, 8).per_domain, 8);
  EXPECT_EQ(machine::packed_group(128, 72).per_domain, 64);
  EXPECT_EQ(machine::packed_group(72, 72).per_domain, 72);
  EXPECT_EQ(machine::packed_group(7, 8).per_domain, 7);
}

// Twenty ranks are two domains of eight and one of four: three.
TEST(CollectivesScore, a_half_empty_domain_is_one_domain) {
  const auto note = [](const char* ranks, const char* nodes) {
    const Score s = score_collectives(table_of({{{"id", "a"},
                                                 {"system", "s"},
                                                 {"gpu", "h100-sxm"},
                                                 {"gpus_per_node", "8"},
                                                 {"nodes", nodes},
                                                 {"ranks", ranks},
                                                 {"fabric", "InfiniBand"},
                                                 {"nic_per_node", "8x400G"},
                                                 {"collective", "all_gather"},
                                                 {"bytes", "1073741824"},
                                                 {"quality", "A"},
                                                 {"time_us_oop", "100"}}}),
                                      known_inputs())
                        .value();
    return s.series[0].rows.at(0).note;
  };
  EXPECT_NE(note("20", "3"), "");
  EXPECT_NE(note("24", "3"), "");
  EXPECT_EQ(note("16", "2"), "");
}

TEST(CollectivesScore, a_row_names_its_machine) {
  const auto r = collective_row({{"time_us_oop", "50"}, {"time_us_ip", "60"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->measured_us, 50);
  EXPECT_EQ(r->wiring.domain, 8);
  EXPECT_EQ(r->wiring.nics_per_host, 8);
  EXPECT_EQ(r->wiring.nic_rate, gbits_per_s(400));
  EXPECT_EQ(r->wiring.network, catalog::NetworkKind::infiniband);
  EXPECT_EQ(r->call.group.ranks, 16);
  EXPECT_EQ(r->call.group.per_domain, 8);
  EXPECT_FALSE(r->wiring.torch_timed);
  EXPECT_EQ(collective_row({{"time_us_oop", "0"}, {"time_us_ip", "60"}})->measured_us, 60);
  EXPECT_FALSE(collective_row({})->measured_us);
  EXPECT_TRUE(collective_row({{"quality", "B handbook"}})->wiring.torch_timed);
  EXPECT_TRUE(collective_row({{"quality", "B handbook"}})->counts);
  EXPECT_FALSE(collective_row({{"quality", "C: ill"}})->counts);
}

TEST(CollectivesScore, ranks_of_one_host_need_no_network) {
  const auto r = collective_row({{"ranks", "8"}, {"nodes", "1"}, {"nic_per_node", ""}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->wiring.network, catalog::NetworkKind::none);
  EXPECT_THAT(collective_row({{"nic_per_node", ""}}).error(), HasSubstr("NICs"));
  EXPECT_FALSE(collective_row({{"ranks", "1"}}));
  EXPECT_FALSE(collective_row({{"bytes", "0"}}));
}

// A rack's link joins 72 where the row says that NVLink spans hosts, else the hosts are apart.
TEST(CollectivesScore, a_rack_with_a_spanning_link_is_one_domain) {
  const std::map<std::string, std::string> rack = {
      {"gpu", "gb200"}, {"gpus_per_node", "4"}, {"nodes", "18"}, {"ranks", "72"}};
  auto spans = rack;
  spans["fabric"] = "NVLink5 MNNVL";
  EXPECT_EQ(collective_row(spans)->wiring.domain, 72);
  EXPECT_EQ(collective_row(rack)->wiring.domain, 4);
}

TEST(CollectivesScore, times_are_in_microseconds_grouped_by_size) {
  const Score large = scored_collectives({{"bytes", "67108864"}, {"time_us_oop", "400"}});
  const ScoredRow& row = large.series[0].rows.at(0);
  // 2 x 15/16 of 64 MiB at no more than 8 x 50 GB/s takes at least 300 us, and less than a minute.
  EXPECT_GT(row.predicted.value, 100);
  EXPECT_LT(row.predicted.value, 5000);
  EXPECT_EQ(row.predicted.basis, Basis::fitted);
  EXPECT_THAT(row.groups, testing::Contains("size=from 64 MiB"));
  EXPECT_THAT(scored_collectives({{"bytes", "67108863"}}).series[0].rows.at(0).groups,
              testing::Contains("size=below 64 MiB"));
  const double nccl = large.series[1].rows.at(0).predicted.value;
  EXPECT_GT(nccl, 50);
  EXPECT_LT(nccl, 5000);
}

// Sixteen ranks of eight NICs at 50 GB/s cannot carry a terabyte per second; a ring on a link is no
// faster than the link.
TEST(CollectivesScore, impossible_rates_are_doubtful) {
  const auto note = [](const std::map<std::string, std::string>& more) {
    return scored_collectives(more).series[0].rows.at(0).note;
  };
  EXPECT_EQ(note({{"bytes", "1073741824"}, {"time_us_oop", "6000"}}), "");
  EXPECT_THAT(
      note({{"bytes", "1073741824"}, {"time_us_oop", "100"}, {"ranks", "64"}, {"nodes", "8"}}),
      HasSubstr("NICs"));
  EXPECT_THAT(note({{"bytes", "1073741824"},
                    {"time_us_oop", "100"},
                    {"ranks", "8"},
                    {"nodes", "1"},
                    {"algo", "ring"}}),
              HasSubstr("ring"));
}

TEST(CollectivesScore, nccl_estimates_are_reported_if_available) {
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

}  // namespace
}  // namespace orrery::score
