#include "layers/failure/lemon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "layers/failure/lifetime.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"

namespace orrery::failure {
namespace {

TEST(Lemon, failure_fades_by_e_in_one_memory) {
  const FadingCount once = struck({}, days(1), 1, days(30));
  EXPECT_DOUBLE_EQ(faded(once, days(1), days(30)), 1);
  EXPECT_NEAR(faded(once, days(31), days(30)), std::exp(-1.0), 1e-12);
  const FadingCount twice = struck(once, days(31), 1, days(30));
  EXPECT_NEAR(twice.weight, 1 + std::exp(-1.0), 1e-12);
}

TEST(Lemon, clock_that_steps_back_adds_no_weight) {
  const FadingCount once = struck({}, days(5), 1, days(30));
  EXPECT_DOUBLE_EQ(faded(once, days(1), days(30)), 1);
  EXPECT_EQ(struck(once, days(1), 1, days(30)).at, days(5));
}

// Observation has just begun, so the exposure is 0 and the odds are 0.015/0.985 * 10^failures.
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

// In a fleet where every node fails often, a node that does is not a lemon.
TEST(Lemon, bad_fleet_has_no_lemons) {
  const LemonPrior prior;
  const LemonEvidence calm{
      .node_weight = 4, .other_weight = 6, .other_nodes = 63, .watched = days(20)};
  LemonEvidence bad = calm;
  bad.other_weight = 4 * 63;
  EXPECT_GT(lemon_odds(calm, prior), prior.odds_bound);
  EXPECT_LT(lemon_odds(bad, prior), 1e-3);
}

TEST(Lemon, odds_start_at_the_prior) {
  EXPECT_NEAR(lemon_odds(LemonEvidence{}, {}), 0.015 / 0.985, 1e-12);
  EXPECT_NEAR(lemon_odds({.node_weight = 2}, {}), 0.015 / 0.985 * 100, 1e-9);
  // 30 days observed without failures: E = 30 (1 - 1/e) days; the rate of 99 other nodes is 2 /
  // (2/0.0065 + 99 E) per day, the base rate lower by 1 + 0.015 x 9.
  const double exposure = 30 * (1 - std::exp(-1.0));
  const double rate = 2 / (2 / 0.0065 + 99 * exposure);
  EXPECT_NEAR(fleet_rate(0, 99, days(30), {}).base() * 86'400, rate, 1e-12);
  EXPECT_NEAR(lemon_odds({.node_weight = 1, .other_nodes = 99, .watched = days(30)}, {}),
              0.015 / 0.985 * 10 * std::exp(-9 * rate / 1.135 * exposure), 1e-9);
  EXPECT_NEAR(fleet_rate(3, 99, days(30), {}).base() * 86'400, 2.5 * rate, 1e-12);
  // With no other nodes to compare with, the published rate: 0.0065 per day.
  EXPECT_NEAR(lemon_odds({.node_weight = 1, .watched = days(30)}, {}),
              0.015 / 0.985 * 10 * std::exp(-9 * 0.0065 / 1.135 * exposure), 1e-9);
  const FadingCount once = struck({}, days(10), 1, days(30));
  EXPECT_EQ(once.weight, 1);
  EXPECT_EQ(once.at, days(10));
  EXPECT_NEAR(faded(once, days(25), days(30)), std::exp(-0.5), 1e-12);
  EXPECT_EQ(faded(once, days(5), days(30)), 1) << "a clock that stepped back";
  const FadingCount twice = struck(once, days(25), 2, days(30));
  EXPECT_NEAR(twice.weight, 2 + std::exp(-0.5), 1e-12);
  EXPECT_EQ(struck(once, days(5), 1, days(30)).at, days(10));
}

TEST(Lemon, fleet_rate_and_lemon_odds_match_the_formula) {
  const LemonPrior prior{.mix = {.share = 0.02, .multiplier = 5},
                         .rate = per_1000_node_days(10),
                         .rate_failures = 3,
                         .memory = days(20)};
  // E = tau (1 - e^(-t/tau)); rate = (a + w) / (a/rate_0 + n E).
  const double exposure = 20 * (1 - std::exp(-10.0 / 20));  // days
  const double rate = (3 + 7) / (3 / 0.01 + 500 * exposure);
  EXPECT_NEAR(fleet_rate(7, 500, days(10), prior) * days(1), rate, 1e-12);
  const double base = rate / (0.98 + 0.02 * 5);
  const double odds = 0.02 / 0.98 * std::pow(5, 2.5) * std::exp(-(5 - 1) * base * exposure);
  const LemonEvidence evidence{
      .node_weight = 2.5, .other_weight = 7, .other_nodes = 500, .watched = days(10)};
  EXPECT_NEAR(lemon_odds(evidence, prior) / odds, 1, 1e-9);
  // Prior odds times the Poisson likelihood ratio.
  const double failures = 3, expected = 2;
  const auto poisson = [&](double mean) { return std::exp(-mean) * std::pow(mean, failures); };
  EXPECT_NEAR(lemon_odds({.share = 0.1, .multiplier = 4}, PerSecond(0.02), failures, seconds(100)) /
                  (0.1 / 0.9 * poisson(4 * expected) / poisson(expected)),
              1, 1e-9);
  EXPECT_NEAR(life_at({.shape = 3, .scale = days(10)}, 0.5) / days(10),
              std::cbrt(std::numbers::ln2), 1e-12)
      << "the median of a Weibull";
}

}  // namespace
}  // namespace orrery::failure
