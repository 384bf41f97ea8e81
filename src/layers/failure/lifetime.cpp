#include "layers/failure/lifetime.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/base/math.h"

namespace orrery::failure {
namespace {

constexpr int kSteps = 256;
constexpr double kLongRun = 8;  // in units of the mean
// No lifetime law is known this far down its tail, and parts that arrive broken are not a matter of
// wear: assumed.
constexpr double kEarlyLeast = 1e-3;

// Gamma function by Lanczos' series with g = 7 (error below 1e-14), for x >= 1.
double gamma(double x) {
  constexpr std::array kTerms = {
      0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
      771.32342877765313,   -176.61502916214059,   12.507343278686905,
      -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  x -= 1;
  double sum = kTerms[0];
  for (std::size_t i = 1; i < kTerms.size(); ++i) sum += kTerms[i] / (x + static_cast<double>(i));
  const double t = x + 7.5;
  return std::sqrt(2 * std::numbers::pi) * math::pow(t, x + 0.5) * math::exp(-t) * sum;
}

double mean_over_scale(double shape) { return gamma(1 + 1 / shape); }

double share_failed(const Weibull& life, double age) {
  return -math::expm1(-math::pow(age / life.scale.base(), life.shape));
}

}  // namespace

Weibull life_of(double shape, Seconds mean) {
  return {.shape = shape, .scale = mean / mean_over_scale(shape)};
}

Seconds life_at(const Weibull& life, double draw) {
  return life.scale * math::pow(-math::log1p(-draw), 1 / life.shape);
}

double failures_within(const Weibull& life, Seconds span) {
  const double one = mean_over_scale(life.shape);
  const double means = span / life.scale / one;
  if (means <= 0) return 0;
  if (means > kLongRun) {
    const double spread = gamma(1 + 2 / life.shape) / (one * one) - 1;
    return means + (spread - 1) / 2;
  }
  const double step = span.base() / kSteps;
  std::vector<double> failed{0};
  for (int i = 1; i <= kSteps; ++i) failed.push_back(share_failed(life, i * step));
  std::vector<double> m{0};
  for (std::size_t i = 1; i < failed.size(); ++i) {
    double sum = failed[i] + m[i - 1] / 2 * failed[1];
    for (std::size_t j = 2; j <= i; ++j) {
      sum += (m[i - j] + m[i - j + 1]) / 2 * (failed[j] - failed[j - 1]);
    }
    m.push_back(sum / (1 - failed[1] / 2));  // the first part contains m itself
  }
  return m.back();
}

double early_factor(double shape, Seconds mean, Seconds span) {
  if (shape == 1 || span <= Seconds(0) || !std::isfinite(mean.base())) return 1;
  return std::max(kEarlyLeast, failures_within(life_of(shape, mean), span) / (span / mean));
}

}  // namespace orrery::failure
