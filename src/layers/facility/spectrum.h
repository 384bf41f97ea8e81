// The spectral lines that a job's steps produce in the site's power draw, and what removes them.
//
//   P(t) periodic, piecewise constant:  line k = |2/T integral of P e^(-2 pi i k t / T)|, at k / T
// All ranks of a synchronous job step together, so its first line is at one over the step time.
// Each edge takes some time, which attenuates high lines by sinc(k edge / T). Grids limit the band
// 0.1 to 20 Hz (swing.h). Remedies, with their cost in useful work:
//   floor    burns power in the low phase: costs its ballast over the job's mean
//   cap      limits the high phase: costs the speed that a cap takes (power_cap.h)
//   storage  capacitors in the racks absorb up to 30 % of a swing, at no cost in work
// Jobs whose steps drift against each other partly cancel; this is not relied on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/facility/swing.h"

namespace orrery::facility {

struct WaveSegment {
  Seconds length;
  Watts level;
};

// Returns lines 1 .. count of the wave that repeats these segments.
std::vector<Harmonic> lines_of(std::span<const WaveSegment> wave, int count, Seconds edge);
// Returns the strongest line in the band; amplitude 0 if none is in it.
Harmonic strongest_in_band(std::span<const Harmonic> lines);

enum class CureKind { none, storage, floor, cap };
const char* to_text(CureKind kind);

struct Cure {
  CureKind kind = CureKind::none;
  double setting = 0;  // floor: share of the high phase; cap: share of the accelerators' power
  double cost = 0;     // share of the useful work, or of the energy, that it costs
};

// Returns what brings the swing under `range`, cheapest first; empty if it is under already.
// `accelerators` is their share of the high phase.
std::vector<Cure> cures_for(const SwingRequest& request, Watts range, double accelerators);

}  // namespace orrery::facility
