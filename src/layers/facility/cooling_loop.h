// The temperature of a hall's cooling loop when its plant is short: a unit is out, the hour is hot,
// or the pumps have no power.
//
//   plant carries  H = units in service x rating x weather        at most the heat that there is
//   weather        1 up to the dry bulb it is sized for, then (kHot - dry) / (kHot - design), like
//                  the heat that leaves a condenser at kHot; 0 at kHot
//   loop           C dT/dt = Q - H while Q > H or T > 0; T >= 0 is the rise above the set point
//   throttle       once T = margin, accelerators are capped so that Q <= H, until H >= Q again
// C is the heat capacity of the coolant in pipes and plates: 0.7 L per kW of the heat that the
// plant was built for (assumed), PG25: 2.8 kJ/K per kW, so that a loop without any cooling is 10 K
// warmer after 28 s. Wrong for halls cooled by air alone, whose air and racks store heat for
// minutes: give their loop more coolant. There is one loop per hall: all racks share the loss of a
// unit.
#pragma once

#include "core/base/quantity.h"

namespace orrery::facility {

// Temperature of a condenser or dry cooler: assumed.
inline constexpr double kHotSideC = 55;
inline constexpr double kLoopLitresPerKw = 0.7;      // as in CduRequest: assumed
inline constexpr double kLoopMarginK = 10;           // rise before racks throttle: assumed
inline constexpr Seconds kCoolingRepair = hours(8);  // mean repair time of a unit: assumed

struct CoolingPlant {
  Watts heat;  // heat that it is built for
  Watts unit = megawatts(1);
  int spares = 1;
  double litres_per_kw = kLoopLitresPerKw;
  double design_c = kHotSideC;  // dry bulb it is sized for; kHotSideC: weather has no effect

  int needed() const;  // units that the heat requires
  int installed() const { return needed() + spares; }
  Watts carries(int units_out, double dry_c) const;
  double joules_per_kelvin() const;
  // Returns the time from the loss of `units_out` units until the racks throttle; infinite if they
  // never do.
  Seconds throttles_after(int units_out, Watts load) const;
};

// Returns the share of the rating that remains at an outdoor temperature.
double weather_share(double design_c, double dry_c);

class CoolingLoop {
 public:
  explicit CoolingLoop(const CoolingPlant& plant) : capacity_(plant.joules_per_kelvin()) {}

  // Sets the load and the heat carried from `now` on.
  void set(Seconds now, Watts load, Watts carried);
  double warmer_k(Seconds now) const;  // rise above its set point
  double warmest_k() const { return warmest_; }
  bool is_hot(Seconds now) const { return warmer_k(now) >= kLoopMarginK * (1 - 1e-9); }
  // Returns the time until the loop reaches its margin or is back at its set point; infinite if
  // neither happens.
  Seconds next_turn(Seconds now) const;

 private:
  double capacity_;
  double warmer_ = 0;
  double warmest_ = 0;
  double slope_ = 0;  // kelvins per second
  Seconds settled_;
};

}  // namespace orrery::facility
