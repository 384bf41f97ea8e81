// The lines and fees that view_cost adds up.
#pragma once

#include <optional>
#include <vector>

#include "plan/cost_view.h"

namespace orrery {

BillLine fleet_line(const Fleet& fleet);
// nullopt for a rented tier and for drives that come with their nodes.
std::optional<BillLine> tier_line(const Tier& tier, const Catalog& catalog);
// `used` has an entry a tier.
std::vector<TierRent> rents_of_tiers(const std::vector<Tier>& tiers, const std::vector<Bytes>& used,
                                     const Catalog& catalog);
double reserved_discount(const design::Rent& rent, const Catalog& catalog);
Usd egress_of(const design::Design& design, const Catalog& catalog);

}  // namespace orrery
