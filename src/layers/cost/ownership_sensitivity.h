// The tornado chart of owned cost per useful hour: varies one OwnershipInput over the catalog's
// ranges.
#pragma once

#include "layers/cost/ownership.h"
#include "layers/cost/sensitivity.h"

namespace orrery::cost {

// A range for a price or figure that the catalog's ownership table does not contain.
struct ExtraRanges {
  double electricity_low = 0.05;  // USD per kWh
  double electricity_high = 0.15;
  double utilisation_low = 0.5;
  double utilisation_high = 0.95;
  double capex_below = 0.15;  // price range of the bill, as a fraction of its middle
  double capex_above = 0.15;
};

Tornado ownership_tornado(const OwnershipInput& input, const catalog::Catalog& catalog,
                          const ExtraRanges& extra);

}  // namespace orrery::cost
