#include "layers/failure/lemon.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::failure {
namespace {

TEST(Lemon, a_failure_fades_by_e_in_one_memory) {
  const FadingCount once = struck({}, days(1), 1, days(30));
  EXPECT_DOUBLE_EQ(faded(once, days(1), days(30)), 1);
  EXPECT_NEAR(faded(once, days(31), days(30)), std::exp(-1.0), 1e-12);
  const FadingCount twice = struck(once, days(31), 1, days(30));
  EXPECT_NEAR(twice.weight, 1 + std::exp(-1.0), 1e-12);
}

TEST(Lemon, a_clock_that_steps_back_adds_no_weight) {
  const FadingCount once = struck({}, days(5), 1, days(30));
  EXPECT_DOUBLE_EQ(faded(once, days(1), days(30)), 1);
  EXPECT_EQ(struck(once, days(1), 1, days(30)).at, days(5));
}

// By hand for a watch that has just begun: the exposure is 0, so odds = 0.015/0.985 * 10^failures.
TEST(Lemon, three_failures_on_the_first_day_pass_the_bound_and_two_do_not) {
  const LemonPrior prior;
  const LemonEvidence two{.node_weight = 2, .other_nodes = 63};
  const LemonEvidence three{.node_weight = 3, .other_nodes = 63};
  EXPECT_NEAR(lemon_odds(two, prior), 0.015 / 0.985 * 100, 1e-9);
  EXPECT_NEAR(lemon_odds(three, prior), 0.015 / 0.985 * 1000, 1e-9);
  EXPECT_LT(lemon_odds(two, prior), prior.odds_bound);
  EXPECT_GT(lemon_odds(three, prior), prior.odds_bound);
}

TEST(Lemon, odds_grow_with_failures_and_shrink_with_quiet_time) {
  const LemonPrior prior;
  double last = 0;
  for (int failures = 0; failures < 6; ++failures) {
    const double odds = lemon_odds({.node_weight = static_cast<double>(failures),
                                    .other_weight = 3,
                                    .other_nodes = 100,
                                    .watched = days(20)},
                                   prior);
    EXPECT_GT(odds, last);
    last = odds;
  }
  last = 1e9;
  for (int day = 0; day < 100; day += 10) {
    const double odds =
        lemon_odds({.node_weight = 3, .other_nodes = 100, .watched = days(day)}, prior);
    EXPECT_LT(odds, last);
    last = odds;
  }
}

// Where every node fails often, a node that does is no lemon.
TEST(Lemon, a_bad_fleet_has_no_lemons) {
  const LemonPrior prior;
  const LemonEvidence calm{
      .node_weight = 4, .other_weight = 6, .other_nodes = 63, .watched = days(20)};
  LemonEvidence bad = calm;
  bad.other_weight = 4 * 63;
  EXPECT_GT(lemon_odds(calm, prior), prior.odds_bound);
  EXPECT_LT(lemon_odds(bad, prior), 1e-3);
}

}  // namespace
}  // namespace orrery::failure
