// The lines and fees that view_cost adds up.
#pragma once

#include <optional>
#include <vector>

#include "plan/review/cost_view.h"

namespace orrery::review {

catalog::BillLine fleet_line(const machine::Fleet& fleet);
// Returns nullopt for a rented tier and for drives that come with their nodes.
std::optional<catalog::BillLine> tier_line(const machine::Tier& tier,
                                           const catalog::Catalog& catalog);
// Returns the servers of a tier's metadata service; nullopt if it has none of its own.
std::optional<catalog::BillLine> metadata_line(const machine::Tier& tier,
                                               const catalog::Catalog& catalog);
std::vector<TierRent> rents_of_tiers(const machine::Tiers& tiers,
                                     const IndexedVector<design::TierIndex, Bytes>& used,
                                     const catalog::Catalog& catalog);
// Returns the market price of a reservation of one to three years: list prices less the usual
// discounts, from the longest term of the cheapest provider to the shortest of the middle one.
std::optional<cost::MarketPrice> contract_price(const cost::MarketPrice& list,
                                                const catalog::Catalog& catalog);
double reserved_discount(const design::Rent& rent, const catalog::Catalog& catalog);
Usd egress_of(const design::Design& design);

}  // namespace orrery::review
