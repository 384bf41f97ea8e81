// The cost of a run, and of a byte that leaves the site.
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
  Bytes up_to;  // of the month's volume, from its start
  UsdPerByte price;
};

// Returns AWS's list prices for internet egress: 0.09 USD/GB to 10 TB, 0.085 to 50, 0.07 to 150,
// 0.05 above (storage_prices, aws internet egress).
std::vector<PriceStep> aws_egress_steps();

// The last step has no upper limit.
Usd egress_cost(Bytes volume, std::span<const PriceStep> steps);

}  // namespace orrery::cost
