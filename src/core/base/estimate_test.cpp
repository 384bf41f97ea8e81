#include "core/base/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/json_writer.h"
#include "core/base/random.h"

namespace orrery {
namespace {

TEST(Estimate, product_adds_relative_errors_in_quadrature) {
  const Estimate a = within(10, 0.1, 0.1, Basis::vendor, "a");
  const Estimate p = a * a;
  EXPECT_DOUBLE_EQ(p.value, 100);
  EXPECT_NEAR(p.high / p.value, 1.1443, 1e-4);  // exp(sqrt(2) * ln 1.1)
  EXPECT_EQ(p.basis, Basis::derived);
  EXPECT_EQ(p.reference, "a");
}

TEST(Estimate, difference_swaps_the_sides_of_the_subtrahend) {
  const Estimate a = exact(10, Basis::measured, "a");
  const Estimate b{.value = 4, .low = 3, .high = 4.5, .basis = Basis::assumed, .reference = "b"};
  const Estimate d = a - b;
  EXPECT_DOUBLE_EQ(d.low, 5.5);
  EXPECT_DOUBLE_EQ(d.high, 7);
  EXPECT_EQ(d.basis, Basis::assumed);
}

TEST(Estimate, quotient_swaps_the_sides_of_the_divisor) {
  const Estimate b{.value = 4, .low = 2, .high = 4, .basis = Basis::paper, .reference = "b"};
  const Estimate q = exact(8, Basis::vendor, "a") / b;
  EXPECT_DOUBLE_EQ(q.low, 2);
  EXPECT_DOUBLE_EQ(q.high, 4);
}

// Every side of every combination, with coprime numbers: a = 7 (6.1 .. 8.3), b = 3 (2.6 .. 3.5).
TEST(Estimate, sums_and_products_combine_each_side_in_quadrature) {
  const Estimate a{.value = 7, .low = 6.1, .high = 8.3, .basis = Basis::paper, .reference = "a"};
  const Estimate b{.value = 3, .low = 2.6, .high = 3.5, .basis = Basis::vendor, .reference = "b"};
  const Estimate sum = a + b;
  EXPECT_DOUBLE_EQ(sum.value, 10);
  EXPECT_DOUBLE_EQ(sum.low, 10 - std::hypot(0.9, 0.4));
  EXPECT_DOUBLE_EQ(sum.high, 10 + std::hypot(1.3, 0.5));
  const Estimate difference = a - b;
  EXPECT_DOUBLE_EQ(difference.value, 4);
  EXPECT_DOUBLE_EQ(difference.low, 4 - std::hypot(0.9, 0.5));
  EXPECT_DOUBLE_EQ(difference.high, 4 + std::hypot(1.3, 0.4));
  const Estimate product = a * b;
  EXPECT_DOUBLE_EQ(product.value, 21);
  EXPECT_NEAR(product.low, 21 * std::exp(-std::hypot(std::log(7 / 6.1), std::log(3 / 2.6))), 1e-9);
  EXPECT_NEAR(product.high, 21 * std::exp(std::hypot(std::log(8.3 / 7), std::log(3.5 / 3))), 1e-9);
  const Estimate quotient = a / b;
  EXPECT_DOUBLE_EQ(quotient.value, 7.0 / 3);
  EXPECT_NEAR(quotient.low, 7.0 / 3 * std::exp(-std::hypot(std::log(7 / 6.1), std::log(3.5 / 3))),
              1e-9);
  EXPECT_NEAR(quotient.high, 7.0 / 3 * std::exp(std::hypot(std::log(8.3 / 7), std::log(3 / 2.6))),
              1e-9);
  for (const Estimate& e : {sum, difference, product, quotient}) {
    EXPECT_EQ(e.basis, Basis::derived);
    EXPECT_EQ(e.reference, "a; b");
  }
  const Estimate scaled = a * 3.0;
  EXPECT_DOUBLE_EQ(scaled.value, 21);
  EXPECT_DOUBLE_EQ(scaled.low, 18.3);
  EXPECT_DOUBLE_EQ(scaled.high, 24.9);
  EXPECT_EQ(scaled.basis, Basis::paper) << "an exact factor changes nothing";
  EXPECT_EQ(scaled.reference, "a");
  const Estimate nothing = a * 0.0;
  EXPECT_EQ(nothing.low, 0);
  EXPECT_EQ(nothing.high, 0);
}

TEST(Estimate, interval_that_reaches_zero_has_no_relative_width) {
  const Estimate exactly = exact(5, Basis::given, "e");
  EXPECT_EQ(exactly.low, 5);
  EXPECT_EQ(exactly.high, 5);
  const Estimate below{.value = -2, .low = 1, .high = 3};
  EXPECT_DOUBLE_EQ((below * exactly).low, -10);
  EXPECT_DOUBLE_EQ((below * exactly).high, -10);
  const Estimate touching{.value = 2, .low = -1, .high = 3};
  EXPECT_DOUBLE_EQ((touching * exactly).low, 10);
  EXPECT_DOUBLE_EQ((touching * exactly).high, 10);
  const Estimate some = within(4, 0.25, 0.5, Basis::measured, "w");
  EXPECT_DOUBLE_EQ(some.low, 3);
  EXPECT_DOUBLE_EQ(some.high, 6);
  EXPECT_EQ(some.basis, Basis::measured);
  EXPECT_EQ(some.reference, "w");
}

// 3, 4, 5 below and 5, 12, 13 above: each side is combined separately.
TEST(Estimate, sum_adds_each_side_in_quadrature) {
  const Estimate a{.value = 10, .low = 7, .high = 15, .basis = Basis::given, .reference = "a"};
  const Estimate b{.value = 20, .low = 16, .high = 32, .basis = Basis::measured, .reference = "b"};
  const Estimate s = a + b;
  EXPECT_DOUBLE_EQ(s.value, 30);
  EXPECT_DOUBLE_EQ(s.low, 25);
  EXPECT_DOUBLE_EQ(s.high, 43);
  EXPECT_EQ(s.basis, Basis::derived) << "a combination is computed, whatever it is made of";
  EXPECT_EQ(s.reference, "a; b");
  EXPECT_EQ((a + a).reference, "a");
  EXPECT_EQ((a + Estimate{}).reference, "a");
}

// exp(5) wide below from factors of exp(3) and exp(4); exp(13) above from exp(5) and exp(12).
TEST(Estimate, product_adds_logarithms_and_quotient_swaps_the_sides) {
  const Estimate a{.value = 2, .low = 2 * std::exp(-3), .high = 2 * std::exp(5)};
  const Estimate b{.value = 3, .low = 3 * std::exp(-4), .high = 3 * std::exp(12)};
  const Estimate p = a * b;
  EXPECT_NEAR(std::log(p.value / p.low), 5, 1e-12);
  EXPECT_NEAR(std::log(p.high / p.value), 13, 1e-12);
  const Estimate q = a / b;
  EXPECT_NEAR(std::log(q.value / q.low), std::hypot(3, 12), 1e-12);
  EXPECT_NEAR(std::log(q.high / q.value), std::hypot(5, 4), 1e-12);
}

TEST(Estimate, within_sets_each_side_by_its_own_fraction) {
  const Estimate e = within(10, 0.1, 0.3, Basis::vendor, "x");
  EXPECT_DOUBLE_EQ(e.low, 9);
  EXPECT_DOUBLE_EQ(e.high, 13);
  const Estimate minus = e * -2;
  EXPECT_DOUBLE_EQ(minus.low, -26) << "low is below high, whatever the sign";
  EXPECT_DOUBLE_EQ(minus.high, -18);
}

}  // namespace
}  // namespace orrery
