#include "core/base/probability.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/simplex.h"
#include "core/base/statistics.h"

namespace orrery {
namespace {

TEST(Probability, log_factorial_meets_across_the_series_start) {
  EXPECT_DOUBLE_EQ(log_factorial(0), 0);
  EXPECT_NEAR(log_factorial(5), std::log(120.0), 1e-14);
  // 20! = 2432902008176640000.
  EXPECT_NEAR(log_factorial(20), std::log(2432902008176640000.0), 1e-12);
  EXPECT_NEAR(log_factorial(16) - log_factorial(15), std::log(16.0), 1e-12);
}

// Abramowitz and Stegun: P(X <= 2) for mean 1 is 2.5/e.
TEST(Probability, poisson_tails) {
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

TEST(Probability, normal_table_values) {
  EXPECT_NEAR(normal_above(1.959964), 0.025, 1e-7);
  EXPECT_NEAR(normal_density(0), 0.3989422804, 1e-10);
}

// Poisson: its terms summed one by one with factorials; normal: published tables.
TEST(Probability, tails_agree_with_published_tables) {
  EXPECT_NEAR(poisson_above(3, 3), 0.35276811121776874, 1e-14);
  EXPECT_NEAR(poisson_above(20, 5), 8.109250459888175e-08, 1e-20);
  EXPECT_NEAR(normal_density(1), 0.24197072451914337, 1e-15);
  EXPECT_NEAR(normal_above(3), 0.0013498980316300933, 1e-15);
  EXPECT_NEAR(normal_above(-2), 0.9772498680518208, 1e-15);
  EXPECT_EQ(poisson_above(5, -1), 0);
}

TEST(Probability, log_factorials_are_exact) {
  EXPECT_NEAR(log_factorial(15), 27.899271383840891566, 2e-14);
  EXPECT_NEAR(log_factorial(16), 30.671860106080672804, 4e-14);
  EXPECT_NEAR(log_factorial(17), 33.505073450136888884, 4e-14);
  EXPECT_NEAR(log_factorial(25), 58.003605222980519939, 5e-14);
  EXPECT_NEAR(log_factorial(100), 363.73937555556349014, 3e-13);
  EXPECT_EQ(log_factorial(1), 0);
  EXPECT_DOUBLE_EQ(log_factorial(2), std::log(2.0));
}

// The tail compared with the sum of its own terms, on both sides of the mean.
TEST(Probability, poisson_tail_complements_the_head) {
  for (const double mean : {0.3, 2.0, 7.5, 20.0, 40.0}) {
    double head = 0;
    double term = std::exp(-mean);
    for (int k = 0; k < 60; ++k) {
      head += term;
      term *= mean / (k + 1);
      EXPECT_NEAR(poisson_above(k, mean), 1 - head, 1e-12) << k << " of " << mean;
    }
  }
}

TEST(Probability, normal_is_symmetric) {
  EXPECT_NEAR(normal_above(0), 0.5, 1e-15);
  EXPECT_NEAR(normal_above(1) + normal_above(-1), 1, 1e-15);
  EXPECT_NEAR(normal_above(1), 0.15865525393145707, 1e-15);
}

}  // namespace
}  // namespace orrery
