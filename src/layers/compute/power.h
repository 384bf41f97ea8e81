// The power that a device draws, and the clock at which it stays within its power limit.
//
//   E(x) = idle T(x) + active busy(x) + core (1 - v + v x^2) + memory   at clock x in (0, 1]
//   busy(x) = time + clocked (1/x - 1);  T(x) = busy(x) + waiting
//   P(x) = E(x) / T(x), and x is the largest clock with P(x) <= limit
// The core's energy for given work falls with the square of the voltage, of which a share v follows
// the clock; memory energy is proportional to traffic. The controller averages over tens of
// milliseconds, so it acts on a step rather than on a kernel. Parameters and their rows:
// docs/models/clock-power.md.
//
// Wrong for: temperature (a hot chip leaks more), data (zeros toggle less), limits below the lowest
// clock.
#pragma once

#include "core/base/quantity.h"
#include "layers/compute/kernel.h"

namespace orrery::compute {

struct Throttled {
  double clock = 1;  // as a fraction of full clock
  Seconds time;
  Watts power;  // mean over the time
};

// Returns time and power of the work of `cost`, plus `waiting` in which no kernel runs (exposed
// communication, bubbles).
Throttled throttle(const DeviceModel& device, const KernelCost& cost, Seconds waiting, Watts limit);
Throttled throttle(const DeviceModel& device, const KernelCost& cost, Seconds waiting = Seconds(0));

}  // namespace orrery::compute
