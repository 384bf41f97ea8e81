#include "layers/facility/power_limiter.h"

#include <algorithm>

#include "core/base/math.h"

namespace orrery::facility {
namespace {

// The average's memory decays by e per window. After this many periods its start no longer matters;
// if a period is much longer than the window, one is enough.
constexpr int kPeriodsMax = 400;

Watts towards(Watts from, Watts to, Seconds span, Seconds window) {
  return to + (from - to) * math::exp(-(span / window));
}

}  // namespace

PowerLimiter limiter_of(Watts limit) { return {.limit = limit, .burst = limit * kBurstOverLimit}; }

WaveDraw draw_of(const PowerWave& wave, const PowerLimiter& p) {
  const double duty = std::clamp(wave.duty, 0.0, 1.0);
  const Seconds on = wave.period * duty;
  const Seconds off = wave.period - on;
  if (on <= Seconds(0)) return {.mean = wave.low, .highest = wave.low, .above_limit = {}};
  if (p.burst <= p.limit) {
    return {.mean = p.burst * duty + wave.low * (1 - duty), .highest = p.burst, .above_limit = {}};
  }
  Watts average = wave.low;
  Seconds burst;
  for (int i = 0; i < kPeriodsMax; ++i) {
    // Time until the average reaches the limit: A = burst + (A0 - burst) e^(-t/window).
    const double left = (p.burst - p.limit) / (p.burst - average);
    const Seconds until = left < 1 ? p.window * -math::log(left) : Seconds(0);
    burst = min(on, until);
    const Watts at_end = until < on ? p.limit : towards(average, p.burst, on, p.window);
    average = towards(at_end, wave.low, off, p.window);
  }
  const Joules energy = p.burst * burst + p.limit * (on - burst) + wave.low * off;
  return {.mean = energy / wave.period,
          .highest = burst > Seconds(0) ? p.burst : p.limit,
          .above_limit = burst};
}

}  // namespace orrery::facility
