#include "core/base/probability.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/math.h"

namespace orrery {
namespace {

constexpr std::int64_t kStirlingFrom = 16;
// A term smaller than this share of the sum no longer changes it.
constexpr double kNegligible = 1e-18;

double log_mass(std::int64_t k, double mean) {
  return static_cast<double>(k) * math::log(mean) - mean - log_factorial(k);
}

// Returns mass(k) + mass(k-1) + ...; for k <= mean the terms fall at least geometrically.
double sum_down(std::int64_t k, double mean) {
  double term = math::exp(log_mass(k, mean));
  double sum = 0;
  for (; k >= 0; --k) {
    sum += term;
    term *= static_cast<double>(k) / mean;
    if (term <= sum * kNegligible) break;  // also true if the first term already underflows
  }
  return sum;
}

double sum_up(std::int64_t k, double mean) {
  double term = math::exp(log_mass(k, mean));
  double sum = 0;
  while (term > sum * kNegligible) {
    sum += term;
    ++k;
    term *= mean / static_cast<double>(k);
  }
  return sum;
}

}  // namespace

double log_factorial(std::int64_t n) {
  if (n < kStirlingFrom) {
    double product = 1;
    for (std::int64_t i = 2; i <= n; ++i) product *= static_cast<double>(i);
    return math::log(product);
  }
  const double x = static_cast<double>(n);
  const double i = 1 / x;
  const double series = i * (1.0 / 12 - i * i * (1.0 / 360 - i * i * (1.0 / 1260 - i * i / 1680)));
  return x * math::log(x) - x + 0.5 * math::log(2 * std::numbers::pi * x) + series;
}

double poisson_above(std::int64_t k, double mean) {
  if (k < 0) return 1;
  if (mean <= 0) return 0;
  if (static_cast<double>(k) < mean) return std::max(0.0, 1 - sum_down(k, mean));
  return sum_up(k + 1, mean);
}

double normal_density(double z) {
  return math::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
}

double normal_above(double z) { return 0.5 * math::erfc(z / std::numbers::sqrt2); }

}  // namespace orrery
