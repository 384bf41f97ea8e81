#include "plan/review/site_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "layers/facility/climate.h"
#include "model/figures/assumptions.h"
#include "model/machine/tier_purchase.h"

namespace orrery::review {
namespace {

// The usual power chain if a site declares none, utility side first.
constexpr const char* kUsualChain[] = {"utility-transformer-mv", "ups-double-conversion",
                                       "pdu-transformer", "busway"};
using figures::assumptions::kPueOverheadSpread;
using figures::assumptions::kServingMemoryShare;
constexpr Seconds kYear = years(1);
constexpr double kInStep = 0.99;

const TrainView* train_of(const machine::Booking& b, const SiteContext& c) {
  const auto at = std::ranges::find(c.trains, b.workload, &TrainView::workload);
  return at != c.trains.end() && at->feasible() ? &*at : nullptr;
}

// Returns the phase shares of the nodes' time: each booking counts with the nodes and the share of
// time that it runs; time without a booking is idle. In a design without workloads, a fleet is
// taken to serve.
facility::PhaseShares shares_on(const machine::Fleet& fleet, const SiteContext& c) {
  facility::PhaseShares sum;
  const machine::FleetBook& book = c.ledger.fleets[fleet.index];
  double weight = 0;
  for (const machine::Booking& b : book.bookings) {
    const double w = b.needed * std::min(1.0, b.share) / std::max(1, book.count);
    const TrainView* t = train_of(b, c);
    sum.matrix += t ? w * t->phases.matrix : 0;
    sum.memory += w * (t ? t->phases.memory : kServingMemoryShare);
    sum.communication += t ? w * t->phases.communication : 0;
    sum.checkpoint += t ? w * t->phases.checkpoint : 0;
    weight += w;
  }
  if (weight > 1) {  // over-booked: busy all the time
    sum.matrix /= weight, sum.memory /= weight;
    sum.communication /= weight, sum.checkpoint /= weight;
  }
  if (c.machine.design().workloads.empty()) sum.memory = kServingMemoryShare;
  return sum;
}

std::optional<facility::Swing> swing_on(const FleetPower& p, const SiteContext& c) {
  for (const TrainView& t : c.trains) {
    if (t.fleet == nullptr || t.fleet->fleet != p.fleet->fleet || !t.feasible()) continue;
    const auto at_step = power_phases(p.node, {.matrix = t.step.matrix_share,
                                               .memory = t.step.memory_share,
                                               .communication = t.step.exposed_share});
    // Power is counted per node, which may be a rack of many hosts.
    const int hosts_per_node = t.fleet->hosts_per_node();
    const int whole = (t.hosts + hosts_per_node - 1) / hosts_per_node;
    const int nodes = std::min(whole, t.fleet->fleet->count);
    facility::Swing swing = swing_of(facility::swing_request(at_step, nodes, t.step.step));
    // The catalog rows of the node and of another accelerator in it may disagree on the power of a
    // phase.
    swing.amplitude = min(swing.amplitude, p.node.nameplate * nodes);
    return swing;
  }
  return std::nullopt;
}

void add_fleet(SiteView& v, const machine::Fleet& fleet, const SiteContext& c) {
  const auto power = facility::node_power_of(fleet.node.part, fleet.accelerator());
  if (!power || v.cooling == nullptr) return;
  FleetPower p{.fleet = &fleet, .node = *power};
  if (fleet.fleet->power_cap && fleet.accelerator() && fleet.accelerator()->tdp) {
    p.node = capped(p.node, *fleet.fleet->power_cap * fleet.node.part.accelerators);
  }
  p.shares = shares_on(fleet, c);
  p.phases = power_phases(p.node, p.shares);
  p.mean = facility::mean_power(p.phases);
  const int nodes = fleet.fleet->count + fleet.fleet->spares;
  p.rack =
      facility::fit_rack({.node_power = p.node.nameplate,
                          .node_units = static_cast<double>(fleet.node.part.rack_units.value_or(0)),
                          .rack_limit = v.site->rack.value_or(Watts(0))},
                         *v.cooling);
  if (fleet.fleet->nodes_per_rack) {
    p.rack.nodes = *fleet.fleet->nodes_per_rack;
    p.rack.power = p.node.nameplate * p.rack.nodes;
    p.rack.liquid_heat = p.rack.power * v.cooling->liquid_heat_fraction;
    p.rack.air_heat = p.rack.power - p.rack.liquid_heat;
    p.rack.air_heat_is_a_legacy_rack =
        v.cooling->liquid_heat_fraction > 0 && p.rack.air_heat > facility::kLegacyAirRack;
  }
  p.racks = p.rack.nodes > 0 ? racks_needed(nodes, p.rack) : 0;
  p.swing = swing_on(p, c);
  v.racks += p.racks;
  v.fleet_nameplate += p.node.nameplate * nodes;
  p.all = p.mean * fleet.fleet->count + p.node.idle * fleet.fleet->spares;
  v.it_mean += p.all;
  v.fleets.push_back(std::move(p));
}

void fill_chain(SiteView& v, const catalog::Catalog& catalog) {
  std::vector<facility::StageCurve> stages;
  const auto add = [&](std::string_view id) {
    if (const catalog::PowerStage* s = catalog.power_stage(id))
      stages.push_back(facility::stage_curve(*s));
  };
  if (v.site->power_chain.empty()) {
    for (const char* id : kUsualChain) add(id);
  } else {
    for (const std::string& id : v.site->power_chain) add(id);
  }
  const catalog::Redundancy* redundancy = catalog.redundancy(v.site->redundancy);
  v.chain =
      run_chain(stages, {.design = v.it_nameplate,
                         .load = v.it_mean,
                         .capacity_multiplier = redundancy ? redundancy->capacity_multiplier : 1});
}

// Hour by hour, if the site names its hours.
void fill_hours(SiteView& v, const catalog::SiteHours& file) {
  const facility::PueRequest plant{
      .it = v.it_mean, .electrical_loss = v.chain.loss, .supply_c = v.site->supply_c};
  v.hours =
      hours_of(file, plant, *v.cooling,
               {.pue = v.pue.middle, .carbon = v.region ? v.region->carbon : GramsPerJoule(0)});
}

void fill_pue(SiteView& v, const machine::Site& built, const catalog::Catalog& catalog) {
  if (built.hours != nullptr && !built.hours->pue.empty()) {
    v.pue = facility::range_of(*built.hours);
    return;
  }
  if (v.site->pue) {
    v.pue = {*v.site->pue, *v.site->pue, *v.site->pue, "the design"};
    return;
  }
  const std::string climate_id = !v.site->climate.empty() ? v.site->climate
                                 : v.region               ? v.region->climate
                                                          : std::string();
  const auto climate = facility::climate_of(climate_id);
  const bool has_weather = built.hours != nullptr && !built.hours->dry_c.empty();
  if ((!climate && !has_weather) || v.it_mean <= Watts(0)) {
    v.pue = facility::fallback_pue(catalog.pue_by_climate, climate_id, *v.cooling);
    return;
  }
  const auto weather =
      has_weather ? facility::weather_of(built.hours->dry_c) : weather_of(*climate);
  v.breakdown =
      compute_pue({.it = v.it_mean, .electrical_loss = v.chain.loss, .supply_c = v.site->supply_c},
                  *v.cooling, weather);
  const double overhead = v.breakdown->pue - 1;
  v.pue = {1 + overhead * (1 - kPueOverheadSpread), v.breakdown->pue,
           1 + overhead * (1 + kPueOverheadSpread),
           has_weather ? "docs/models/pue.md, the site's hours"
                       : "docs/models/pue.md, climate " + climate_id};
}

void fill_budget(SiteView& v) {
  if (!v.site->power || v.fleets.empty()) return;
  const auto largest = std::ranges::max_element(v.fleets, {}, [](const FleetPower& p) {
    return (p.node.nameplate * p.fleet->fleet->count).base();
  });
  const int nodes = largest->fleet->fleet->count + largest->fleet->fleet->spares;
  // Power of switches and optics grows with the nodes; that of storage and other fleets does not.
  const Watts per_node = largest->node.nameplate + (nodes > 0 ? v.fabric / nodes : Watts(0));
  v.budget = facility::site_budget({.site_power = *v.site->power,
                                    .pue = v.pue.middle,
                                    .other_it = v.it_nameplate - per_node * nodes,
                                    .power_per_node = per_node});
  // PUE and switches do not shrink exactly in proportion to the nodes; nodes that already fit must
  // stay.
  const int fitting = v.draw_peak <= *v.site->power ? nodes : 0;
  v.budget->nodes = std::max(fitting, static_cast<int>(v.budget->nodes * kInStep));
  v.budget_fleet = largest->fleet->index;
}

void fill_cooling(SiteView& v, const catalog::Catalog& catalog) {
  if (v.cooling->liquid_heat_fraction <= 0) return;
  v.cdu =
      facility::plan_cdu({.heat = v.it_nameplate * v.cooling->liquid_heat_fraction,
                          .supply_c = v.site->supply_c.value_or(v.cooling->supply_temperature_c)},
                         catalog.ashrae_classes);
}

void fill_schedule(SiteView& v, const catalog::Catalog& catalog) {
  facility::BuildScope scope{.new_utility = !v.site->rented_hall,
                             .new_shell = !v.site->rented_hall};
  scope.liquid = v.cooling->liquid_heat_fraction > 0;
  scope.generators = !v.site->rented_hall;
  for (const FleetPower& p : v.fleets) {
    scope.rack_scale = scope.rack_scale || p.fleet->node.part.accelerators > 16;
  }
  scope.ready = v.site->ready;
  const auto items = build_items(catalog.lead_times, scope);
  if (auto schedule = plan_schedule(items)) v.schedule = std::move(*schedule);
}

// Returns the carbon per joule at the meter; with hourly values, each hour counts with its share of
// the energy.
GramsPerJoule grid_of(const SiteView& v) {
  if (v.hours.is_empty()) return v.region ? v.region->carbon : GramsPerJoule(0);
  return mean_grams(v.hours) / mean_pue(v.hours);
}

SiteView view_site(const machine::Site& built, const SiteContext& c) {
  const design::Site& site = *built.site;
  SiteView v{.index = built.index,
             .site = &site,
             .path = built.path,
             .region = built.region,
             .cooling = built.cooling};
  for (const machine::Fleet& f : c.machine.fleets) {
    if (f.site == &site && !f.rented()) add_fleet(v, f, c);
  }
  if (v.fleets.empty()) return v;
  const machine::Networks& n = c.machine.networks[built.index];
  v.fabric = n.compute.bill.power() + n.storage.bill.power() + n.management.bill.power();
  for (const machine::Tier& t : c.machine.tiers) {
    if (find_site(c.machine.design(), t.tier->site) == &site && t.tier->provider.empty() &&
        !t.per_node) {
      v.storage += machine::tier_power(t, c.machine.catalog());
    }
  }
  v.it_nameplate = v.fleet_nameplate + v.fabric + v.storage;
  v.it_mean += v.fabric + v.storage;
  fill_chain(v, c.machine.catalog());
  fill_pue(v, built, c.machine.catalog());
  v.weather = built.hours;
  if (built.hours != nullptr) fill_hours(v, *built.hours);
  v.draw_peak = v.it_nameplate * v.pue.middle;
  v.draw_mean = v.it_mean * v.pue.middle;
  fill_budget(v);
  fill_cooling(v, c.machine.catalog());
  v.year = facility::footprint({.it_power = v.it_mean,
                                .duration = kYear,
                                .pue = v.pue.middle,
                                .grid = grid_of(v),
                                .wue_l_per_kwh = v.breakdown ? v.breakdown->wue_l_per_kwh : 0});
  return v;
}

}  // namespace

const FleetPower& SiteView::budgeted() const {
  const auto found =
      std::ranges::find(fleets, budget_fleet, [](const FleetPower& p) { return p.fleet->index; });
  return found == fleets.end() ? fleets.front() : *found;
}

std::vector<SiteView> view_sites(const SiteContext& c) {
  std::vector<SiteView> views;
  for (const machine::Site& site : c.machine.sites) {
    SiteView v = view_site(site, c);
    if (c.earlier != nullptr) {
      v.schedule = (*c.earlier)[views.size()].schedule;
    } else if (v.has_machines()) {
      fill_schedule(v, c.machine.catalog());
    }
    views.push_back(std::move(v));
  }
  return views;
}

}  // namespace orrery::review
