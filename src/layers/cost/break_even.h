// Own or rent: the use at which an owned accelerator-hour costs as much as a rented one.
//
//   annual / (8760 availability u goodput) = p   ->   u = annual / (8760 availability goodput p)
//
// p is the rental price per useful hour, billed only while used. Above u owning is cheaper; a u
// over 1 means never. Owned cost hardly depends on use (power follows it a little), so the annual
// cost is taken as fixed.
#pragma once

#include <optional>

#include "layers/cost/ownership.h"

namespace orrery::cost {

// Above 1 owning never pays; nullopt where the price is nil.
std::optional<double> break_even_utilisation(const OwnershipInput& owned, UsdPerSecond rental);

}  // namespace orrery::cost
