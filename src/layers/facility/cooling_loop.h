// The temperature of a hall's cooling loop when its plant is short: a unit is out, the hour is hot,
// or the power of the pumps is gone.
//
//   plant carries  H = units in service x rating x weather        at most what is there to carry
//   weather        1 up to the dry bulb it is sized for, then (kHot - dry) / (kHot - design), as
//   the
//                  heat that leaves a condenser at kHot; 0 at kHot
//   loop           C dT/dt = Q - H while Q > H or T is above its set point; T >= 0, above that
//   point throttle       from T = margin on, accelerators are capped so that Q <= H, until H >= Q
//   again
// C is the coolant of pipes and plates: 0.7 L a kW of what the plant was built for (assumed), PG25:
// 2.8 kJ/K a kW, so that a loop without any cooling is 10 K warmer after 28 s.
// Wrong for halls cooled by air alone, whose room and racks hold minutes: give their loop more
// coolant. One loop a hall: a unit's loss is shared by all racks.
#pragma once

#include "core/base/quantity.h"

namespace orrery::facility {

inline constexpr double kHotSideC = 55;              // of a condenser or dry cooler: assumed
inline constexpr double kLoopLitresPerKw = 0.7;      // as CduRequest's: assumed
inline constexpr double kLoopMarginK = 10;           // before racks throttle: likewise
inline constexpr Seconds kCoolingRepair = hours(8);  // of a unit, mean: assumed

struct CoolingPlant {
  Watts heat;  // that it is built for
  Watts unit = megawatts(1);
  int spares = 1;
  double litres_per_kw = kLoopLitresPerKw;
  double design_c = kHotSideC;  // dry bulb it is sized for; kHotSideC: the weather does not matter

  int needed() const;  // units that carry the heat
  int installed() const { return needed() + spares; }
  Watts carries(int units_out, double dry_c) const;
  double joules_per_kelvin() const;
  // From the loss of so many units until the racks throttle; never: infinite.
  Seconds throttles_after(int units_out, Watts load) const;
};

// Of the rating, what is left at a temperature outdoors.
double weather_share(double design_c, double dry_c);

class CoolingLoop {
 public:
  explicit CoolingLoop(const CoolingPlant& plant) : capacity_(plant.joules_per_kelvin()) {}

  // The load and what the plant carries hold from here on.
  void set(Seconds now, Watts load, Watts carried);
  double warmer_k(Seconds now) const;  // than its set point
  double warmest_k() const { return warmest_; }
  bool is_hot(Seconds now) const { return warmer_k(now) >= kLoopMarginK * (1 - 1e-9); }
  // Until it is at the margin, or back at its set point; infinite where it goes to neither.
  Seconds next_turn(Seconds now) const;

 private:
  double capacity_;
  double warmer_ = 0;
  double warmest_ = 0;
  double slope_ = 0;  // kelvins a second
  Seconds settled_;
};

}  // namespace orrery::facility
