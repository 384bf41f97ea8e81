#include "layers/cost/break_even.h"

namespace orrery::cost {

std::optional<double> break_even_utilisation(const OwnershipInput& owned, UsdPerSecond rental) {
  OwnershipInput full = owned;
  full.utilisation = 1;
  const Ownership cost = owned_cost(full);
  if (rental <= UsdPerSecond() || cost.useful_hours <= 0) return std::nullopt;
  return cost.per_accelerator / rental;
}

}  // namespace orrery::cost
