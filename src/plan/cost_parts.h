// The lines and fees that view_cost adds up.
#pragma once

#include <optional>
#include <vector>

#include "plan/cost_view.h"

namespace orrery {

BillLine fleet_line(const FleetView& fleet);
// nullopt for a rented tier and for drives that come with their nodes.
std::optional<BillLine> tier_line(const TierView& tier, const Catalog& catalog);
std::vector<TierRent> rents_of_tiers(const std::vector<TierView>& tiers, const Catalog& catalog);
double reserved_discount(const design::Rent& rent, const Catalog& catalog);
Usd egress_of(const design::Design& design, const Catalog& catalog);

}  // namespace orrery
