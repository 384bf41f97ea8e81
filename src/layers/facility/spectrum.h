// The lines that a job's steps draw in the power of its site, and what takes them out.
//
//   P(t) periodic, piecewise constant:  line k = |2/T integral of P e^(-2 pi i k t / T)|, at k / T
// All ranks of a synchronous job step together, so its first line stands at one over the step. Each
// edge lasts a while, which smooths high lines by sinc(k edge / T). Grids limit the band 0.1 to
// 20 Hz (swing.h). Cures, with what they cost in useful work:
//   floor    the low phase burns power: its ballast over the job's mean
//   cap      the high phase is held down: the speed that a cap takes (power_cap.h)
//   storage  capacitors in the racks absorb up to 30 % of a swing, at no cost in work
// Jobs whose steps drift against each other partly cancel: that is not counted on.
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

// Lines 1 .. count of the wave that repeats these segments.
std::vector<Harmonic> lines_of(std::span<const WaveSegment> wave, int count, Seconds edge);
// The strongest in the band; amplitude 0 where none lies there.
Harmonic strongest_in_band(std::span<const Harmonic> lines);

enum class CureKind { none, storage, floor, cap };
const char* to_text(CureKind kind);

struct Cure {
  CureKind kind = CureKind::none;
  double setting = 0;  // floor: share of the high phase; cap: share of the accelerators' power
  double cost = 0;     // share of the useful work, or of the energy, that it takes
};

// What brings the swing under `range`, cheapest first; empty where it is under already.
// `accelerators`: their part of the high phase.
std::vector<Cure> cures_for(const SwingRequest& request, Watts range, double accelerators);

}  // namespace orrery::facility
