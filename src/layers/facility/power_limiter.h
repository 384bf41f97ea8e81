// The power of an accelerator whose work comes in bursts: its limiter holds a moving average, not
// the instantaneous draw.
//
//   dA/dt = (P - A) / window;   P = burst while A < limit, then limit;   P = low between bursts
// A burst shorter than the window runs above the limit, so fast bursts draw more than slow ones of
// the same duty: 521 W at 20 Hz against 416 W at 0.25 Hz, both half on. Fitted to ten square waves
// on one H200 (data/validation/h200_power_waves.csv): burst 890 W for a 700 W part, window 80 ms,
// largest error of a mean 2.7 %. Other parts are scaled by their limit, which is an assumption.
// Wrong below a millisecond, and if the work does not reach the burst power (memory-bound kernels).
#pragma once

#include "core/base/quantity.h"

namespace orrery::facility {

inline constexpr double kBurstOverLimit = 890.0 / 700.0;
inline constexpr Seconds kLimiterWindow = milliseconds(80);

struct PowerLimiter {
  Watts limit;
  Watts burst;  // draw of the work without a limiter
  Seconds window = kLimiterWindow;
};
// Returns the limiter of a part with this limit, for matrix work.
PowerLimiter limiter_of(Watts limit);

struct PowerWave {
  Seconds period;
  double duty = 0.5;  // share of the period with work
  Watts low;          // draw between bursts
};

struct WaveDraw {
  Watts mean;
  Watts highest;
  Seconds above_limit;  // per period
};

// Returns the draw in the steady state.
WaveDraw draw_of(const PowerWave& wave, const PowerLimiter& limiter);

}  // namespace orrery::facility
