#include "layers/failure/straggler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

// Tables of normal order statistics (Harter 1961): 0.56419, 1.53875, 2.50759; for 1000, 3.24144.
TEST(Straggler, expected_maximum_of_normals) {
  EXPECT_EQ(expected_max_normal(1), 0);
  EXPECT_NEAR(expected_max_normal(2), 1 / std::sqrt(std::numbers::pi), 1e-8);
  EXPECT_NEAR(expected_max_normal(10), 1.53875, 1e-5);
  EXPECT_NEAR(expected_max_normal(100), 2.50759, 1e-5);
  EXPECT_NEAR(expected_max_normal(1000), 3.24144, 1e-5);
}

TEST(Straggler, grows_with_ranks_and_spread) {
  double before = 1;
  for (const double ranks : {1.0, 8.0, 64.0, 1024.0, 16384.0, 131072.0}) {
    const double f = straggler_factor({.ranks = ranks, .deviation = 0.02});
    EXPECT_GE(f, before);
    before = f;
  }
  EXPECT_EQ(straggler_factor({.ranks = 4096}), 1);
}

TEST(Straggler, one_slow_node_is_enough) {
  // With 1 % of nodes 10 % slow, 1000 ranks are almost sure to meet one, 10 ranks are not.
  EXPECT_NEAR(straggler_factor({.ranks = 1000, .slow_share = 0.01, .slow_factor = 1.1}), 1.1, 1e-4);
  EXPECT_NEAR(straggler_factor({.ranks = 10, .slow_share = 0.01, .slow_factor = 1.1}),
              1 + 0.1 * (1 - std::pow(0.99, 10)), 1e-12);
}

TEST(Straggler, slowest_of_two_matches_theory) {
  EXPECT_NEAR(straggler_factor({.ranks = 2, .deviation = 0.1}),
              1 + 0.1 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(straggler_factor({.ranks = 3, .slow_share = 0.5, .slow_factor = 2}), 1 + 0.875,
              1e-12);
  EXPECT_NEAR(straggler_factor({.ranks = 3, .slow_share = 2, .slow_factor = 2}), 2, 1e-9)
      << "more than all are all";
}

}  // namespace
}  // namespace orrery::failure
