// The tornado of owned cost per useful hour: the ranges of the catalog on one OwnershipInput.
#pragma once

#include "layers/cost/ownership.h"
#include "layers/cost/sensitivity.h"

namespace orrery::cost {

// A range of a price or figure that the catalog's table of ownership does not hold.
struct ExtraRanges {
  double electricity_low = 0.05;  // USD per kWh
  double electricity_high = 0.15;
  double utilisation_low = 0.5;
  double utilisation_high = 0.95;
  double capex_below = 0.15;  // price ranges of the bill, as fractions of its middle
  double capex_above = 0.15;
};

Tornado ownership_tornado(const OwnershipInput& input, const catalog::Catalog& catalog,
                          const ExtraRanges& extra);

}  // namespace orrery::cost
