// A node, a cooling method and a power swing with round numbers, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <numbers>

#include "layers/facility/node_power.h"
#include "layers/facility/power_limiter.h"
#include "layers/facility/pue.h"
#include "layers/facility/swing.h"

namespace orrery::facility {

inline NodePower ten_kilowatts() {
  return {.nameplate = kilowatts(10),
          .peak = kilowatts(8),
          .idle = kilowatts(2),
          .accelerators = kilowatts(6)};
}

inline catalog::CoolingMethod method_of(const char* id, double liquid, double supply_c) {
  catalog::CoolingMethod m;
  m.id = id;
  m.liquid_heat_fraction = liquid;
  m.supply_temperature_c = supply_c;
  m.pue_low = 1.11;
  m.pue_high = 1.47;
  m.wue_low_l_per_kwh = 0.3;
  m.wue_high_l_per_kwh = 1.5;
  m.provenance.reference = std::string("cooling_methods/") + id;
  return m;
}

inline double part_of(const PueBreakdown& b, const char* name) {
  for (const PuePart& p : b.parts) {
    if (p.name == name) return p.power / megawatts(1);
  }
  ADD_FAILURE() << name;
  return -1;
}

inline constexpr double kPi = std::numbers::pi;

// 200 nodes that alternate between 9 kW (0.3 of a second) and 4 kW: a swing of 1 MW.
inline SwingRequest one_megawatt() {
  return {.nodes = 200,
          .high = kilowatts(9),
          .low = kilowatts(4),
          .duty = 0.3,
          .period = seconds(1),
          .edge = milliseconds(40)};
}

}  // namespace orrery::facility
