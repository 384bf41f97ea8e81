// Own or rent: the utilisation at which an owned accelerator-hour costs as much as a rented one.
//
//   annual / (8760 availability u goodput) = p   ->   u = annual / (8760 availability goodput p)
//
// p is the rental price per useful hour, billed only while used. Owning is cheaper above u; a u
// over 1 means never. Owned cost hardly depends on utilisation (only power follows it a little), so
// the annual cost is taken as fixed.
#pragma once

#include <optional>

#include "layers/cost/ownership.h"

namespace orrery::cost {

// A result above 1 means that owning never pays. Returns nullopt if the rental price is zero.
std::optional<double> break_even_utilisation(const OwnershipInput& owned, UsdPerSecond rental);

}  // namespace orrery::cost
