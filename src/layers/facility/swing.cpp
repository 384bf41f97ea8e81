#include "layers/facility/swing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/math.h"
#include "layers/facility/node_power.h"

namespace orrery::facility {

namespace {

constexpr int kHarmonics = 10;
constexpr double kNoticeable = 0.01;

double sinc(double x) {
  const double a = std::numbers::pi * x;
  return std::abs(a) < 1e-12 ? 1 : math::sin(a) / a;
}

}  // namespace

Swing swing_of(const SwingRequest& r) {
  Swing swing;
  const Watts low = max(r.low, r.high * std::clamp(r.floor, 0.0, 1.0));
  const double duty = std::clamp(r.duty, 0.0, 1.0);
  swing.amplitude = max(Watts(), r.high - low) * r.nodes * (1 - std::clamp(r.storage, 0.0, 1.0));
  swing.ballast = max(Watts(), low - r.low) * r.nodes * (1 - duty);
  if (r.edge > Seconds())
    swing.ramp_mw_per_s = swing.amplitude / r.edge / 1e6 / watts(1) * seconds(1);
  if (r.period <= Seconds()) return swing;
  swing.hz = seconds(1) / r.period;
  for (int k = 1; k <= kHarmonics; ++k) {
    const double shape =
        std::abs(math::sin(std::numbers::pi * k * duty)) * 2 / (std::numbers::pi * k);
    const double smoothed = shape * std::abs(sinc(k * (r.edge / r.period)));
    const Harmonic h{swing.hz * k, swing.amplitude * smoothed};
    swing.in_band = swing.in_band || (h.hz >= kBandLowHz && h.hz <= kBandHighHz &&
                                      smoothed >= kNoticeable && swing.amplitude > Watts());
    swing.harmonics.push_back(h);
  }
  return swing;
}

SwingRequest swing_request(std::span<const catalog::PowerPhase> phases, int nodes, Seconds period) {
  SwingRequest r;
  r.nodes = nodes;
  r.high = peak_power(phases);
  r.low = lowest_power(phases);
  r.period = period;
  // The duty that preserves the mean: a square wave with the same energy as the phases.
  const Watts mean = mean_power(phases);
  r.duty = r.high > r.low ? (mean - r.low) / (r.high - r.low) : 1;
  return r;
}

double floor_for(const SwingRequest& request, const SwingLimits& limits) {
  if (request.nodes <= 0 || request.high <= Watts()) return 0;
  const double keep = 1 - std::clamp(request.storage, 0.0, 1.0);
  Watts allowed = (request.high - request.low) * request.nodes * keep;
  if (limits.range > Watts()) allowed = min(allowed, limits.range);
  if (limits.ramp_mw_per_s > 0) {
    allowed = min(allowed, megawatts(limits.ramp_mw_per_s * request.edge.base()));
  }
  if (keep <= 0) return 0;
  const Watts low = request.high - allowed / (request.nodes * keep);
  return low <= request.low ? 0 : low / request.high;
}

}  // namespace orrery::facility
