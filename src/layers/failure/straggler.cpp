#include "layers/failure/straggler.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/base/probability.h"

namespace orrery::failure {
namespace {

// Beyond nine standard deviations the integrand is below 1e-12 for any realistic number of ranks;
// the step width keeps the error of Simpson's rule below 1e-9.
constexpr double kReach = 9.0;
constexpr int kSimpsonSteps = 1800;  // even

// P(max of n > z), minus 1 for z < 0, so that its integral is the mean of the maximum.
double integrand(double z, double n) {
  const double below = math::exp(n * math::log1p(-normal_above(z)));
  return z < 0 ? -below : 1 - below;
}

double simpson(double from, double to, double n) {
  const double h = (to - from) / kSimpsonSteps;
  // The jump at zero belongs to neither half: each half uses its own limit there.
  const double first = from == 0 ? 1 - math::exp(-n * math::log(2.0)) : integrand(from, n);
  const double last = to == 0 ? -math::exp(-n * math::log(2.0)) : integrand(to, n);
  double sum = first + last;
  for (int i = 1; i < kSimpsonSteps; ++i) sum += integrand(from + i * h, n) * (i % 2 == 1 ? 4 : 2);
  return sum * h / 3;
}

}  // namespace

double expected_max_normal(double n) {
  if (n <= 1) return 0;
  return simpson(-kReach, 0, n) + simpson(0, kReach, n);
}

double straggler_factor(const StepSpread& spread) {
  // The integral is expensive, and most reviews have no noise, so it is skipped then.
  const double noise =
      spread.deviation > 0 ? 1 + spread.deviation * expected_max_normal(spread.ranks) : 1;
  const double struck = -math::expm1(spread.ranks * math::log1p(-std::min(spread.slow_share, 1.0)));
  return noise * (1 + (spread.slow_factor - 1) * (spread.slow_share > 0 ? struck : 0));
}

}  // namespace orrery::failure
