#include "plan/review/cost_parts.h"

#include <fmt/core.h>

#include <algorithm>

#include "layers/cost/egress.h"
#include "model/figures/assumptions.h"
#include "model/machine/tier_purchase.h"

namespace orrery::review {
namespace {

using figures::assumptions::kFileUsdPerGbMonth;
using figures::assumptions::kObjectUsdPerGbMonth;

const catalog::StorageCloudPrice* rent_row(const design::StorageTier& tier,
                                           const catalog::Catalog& catalog) {
  const bool cold = tier.tier == design::Tier::cold;
  const catalog::StorageCloudPrice* found = nullptr;
  for (const catalog::StorageCloudPrice& p : catalog.storage_prices) {
    if (p.provider != tier.provider || p.unit != "GB-month") continue;
    const bool file_service = p.service == "file";
    const bool wants_file = tier.kind == design::TierKind::parallel_fs;
    if (file_service != wants_file) continue;
    const bool archive = p.service == "archive";
    if (found == nullptr || (cold && archive)) found = &p;
  }
  return found;
}

UsdPerByteSecond per_gb_month(double usd_amount) {
  return usd(usd_amount) / gigabytes(1) / months(1);
}

}  // namespace

catalog::BillLine fleet_line(const machine::Fleet& f) {
  const design::Fleet& fleet = *f.fleet;
  catalog::BillLine line{.section = "fleet", .item = fleet.name, .part_id = f.node.part.id};
  line.count = fleet.count + fleet.spares;
  line.unit_price = f.node.part.price;
  if (f.node.part.max_power) line.unit_power = *f.node.part.max_power;
  line.reference = f.node.part.provenance.reference;
  return line;
}

std::optional<catalog::BillLine> tier_line(const machine::Tier& t,
                                           const catalog::Catalog& catalog) {
  if (t.per_node || !t.tier->provider.empty()) return std::nullopt;
  const auto bought = purchase_of(t, catalog);
  if (!bought) return std::nullopt;
  const catalog::StorageDevice* device = bought->device;
  catalog::BillLine line{.section = "storage", .item = t.label, .part_id = device->id};
  line.count = bought->devices;
  line.unit_price = bought->price;
  if (t.tier->capex && line.count > 0) {
    const Usd each = *t.tier->capex * t.capacity / line.count;
    line.unit_price = catalog::PriceRange{each, each};
  }
  line.unit_power = bought->power;
  line.reference = !t.tier->device.empty()
                       ? device->provenance.reference
                       : device->provenance.reference + " (the usual part for this kind of tier)";
  return line;
}

std::optional<catalog::BillLine> metadata_line(const machine::Tier& t,
                                               const catalog::Catalog& catalog) {
  const machine::MetadataServers names = metadata_of(t, catalog);
  if (names.part == nullptr || names.count <= 0) return std::nullopt;
  return catalog::BillLine{.section = "storage",
                           .item = t.label + " metadata",
                           .part_id = names.part->id,
                           .count = static_cast<double>(names.count),
                           .unit_price = names.part->price,
                           .unit_power = names.part->typical_train_power.value_or(Watts(0)),
                           .reference = names.part->provenance.reference};
}

std::vector<TierRent> rents_of_tiers(const machine::Tiers& tiers,
                                     const IndexedVector<design::TierIndex, Bytes>& used,
                                     const catalog::Catalog& catalog) {
  std::vector<TierRent> rents;
  for (const machine::Tier& t : tiers) {
    if (t.tier->provider.empty()) continue;
    TierRent r{.tier = &t};
    const catalog::StorageCloudPrice* row = rent_row(*t.tier, catalog);
    UsdPerByteSecond price = per_gb_month(
        t.tier->kind == design::TierKind::parallel_fs ? kFileUsdPerGbMonth : kObjectUsdPerGbMonth);
    r.reference = "assumed: no row for " + t.tier->provider;
    if (row) price = per_gb_month(row->usd), r.reference = row->provenance.reference;
    if (t.tier->price) price = *t.tier->price, r.reference = "the design";
    const Bytes in_use = used[t.index];
    const Bytes held = in_use > Bytes(0) ? min(in_use, t.capacity) : t.capacity;
    r.per_year = price * held * years(1);
    rents.push_back(std::move(r));
  }
  return rents;
}

std::optional<cost::MarketPrice> contract_price(const cost::MarketPrice& list,
                                                const catalog::Catalog& catalog) {
  if (catalog.reserved_discounts.empty()) return std::nullopt;
  double least = 1;
  double most = 0;
  double sum = 0;
  for (const catalog::ReservedDiscount& d : catalog.reserved_discounts) {
    least = std::min(least, d.low);
    most = std::max(most, d.high);
    sum += (d.low + d.high) / 2;
  }
  const double middle = sum / static_cast<double>(catalog.reserved_discounts.size());
  cost::MarketPrice p = list;
  p.low = list.low * (1 - middle);
  p.median = list.median * (1 - middle);
  p.high = list.median * (1 - least);
  p.low = min(p.low, list.median * (1 - most));
  p.reference = list.reference + "; reserved_discounts";
  return p;
}

double reserved_discount(const design::Rent& rent, const catalog::Catalog& catalog) {
  if (rent.discount) return *rent.discount;
  const Seconds term = rent.term.value_or(years(1));
  double discount = 0;
  for (const catalog::ReservedDiscount& d : catalog.reserved_discounts) {
    if (d.term <= term) discount = std::max(discount, (d.low + d.high) / 2);
  }
  return discount;
}

Usd egress_of(const design::Design& design) {
  const design::Economics& e = design.economics;
  if (!e.egress) return Usd(0);
  if (e.egress_price) return *e.egress * *e.egress_price;
  // Bills are monthly: twelve equal ones.
  return egress_cost(*e.egress / 12, cost::aws_egress_steps()) * 12;
}

}  // namespace orrery::review
