#include "layers/failure/effective_time.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"

namespace orrery::failure {
namespace {

Seconds whole_restart(const EffectiveTimeInput& in) {
  return in.restart + in.queue + in.unsafe_window;
}

// Returns work divided by its cost, in units of the MTBF. Without work the result is 0; if nothing
// ever fails, the saves are the only cost.
double ratio(const EffectiveTimeInput& in, double restart_factor) {
  if (in.interval.base() <= 0) return 0;
  if (std::isinf(in.interval.base())) return std::isinf(in.mtbf.base()) ? 1 : 0;
  const double cycle = math::expm1((in.interval + in.save_stall) / in.mtbf);
  if (cycle <= 0) return in.interval / (in.interval + in.save_stall);
  return in.interval / in.mtbf / (restart_factor * cycle);
}

}  // namespace

// Redoing the work of the unsafe window takes as long as the window, so it acts like a longer
// restart.
double exact_efficiency(const EffectiveTimeInput& in) {
  return ratio(in, math::exp(whole_restart(in) / in.mtbf));
}

TimeShares time_shares(const EffectiveTimeInput& in) {
  const double efficiency = exact_efficiency(in);
  if (efficiency <= 0) return {.productive = 0, .saving = 1, .lost_work = 0, .restarting = 0};
  const double saving = in.save_stall / in.interval;
  const double lost = (in.interval / 2 + in.unsafe_window) / in.mtbf;
  const double restarting = (in.restart + in.queue) / in.mtbf;
  const double sum = saving + lost + restarting;
  const double scale = sum > 0 ? (1 - efficiency) / sum : 0;
  return {.productive = efficiency,
          .saving = saving * scale,
          .lost_work = lost * scale,
          .restarting = restarting * scale};
}

}  // namespace orrery::failure
