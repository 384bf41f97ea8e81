#include "core/base/probability.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

TEST(Probability, LogFactorialMeetsAcrossTheSeriesStart) {
  EXPECT_DOUBLE_EQ(log_factorial(0), 0);
  EXPECT_NEAR(log_factorial(5), std::log(120.0), 1e-14);
  // 20! = 2432902008176640000.
  EXPECT_NEAR(log_factorial(20), std::log(2432902008176640000.0), 1e-12);
  EXPECT_NEAR(log_factorial(16) - log_factorial(15), std::log(16.0), 1e-12);
}

// Abramowitz and Stegun: P(X <= 2) for mean 1 is 2.5/e.
TEST(Probability, PoissonTails) {
  EXPECT_NEAR(poisson_above(2, 1), 1 - 2.5 / std::exp(1.0), 1e-14);
  EXPECT_NEAR(poisson_above(0, 0.5), 1 - std::exp(-0.5), 1e-14);
  for (const double mean : {0.1, 3.0, 50.0, 1000.0}) {
    for (const std::int64_t k : {0, 1, 7, 60, 1100}) {
      EXPECT_GE(poisson_above(k, mean), poisson_above(k + 1, mean));
    }
  }
  EXPECT_EQ(poisson_above(-1, 3), 1);
  EXPECT_EQ(poisson_above(0, 0), 0);
}

TEST(Probability, NormalTableValues) {
  EXPECT_NEAR(normal_above(1.959964), 0.025, 1e-7);
  EXPECT_NEAR(normal_density(0), 0.3989422804, 1e-10);
}

}  // namespace
}  // namespace orrery
