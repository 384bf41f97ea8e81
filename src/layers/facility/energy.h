// Energy, carbon and water of a run or a year.
//
//   site energy = IT power * time * PUE;  carbon = site energy * grid intensity (location based)
//   water       = IT energy * WUE (litres per kWh of IT, on site)
//
// Model cards publish accelerator-hours times TDP, without host and PUE. Grid intensity is a yearly
// mean: matched hour by hour, the result can differ by half.
#pragma once

#include "core/base/quantity.h"

namespace orrery::facility {

struct FootprintRequest {
  Watts it_power;  // mean
  Seconds duration;
  double pue = 1;
  GramsPerJoule grid;
  double wue_l_per_kwh = 0;
};

struct Footprint {
  Joules it_energy;
  Joules site_energy;
  GramsCo2 carbon;
  double water_l = 0;
};

Footprint footprint(const FootprintRequest& request);

}  // namespace orrery::facility
