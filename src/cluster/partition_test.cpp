#include "cluster/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace orrery::cluster {
namespace {

SplitFleet fleet() {
  return {.nodes = 127,
          .slurm_nodes = 95,
          .slurm = {.mean = 90, .deviation = 15},
          .kubernetes = {.mean = 30, .deviation = 8}};
}

// Thrown by hand: the mean of min(idle on one side, waiting on the other).
TEST(Partition, StrandedNodesAgreeWithThrowing) {
  const SplitFleet f = fleet();
  RandomStream random(1, "test/partition");
  double sum = 0;
  constexpr int kTrials = 200000;
  for (int t = 0; t < kTrials; ++t) {
    const double a = f.slurm.mean + f.slurm.deviation * random.normal();
    const double b = f.kubernetes.mean + f.kubernetes.deviation * random.normal();
    const double idle_a = std::max(0.0, f.slurm_nodes - a);
    const double idle_b = std::max(0.0, f.nodes - f.slurm_nodes - b);
    const double wait_a = std::max(0.0, a - f.slurm_nodes);
    const double wait_b = std::max(0.0, b - (f.nodes - f.slurm_nodes));
    sum += std::min(idle_a, wait_b) + std::min(idle_b, wait_a);
  }
  EXPECT_NEAR(split_cost(f).stranded, sum / kTrials, 0.02);
}

TEST(Partition, PoolingNeverUsesLess) {
  SplitFleet f = fleet();
  for (double border = 0; border <= f.nodes; border += 1) {
    f.slurm_nodes = border;
    const SplitCost c = split_cost(f);
    EXPECT_GE(c.stranded, -1e-9);
    EXPECT_GE(c.used_pooled, c.used_split - 1e-12);
  }
}

TEST(Partition, BestBorderIsNearTheMeansAndBeatsOthers) {
  SplitFleet f = fleet();
  const int best = best_border(f);
  EXPECT_NEAR(best, 95, 3);
  f.slurm_nodes = best;
  const double least = split_cost(f).stranded;
  for (const int other : {best - 1, best + 1, 64}) {
    f.slurm_nodes = other;
    EXPECT_GE(split_cost(f).stranded, least);
  }
}

TEST(Partition, NoSpreadNoStranding) {
  SplitFleet f = fleet();
  f.slurm = {.mean = 95, .deviation = 0};
  f.kubernetes = {.mean = 32, .deviation = 0};
  EXPECT_EQ(split_cost(f).stranded, 0);
  const NodeDemand d = demand_of_jobs(16, 4);
  EXPECT_EQ(d.mean, 64);
  EXPECT_EQ(d.deviation, 16);
}

// Two and three nodes without spread: any border from 2 to 7 strands nobody, and the first is
// taken.
TEST(Partition, OfEqualBordersTheFirst) {
  const SplitFleet f{
      .nodes = 10, .slurm = {.mean = 2, .deviation = 0}, .kubernetes = {.mean = 3, .deviation = 0}};
  EXPECT_EQ(best_border(f), 2);
}

TEST(Quota, GuaranteeBorrowWaitNever) {
  std::vector<QuotaState> cohort = {{"a", 64, 32, 60}, {"b", 64, 0, 0}};
  EXPECT_EQ(check_quota(cohort, 0, 4), QuotaVerdict::within);
  EXPECT_EQ(check_quota(cohort, 0, 8), QuotaVerdict::borrows);
  EXPECT_EQ(check_quota(cohort, 0, 40), QuotaVerdict::must_wait);  // 100 > 64 + 32
  EXPECT_EQ(check_quota(cohort, 0, 97), QuotaVerdict::never);
  cohort[1].used = 64;  // b's guarantee is in use: nothing to borrow
  EXPECT_EQ(check_quota(cohort, 0, 8), QuotaVerdict::must_wait);
  EXPECT_EQ(check_quota(cohort, 1, 65), QuotaVerdict::never);
}

TEST(Quota, GuaranteesAboveTheFleet) {
  const std::vector<QuotaState> cohort = {{"a", 64, 0, 0}, {"b", 80, 0, 0}};
  EXPECT_EQ(overcommitted(cohort, 128), 16);
  EXPECT_EQ(overcommitted(cohort, 144), 0);
  EXPECT_EQ(overcommitted(cohort, 143), 1);
  EXPECT_EQ(overcommitted(cohort, 1000), 0);
}

}  // namespace
}  // namespace orrery::cluster
