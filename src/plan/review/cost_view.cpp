#include "plan/review/cost_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/statistics.h"
#include "layers/cost/break_even.h"
#include "layers/cost/site_mix.h"
#include "layers/cost/egress.h"
#include "model/figures/assumptions.h"
#include "plan/review/cost_parts.h"

namespace orrery::review {
namespace {

using figures::assumptions::kHallUsdPerWatt;
using figures::assumptions::kPowerUsdPerKwh;
using figures::assumptions::kUnknownPrice;
using figures::assumptions::kUseHigh;
using figures::assumptions::kUseLow;

void add_bills(CostView& v, const CostContext& c) {
  for (const machine::Fleet& f : c.machine.fleets) {
    if (!f.rented()) v.bill.lines.push_back(fleet_line(f));
  }
  for (const machine::Networks& site : c.machine.networks) {
    for (const machine::Network* n : {&site.compute, &site.storage, &site.management}) {
      v.bill.lines.insert(v.bill.lines.end(), n->bill.lines.begin(), n->bill.lines.end());
    }
  }
  for (const machine::Tier& t : c.machine.tiers) {
    if (auto line = tier_line(t, c.machine.catalog())) v.bill.lines.push_back(std::move(*line));
    if (auto line = metadata_line(t, c.machine.catalog())) v.bill.lines.push_back(std::move(*line));
  }
  const catalog::PriceRange price = v.bill.price();
  const Usd middle = price.middle();
  if (middle > Usd(0)) {
    v.price_low = price.low / middle;
    v.price_high = price.high / middle;
  }
  v.unpriced = v.bill.unpriced();
}

double mean_goodput(const std::vector<TrainView>& trains) {
  WeightedMean<double> mean;
  for (const TrainView& t : trains) {
    if (t.feasible()) mean.add(t.goodput, t.accelerators);
  }
  return mean.value_or(1);
}

bool has_accelerators(const CostContext& c) {
  return std::ranges::any_of(c.machine.fleets,
                             [](const machine::Fleet& f) { return f.accelerators > 0; });
}

// Returns the share of the machines in service that workloads need over the year; all of them if
// the design has no workloads.
double use_of(const CostContext& c) {
  if (c.machine.design().workloads.empty()) return 1;
  const bool accelerated = has_accelerators(c);
  double needed = 0;
  double bought = 0;
  for (const machine::Fleet& f : c.machine.fleets) {
    if (accelerated && f.accelerators == 0) continue;
    const double units = machine::units_per_node(f);
    needed += c.ledger.fleets[f.index].used() * units;
    bought += c.ledger.fleets[f.index].count * units;
  }
  return bought > 0 ? needed / bought : 1;
}

void apply(const design::Economics& e, cost::OwnershipInput& in) {
  in.years = e.depreciation.value_or(e.horizon) / years(1);
  if (e.discount_rate) in.rate = *e.discount_rate;
  if (e.residual) in.residual = *e.residual;
  if (e.colocation) in.colocation = *e.colocation;
  if (e.staff) in.people = *e.staff;
  if (e.staff_cost) in.salary = *e.staff_cost * years(1);
  if (e.repair) in.repair = *e.repair;
}

// Uses the design's own price of electricity, or the middle of the site's region.
cost::SiteBill bill_of(const SiteView& s, const design::Economics& e) {
  cost::SiteBill bill{.mean = s.it_mean,
                      .nameplate = s.it_nameplate,
                      .pue = s.pue.middle,
                      .price = usd_per_kwh(kPowerUsdPerKwh),
                      .reference = "assumed",
                      .owns_hall = !s.site->rented_hall};
  if (e.power_price) {
    bill.price = *e.power_price;
    bill.reference = "the design";
  } else if (s.region != nullptr) {
    bill.price = (s.region->price_low + s.region->price_high) / 2;
    bill.reference = s.region->provenance.reference;
  }
  return bill;
}

cost::SiteMix sites_of(const CostContext& c) {
  std::vector<cost::SiteBill> bills;
  for (const SiteView& s : c.sites) {
    if (s.has_machines()) bills.push_back(bill_of(s, c.machine.design().economics));
  }
  return cost::mix_of(bills);
}

void fill_owned(CostView& v, const CostContext& c) {
  double owned = 0;
  double hosts = 0;
  for (const machine::Fleet& f : c.machine.fleets) {
    if (f.rented()) continue;
    owned += f.accelerators;
    hosts += f.hosts;
  }
  // A fleet of CPU servers is counted in hosts, so that it has a price per hour too; next to
  // accelerators, servers are part of the cost of an accelerator-hour.
  if (owned == 0) owned = hosts;
  if (owned == 0) return;
  const cost::SiteMix sites = sites_of(c);
  cost::OwnershipInput in = cost::ownership_defaults(c.machine.catalog(), owned, sites.mean);
  in.capex = cost::capex_of(std::vector<catalog::Bill>{v.bill});
  in.contracted = sites.nameplate;
  in.pue = sites.pue;
  in.electricity = sites.price;
  in.electricity_reference = sites.reference;
  apply(c.machine.design().economics, in);
  if (sites.owned_share > 0) {
    const catalog::TcoParameter* hall = c.machine.catalog().tco("facility-capex");
    in.colocation = in.colocation * (1 - sites.owned_share);
    in.hall = UsdPerWatt(hall ? hall->typical : kHallUsdPerWatt) * sites.owned_share;
  }
  in.goodput = v.goodput;
  in.utilisation = v.utilisation * v.use;
  v.input = in;
  v.owned = owned_cost(in);
}

// Returns the nodes that the workloads hold on average over the year: nodes that are not reserved
// are given back.
double hired(const machine::FleetBook& book) {
  double nodes = 0;
  for (const machine::Booking& b : book.bookings) nodes += b.nodes * std::min(1.0, b.share);
  return nodes;
}

RentedFleet rent_of(const machine::Fleet& f, const CostView& v, const CostContext& c) {
  const design::Rent& rent = *f.fleet->rent;
  RentedFleet r{.fleet = &f};
  r.input.kind = rent.contract;
  r.input.list = kUnknownPrice;
  r.reference = "assumed: no row in the price table";
  const bool spot = r.input.kind == catalog::Contract::spot;
  if (rent.price) {
    r.input.list = *rent.price;
    r.reference = "the design";
  } else if (f.accelerator()) {
    auto market = cost::market_price(c.machine.catalog().cloud_prices, f.accelerator()->id,
                                     rent.provider, spot);
    if (!market)
      market = cost::market_price(c.machine.catalog().cloud_prices, f.accelerator()->id, "", spot);
    if (market) r.input.list = market->median, r.reference = market->reference;
  }
  if (r.input.kind == catalog::Contract::reserved)
    r.input.discount = reserved_discount(rent, c.machine.catalog());
  r.input.utilisation = v.utilisation;
  // The failure stage already counts interruptions in the goodput of the work here.
  r.input.goodput = v.goodput;
  r.input.spot_goodput = [](Seconds) { return 1.0; };
  r.rental = rented_cost(r.input);
  const machine::FleetBook& book = c.ledger.fleets[f.index];
  const bool always = r.input.kind == catalog::Contract::reserved || book.bookings.empty();
  const double nodes = always ? book.count : std::min(hired(book), double(book.count));
  r.per_year = r.rental.billed * years(1) * (nodes * machine::units_per_node(f));
  return r;
}

// Returns the yearly egress of a rented tier: samples read by runs outside its provider, less the
// hits of a cache. Reading inside a provider is free, and so is writing from anywhere.
Usd egress_of_tier(const machine::Tier& tier, const CostContext& c) {
  Bytes leaving;
  for (const TrainView& t : c.trains) {
    if (!t.feasible() || !t.feed.known || t.feed.tier != &tier) continue;
    if (t.fleet->rented() && t.fleet->fleet->rent->provider == tier.tier->provider) continue;
    double share = 0;
    for (const machine::Booking& b : c.ledger.fleets[t.fleet->index].bookings) {
      if (b.workload == t.workload) share = std::min(1.0, b.share);
    }
    leaving += t.feed.wanted * years(1) * (share * t.goodput * (1 - t.feed.hit_rate));
  }
  if (tier.tier->egress_price) return leaving * *tier.tier->egress_price;
  return egress_cost(leaving / 12, cost::aws_egress_steps()) * 12;
}

void fill_runs(CostView& v, const CostContext& c) {
  if (v.per_useful_hour <= UsdPerSecond(0)) return;
  for (const TrainView& t : c.trains) {
    if (!t.feasible() || t.run_time <= Seconds(0)) continue;
    RunCost run{.label = t.label, .per_useful_hour = v.per_useful_hour};
    run.accelerator_hours = t.accelerators * (t.run_time / hours(1));
    // Useful hours are wall hours times goodput; the run pays for all wall hours.
    run.amount = cost::run_cost(t.accelerators, t.run_time * t.goodput, v.per_useful_hour);
    v.runs.push_back(std::move(run));
  }
}

void fill_market(CostView& v, const CostContext& c) {
  const catalog::Accelerator* accelerator = nullptr;
  for (const machine::Fleet& f : c.machine.fleets) {
    if (accelerator == nullptr) accelerator = f.accelerator();
  }
  if (accelerator == nullptr) return;
  v.market = cost::market_price(c.machine.catalog().cloud_prices, accelerator->id, "", false);
  if (!v.market) return;
  v.contract = contract_price(*v.market, c.machine.catalog());
  if (!v.owned || v.accelerators <= 0) return;
  // A rented hour loses as much to failures as an owned one, so goodput cancels.
  const auto against = [&](UsdPerSecond rent) {
    return break_even_utilisation(v.input, rent / std::max(1e-9, v.goodput)).value_or(0);
  };
  const cost::MarketPrice& rent = v.contract ? *v.contract : *v.market;
  const Estimate bill{.value = 1, .low = v.price_low, .high = v.price_high};
  const Estimate price{.value = 1, .low = rent.low / rent.median, .high = rent.high / rent.median};
  const Estimate use = bill / price * against(rent.median);
  v.break_even = use.value;
  v.break_even_low = use.low;
  v.break_even_high = use.high;
  v.break_even_earliest = v.price_low * against(v.market->high);
}

}  // namespace

CostView view_cost(const CostContext& c) {
  CostView v;
  add_bills(v, c);
  v.goodput = mean_goodput(c.trains);
  v.utilisation = c.machine.design().economics.utilisation.value_or(v.utilisation);
  v.use = use_of(c);
  fill_owned(v, c);
  v.in_nodes = !has_accelerators(c);
  for (const machine::Fleet& f : c.machine.fleets) {
    v.accelerators += v.in_nodes ? f.hosts : f.accelerators;
    if (f.rented()) v.rented.push_back(rent_of(f, v, c));
  }
  v.tier_rents = rents_of_tiers(c.machine.tiers, c.used, c.machine.catalog());
  for (TierRent& t : v.tier_rents) t.egress_per_year = egress_of_tier(*t.tier, c);
  v.egress_per_year = egress_of(c.machine.design());

  for (const design::WanLink& line : c.machine.design().fabric.wan) {
    v.wan_per_year += line.price.value_or(UsdPerSecond(0)) * years(1);
  }
  v.annual = (v.owned ? v.owned->annual : Usd(0)) + v.egress_per_year + v.wan_per_year;
  for (const RentedFleet& r : v.rented) v.annual += r.per_year;
  for (const TierRent& t : v.tier_rents) v.annual += t.total();
  // Least use for which a price is stated: a millionth of the time.
  constexpr double kUsefulLeast = 1e-6;
  const double useful = v.use * v.utilisation * v.goodput;
  const double useful_hours = v.accelerators * 8760 * useful;
  v.per_useful_hour =
      useful >= kUsefulLeast && useful_hours > 0 ? v.annual / hours(useful_hours) : UsdPerSecond(0);
  fill_runs(v, c);
  fill_market(v, c);
  if (v.owned) {
    v.tornado = ownership_tornado(v.input, c.machine.catalog(),
                                  {.utilisation_low = kUseLow * v.use,
                                   .utilisation_high = kUseHigh * v.use,
                                   .capex_below = 1 - v.price_low,
                                   .capex_above = v.price_high - 1});
  }
  return v;
}

}  // namespace orrery::review
