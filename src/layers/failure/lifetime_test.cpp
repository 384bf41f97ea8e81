#include "layers/failure/lifetime.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "layers/failure/lemon.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"

namespace orrery::failure {
namespace {

constexpr int kHosts = 40'000;

TEST(Lifetime, exponential_is_shape_one) {
  const Weibull life = life_of(1, days(10));
  EXPECT_NEAR(life.scale / days(10), 1, 1e-12);
  EXPECT_NEAR(life_at(life, 0.5) / days(10), 0.6931471805599453, 1e-12);
  EXPECT_NEAR(failures_within(life, days(25)), 2.5, 1e-4);
  EXPECT_NEAR(failures_within(life, days(1000)), 100, 1e-9);
  EXPECT_EQ(early_factor(1, days(10), days(3)), 1);
}

// Gamma(1 + 1/0.5) = 2, Gamma(1 + 1/2) = sqrt(pi)/2.
TEST(Lifetime, scales_by_hand) {
  EXPECT_NEAR(life_of(0.5, days(10)).scale / days(5), 1, 1e-12);
  EXPECT_NEAR(life_of(2, days(10)).scale / days(10), 2 / 1.7724538509055159, 1e-12);
}

double drawn_failures(double shape, double means) {
  const Weibull life = life_of(shape, days(1));
  RandomStream random(5, "test/lives");
  double failures = 0;
  for (int h = 0; h < kHosts; ++h) {
    Seconds age = life_at(life, random.uniform());
    for (; age < days(means); age += life_at(life, random.uniform())) ++failures;
  }
  return failures / kHosts;
}

TEST(Lifetime, failures_are_those_of_drawn_lives) {
  for (const double shape : {0.5, 0.7, 2.0, 4.0}) {
    for (const double means : {0.2, 1.0, 5.0, 12.0}) {
      const double expected = failures_within(life_of(shape, days(1)), days(means));
      EXPECT_NEAR(drawn_failures(shape, means) / expected, 1,
                  0.01 + 3 / std::sqrt(kHosts * expected))
          << shape << " " << means;
    }
  }
}

TEST(Lifetime, new_fleet_fails_early_below_shape_one_and_late_above) {
  EXPECT_GT(early_factor(0.7, days(264), days(54)), 1.3);
  EXPECT_LT(early_factor(2, days(264), days(54)), 0.3);
  EXPECT_EQ(early_factor(5, days(264), days(1)), 1e-3) << "no law is known so far down";
}

// Beyond eight means: T/mean + (cv^2 - 1)/2. Shape 1/2 has cv^2 = 4!/2!^2 - 1 = 5.
TEST(Lifetime, long_run_renewals_follow_the_asymptote) {
  EXPECT_NEAR(failures_within(life_of(0.5, days(1)), days(8.5)), 10.5, 1e-9);
  EXPECT_NEAR(failures_within(life_of(0.5, days(1)), days(20)), 22, 1e-9);
  EXPECT_NEAR(failures_within(life_of(2, days(1)), days(8.5)), 8.5 + (4 / std::acos(-1.0) - 2) / 2,
              1e-9);
  EXPECT_EQ(failures_within(life_of(2, days(1)), days(0)), 0);
}

// An exponential's expected renewals equal its span, up to the trapezoid rule's error: 1.6e-7 for
// half a mean and 1.02e-5 for two.
TEST(Lifetime, exponential_renewals_equal_the_span) {
  EXPECT_NEAR(failures_within(life_of(1, days(1)), days(0.5)), 0.5, 3e-7);
  EXPECT_NEAR(failures_within(life_of(1, days(1)), days(2)), 2, 1.1e-5);
  EXPECT_NEAR(failures_within(life_of(1, days(1)), days(7)), 7, 4.5e-4);
}

}  // namespace
}  // namespace orrery::failure
