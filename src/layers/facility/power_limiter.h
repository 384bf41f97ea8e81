// What an accelerator draws when its work comes in bursts: its limiter holds a moving average, not
// the instant.
//
//   dA/dt = (P - A) / window;   P = burst while A < limit, then limit;   P = low between bursts
// A burst shorter than the window runs above the limit, so a wave of fast bursts draws more than a
// slow one of the same duty: 521 W at 20 Hz against 416 W at 0.25 Hz, both half on. Fitted to ten
// square waves on one H200 (data/validation/h200_power_waves.csv): burst 890 W of a 700 W part,
// window 80 ms, worst mean off by 2.7 %. Other parts are scaled by their limit, which is assumed.
// Wrong below a millisecond, and where work does not reach the burst (memory-bound kernels).
#pragma once

#include "core/base/quantity.h"

namespace orrery::facility {

inline constexpr double kBurstOverLimit = 890.0 / 700.0;
inline constexpr Seconds kLimiterWindow = milliseconds(80);

struct PowerLimiter {
  Watts limit;
  Watts burst;  // what the work would draw unchecked
  Seconds window = kLimiterWindow;
};
// Of a part with this limit, in matrix work.
PowerLimiter limiter_of(Watts limit);

struct PowerWave {
  Seconds period;
  double duty = 0.5;  // share of the period at work
  Watts low;          // between
};

struct WaveDraw {
  Watts mean;
  Watts highest;
  Seconds above_limit;  // of each period
};

// In its steady state.
WaveDraw draw_of(const PowerWave& wave, const PowerLimiter& limiter);

}  // namespace orrery::facility
