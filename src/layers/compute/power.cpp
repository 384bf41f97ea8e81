#include "layers/compute/power.h"

namespace orrery::compute {
namespace {

// Halving an interval of clocks this often leaves less than a millionth of it.
constexpr int kHalvings = 20;

Throttled at_clock(const PowerModel& p, const KernelCost& cost, Seconds waiting, double clock) {
  const Seconds busy = cost.time + cost.clocked * (1 / clock - 1);
  const Seconds time = busy + waiting;
  if (time <= Seconds(0)) return {.clock = clock, .time = {}, .power = p.idle};
  const double core = 1 - p.voltage_share * (1 - clock * clock);
  const Joules energy = p.idle * time + p.active * busy + cost.core * core + cost.memory;
  return {.clock = clock, .time = time, .power = energy / time};
}

}  // namespace

Throttled throttle(const DeviceModel& device, const KernelCost& cost, Seconds waiting,
                   Watts limit) {
  const PowerModel& p = device.power;
  const Throttled full = at_clock(p, cost, waiting, 1);
  const Watts held = limit * p.held;
  if (full.power <= held || cost.clocked <= Seconds(0)) return full;
  double low = p.lowest_clock;
  double high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (at_clock(p, cost, waiting, middle).power <= held ? low : high) = middle;
  }
  return at_clock(p, cost, waiting, low);
}

Throttled throttle(const DeviceModel& device, const KernelCost& cost, Seconds waiting) {
  return throttle(device, cost, waiting, device.power.limit);
}

}  // namespace orrery::compute
