#include "layers/failure/interval.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "layers/failure/effective_time.h"

namespace orrery::failure {
namespace {

// Newton's method doubles the number of correct digits each round and needs only a few from the
// start below; this bound only guards against a rate that is not a number.
constexpr int kNewtonRounds = 60;

// Solves x + ln(1 - x) = -c for 0 < x < 1. Both starting points are right of the root, where the
// function is concave and falling, so Newton approaches the root without passing it.
double solve_fraction(double c) {
  double x = std::min(std::sqrt(2 * c), 1 - math::exp(-1 - c));
  for (int round = 0; round < kNewtonRounds; ++round) {
    const double g = x + math::log1p(-x) + c;
    const double next = x + g * (1 - x) / x;
    if (!(next < x) || next <= 0) break;
    x = next;
  }
  return x;
}

}  // namespace

Seconds young_interval(Seconds save_stall, Seconds mtbf) {
  return Seconds(std::sqrt(2 * save_stall.base() * mtbf.base()));
}

Seconds daly_interval(Seconds save_stall, Seconds mtbf) {
  const double half = save_stall / (2.0 * mtbf);
  if (half >= 1) return mtbf;
  return young_interval(save_stall, mtbf) * (1 + std::sqrt(half) / 3 + half / 9) - save_stall;
}

Seconds exact_interval(Seconds save_stall, Seconds mtbf) {
  if (save_stall.base() <= 0) return Seconds(0);
  const double c = save_stall / mtbf;
  // If failures are so rare that the ratio underflows, Young's form is exact; its limit is
  // infinite.
  if (!(c > 0)) return young_interval(save_stall, mtbf);
  return mtbf * solve_fraction(c);
}

IntervalChoice choose_interval(const IntervalProblem& problem) {
  const Seconds best = exact_interval(problem.save_stall, problem.mtbf);
  const bool held = problem.drain > best;
  const Seconds interval = max(best, problem.drain);
  const double efficiency = exact_efficiency({.interval = interval,
                                              .save_stall = problem.save_stall,
                                              .mtbf = problem.mtbf,
                                              .restart = problem.restart,
                                              .queue = {},
                                              .unsafe_window = {}});
  return {.interval = interval,
          .limit = held ? IntervalLimit::drain : IntervalLimit::optimum,
          .efficiency = efficiency};
}

const char* to_text(IntervalLimit limit) {
  return limit == IntervalLimit::drain ? "drain" : "optimum";
}

}  // namespace orrery::failure
