// What a run and a byte that leaves cost.
//
//   $/run     = accelerators * hours * $/useful hour
//   egress    = tiered price per GB, a month's volume at a time
#pragma once

#include <span>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::cost {

Usd run_cost(double accelerators, Seconds duration, UsdPerSecond per_useful_hour);

struct PriceStep {
  Bytes up_to;  // of a month's volume
  UsdPerByte price;
};

// The steps AWS lists for internet egress: 0.09 USD/GB to 10 TB, 0.085 to 50, 0.07 to 150, 0.05
// above (storage_prices, aws internet egress).
std::vector<PriceStep> aws_egress_steps();

// The last step goes on for ever.
Usd egress_cost(Bytes volume, std::span<const PriceStep> steps);

}  // namespace orrery::cost
