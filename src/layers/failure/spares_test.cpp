#include "layers/failure/spares.h"

#include <gtest/gtest.h>

#include "layers/failure/lemon.h"
#include "layers/failure/rates.h"

namespace orrery::failure {
namespace {

// 2048 nodes at 3.79 failures per 1000 node-days and a day of repair: 7.76 in repair on average.
TEST(Spares, llama3_sized_fleet) {
  const Spares s = size_spares(
      {.nodes = 2048, .node_rate = per_1000_node_days(3.79), .repair = days(1), .shortfall = 0.01});
  EXPECT_NEAR(s.mean_in_repair, 7.76, 0.01);
  EXPECT_EQ(s.count, 15);
  EXPECT_LT(s.shortfall, 0.01);
}

// Mean 1: P(X > 3) = 0.01899, P(X > 4) = 0.00366 (tables of the Poisson distribution).
TEST(Spares, smallest_count_that_meets_the_bound) {
  const SpareProblem mean_one{
      .nodes = 1000, .node_rate = PerSecond(1e-6), .repair = seconds(1000), .shortfall = 0.01};
  EXPECT_EQ(size_spares(mean_one).count, 4);
  EXPECT_NEAR(size_spares(mean_one).shortfall, 0.00366, 0.00001);
  SpareProblem looser = mean_one;
  looser.shortfall = 0.02;
  EXPECT_EQ(size_spares(looser).count, 3);
}

TEST(Spares, grow_with_failures_repair_and_nodes) {
  int before = -1;
  for (double scale = 0; scale < 20; scale += 0.5) {
    const Spares s = size_spares({.nodes = 500,
                                  .node_rate = per_1000_node_days(4 * scale),
                                  .repair = days(2),
                                  .shortfall = 0.001});
    EXPECT_GE(s.count, before);
    before = s.count;
  }
}

TEST(Spares, never_more_than_the_nodes) {
  const Spares s =
      size_spares({.nodes = 4, .node_rate = PerSecond(1), .repair = days(1), .shortfall = 0.01});
  EXPECT_EQ(s.count, 4);
}

TEST(Spares, huge_fleets_are_sized_at_once) {
  const Spares s = size_spares(
      {.nodes = 1e8, .node_rate = per_1000_node_days(10), .repair = days(1), .shortfall = 0.001});
  // A million in repair, standard deviation 1000: 3.09 deviations above the mean.
  EXPECT_NEAR(s.count, 1e6 + 3090, 20);
}

TEST(Spares, repair_pipeline) {
  // AIReSim's defaults: 2 h automatic, 2 d manual for 80 %.
  EXPECT_DOUBLE_EQ(
      mean_repair({.reset = hours(2), .hands = days(2), .hands_share = 0.8}) / hours(1),
      2 + 0.8 * 48);
}

// P(Poisson(0.83) > 3) = 0.01028: a bound of 0.01 needs a fourth spare, one of 0.0106 does not.
TEST(Spares, spare_count_meets_the_shortfall) {
  SpareProblem problem{.nodes = 1000, .node_rate = PerSecond(8.3e-7), .repair = seconds(1000)};
  EXPECT_EQ(size_spares(problem).count, 4);
  problem.shortfall = 0.0103;
  EXPECT_EQ(size_spares(problem).count, 3);
  EXPECT_NEAR(size_spares(problem).shortfall, 0.010278077145148, 1e-12);
  EXPECT_NEAR(size_spares(problem).mean_in_repair, 0.83, 1e-12);
  problem.shortfall = 1;
  EXPECT_EQ(size_spares(problem).count, 0);
  EXPECT_DOUBLE_EQ(mean_repair({}).base(), 1800 + 0.2 * 86'400);
}

}  // namespace
}  // namespace orrery::failure
