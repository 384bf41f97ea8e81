#include "study/score/collectives_score.h"

#include <gtest/gtest.h>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

const ScoreSummary* find(const std::vector<GroupSummary>& groups, std::string_view name) {
  for (const GroupSummary& g : groups) {
    if (g.name == name) return &g.summary;
  }
  return nullptr;
}

// The gate: measured rows of quality A and B. Median error at most 10 % from 64 MiB, 20 % below;
// coverage of the 80 % interval between 0.70 and 0.92; and better than NCCL's own equations.
TEST(CollectivesScore, PublishedRowsWithinTheGate) {
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

TEST(CollectivesScore, RowsItCannotAskAreSkippedWithTheirReason) {
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

TEST(CollectivesScore, NicTexts) {
  EXPECT_DOUBLE_EQ(parse_nics("8x400G")->rate.base(), 50e9);
  EXPECT_DOUBLE_EQ(parse_nics("32x100G EFA")->count, 32);
  EXPECT_DOUBLE_EQ(parse_nics("16 EFA")->count, 16);
  EXPECT_FALSE(parse_nics("-").has_value());
  EXPECT_FALSE(parse_nics("unstated").has_value());
  EXPECT_FALSE(parse_nics("8x").has_value());
}

TEST(CollectivesScore, RankAndRackDomains) {
  EXPECT_EQ(machine::packed_group(1984, 8).per_domain, 8);
  EXPECT_EQ(machine::packed_group(128, 72).per_domain, 64);
  EXPECT_EQ(machine::packed_group(72, 72).per_domain, 72);
  EXPECT_EQ(machine::packed_group(7, 8).per_domain, 7);
}

}  // namespace
}  // namespace orrery::score
