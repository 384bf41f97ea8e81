// What a run, a token and a byte that leaves cost.
//
//   $/run     = accelerators * hours * $/useful hour
//   $/Mtoken  = sum of $/h / (tokens/s 3600) 1e6 / utilisation of the load curve
//   egress    = tiered price per GB, a month's volume at a time
//
// Tokens of prefill and decode are priced apart where a service splits them: give each pool its own
// accelerators and rate. Storage, egress and spares are added by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.h"

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
