#include "cost/break_even.h"

namespace orrery::cost {

std::optional<double> break_even_utilisation(const OwnershipInput& owned, UsdPerSecond rental) {
  OwnershipInput full = owned;
  full.utilisation = 1;
  const Ownership cost = owned_cost(full);
  if (rental <= UsdPerSecond() || cost.useful_hours <= 0) return std::nullopt;
  return cost.per_accelerator / rental;
}

std::vector<BreakEvenPoint> break_even_curve(const OwnershipInput& owned, UsdPerSecond rental,
                                             int points) {
  std::vector<BreakEvenPoint> curve;
  for (int i = 1; i <= points; ++i) {
    OwnershipInput at = owned;
    at.utilisation = static_cast<double>(i) / points;
    const UsdPerSecond cost = owned_cost(at).per_accelerator;
    curve.push_back({at.utilisation, cost, rental, cost < rental});
  }
  return curve;
}

std::optional<double> payback_months(const OwnershipInput& owned, UsdPerSecond rental) {
  const Ownership cost = owned_cost(owned);
  Usd capex;
  for (const CapexItem& item : owned.capex) capex += item.amount;
  const Usd rent = rental * hours(cost.useful_hours);
  const Usd saved = (rent - cost.running) / 12;
  if (saved <= Usd()) return std::nullopt;
  return capex / saved;
}

}  // namespace orrery::cost
