// The square wave that a synchronous job draws from the grid.
//
//   amplitude = nodes (P_high - P_low),  ramp = amplitude / edge,  frequency = 1 / period
//   k-th harmonic = 2 amplitude / (pi k) |sin(pi k duty)| |sinc(k edge / period)|
//
// All nodes of one job step together: computing is near peak power, exposed communication or a
// checkpoint far below. Utilities limit ramp (MW/s), range (MW) and the band 0.1 to 20 Hz (arXiv
// 2508.14318; Azure 2025; data/catalog/power_swings.csv). Mitigations: a floor under the low phase
// (ballast or firmware; it wastes energy) and storage in the rack (vendor claim: up to 30 % of the
// swing). Wrong if several jobs share the feed: their phases differ and the sum is smoother.
#pragma once

#include <span>
#include <vector>

#include "core/catalog/bill.h"

namespace orrery::facility {

inline constexpr double kBandLowHz = 0.1;
inline constexpr double kBandHighHz = 20;
inline constexpr double kRackStorageShare = 0.3;

struct SwingRequest {
  int nodes = 0;
  Watts high;  // per node
  Watts low;
  double duty = 0.5;                // share of the period in the high phase
  Seconds period;                   // a step, or the time between checkpoints
  Seconds edge = milliseconds(10);  // 0 to 100 % in 1 to 10 ms at the GPU
  double floor = 0;                 // share of `high` below which the low phase may not fall
  double storage = 0;               // share of the swing that rack storage absorbs
};

struct Harmonic {
  double hz = 0;
  Watts amplitude;
};

struct Swing {
  Watts amplitude;
  double ramp_mw_per_s = 0;
  double hz = 0;
  bool in_band = false;  // one of the first ten harmonics, of at least 1 %, is in the band
  Watts ballast;         // mean power that the floor wastes
  std::vector<Harmonic> harmonics;  // the first ten
};

Swing swing_of(const SwingRequest& request);

// Takes high and low from a phase list: its highest phase and its lowest among those that take any
// time.
SwingRequest swing_request(std::span<const catalog::PowerPhase> phases, int nodes, Seconds period);

struct SwingLimits {
  Watts range;               // 0: no limit
  double ramp_mw_per_s = 0;  // 0: no limit
};

// Returns the smallest floor (share of high) that meets the limits; 1 is a flat line.
double floor_for(const SwingRequest& request, const SwingLimits& limits);

}  // namespace orrery::facility
