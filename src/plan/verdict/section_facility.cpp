// Sections of the sites: power, racks, cooling, PUE, energy, carbon, schedule.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/probability.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/facility/ride_through.h"
#include "model/figures/half_width.h"
#include "model/machine/site_load.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

// Slower power swings are given by their period.
constexpr double kSlowestHz = 1e-3;

// Given by the author, or from the vendor.
Basis basis_of(const machine::Fleet& fleet) {
  const auto& custom = fleet.fleet->custom;
  return custom && custom->max_power ? Basis::given : Basis::vendor;
}

void add_power(figures::Section& s, const review::SiteView& v) {
  s.figures.push_back(
      {.kind = FigureId::it_nameplate,
       .estimate = figures::estimated(FigureId::it_nameplate, v.it_nameplate.base(), Basis::vendor,
                                      "catalog nodes, switches, storage"),
       .formula = fmt::format("fleets {} + networks {} + storage {}", brief(v.fleet_nameplate),
                              brief(v.fabric), brief(v.storage))});
  s.figures.push_back(
      {.kind = FigureId::it_mean,
       .estimate = within(v.it_mean.base(), machine::kMeanPowerSpread, machine::kMeanPowerSpread,
                          Basis::fitted, "docs/models/power.md")});
  for (const review::FleetPower& p : v.fleets) {
    std::vector<figures::Input> inputs;
    for (const catalog::PowerPhase& phase : p.phases) {
      if (phase.share <= 0) continue;
      inputs.push_back({phase.name,
                        fmt::format("{} of the time at {}", show(phase.share, figures::Unit::ratio),
                                    brief(phase.node_power)),
                        p.node.reference});
    }
    s.figures.push_back(
        {.kind = FigureId::node_mean,
         .of = p.fleet->fleet->name,
         .estimate = within(p.mean.base(), machine::kMeanPowerSpread, machine::kMeanPowerSpread,
                            Basis::fitted, "docs/models/power.md"),
         .formula = "sum over phases of share x power",
         .inputs = std::move(inputs)});
  }
}

void add_pue(figures::Section& s, const review::SiteView& v) {
  std::vector<figures::Input> parts;
  if (v.breakdown) {
    for (const facility::PuePart& p : v.breakdown->parts) {
      parts.push_back({p.name, brief(p.power), "docs/models/pue.md"});
    }
  }
  s.figures.push_back(
      {.kind = FigureId::pue,
       .estimate = {v.pue.middle, v.pue.low, v.pue.high, Basis::derived, v.pue.reference},
       .formula = v.breakdown ? "1 + (sum of the parts) / IT" : "",
       .inputs = std::move(parts)});
  const double spread = v.pue.middle > 0 ? (v.pue.high - v.pue.low) / 2 / v.pue.middle : 0;
  s.figures.push_back(
      {.kind = FigureId::draw_nameplate,
       .estimate = within(v.draw_peak.base(), spread, spread, Basis::derived, v.pue.reference),
       .formula = fmt::format("{} x {}{}", brief(v.it_nameplate), significant(v.pue.middle, 4),
                              v.site->power ? " of " + brief(*v.site->power) : "")});
  if (v.budget) {
    s.figures.push_back({.kind = FigureId::nodes_that_fit,
                         .note = v.budgeted().fleet->fleet->name,
                         .estimate = {.value = static_cast<double>(v.budget->nodes),
                                      .low = std::floor(v.budget->nodes * (1 - spread)),
                                      .high = std::floor(v.budget->nodes * (1 + spread)),
                                      .basis = Basis::derived,
                                      .reference = v.pue.reference}});
  }
}

void add_racks(figures::Section& s, const review::SiteView& v) {
  s.figures.push_back({.kind = FigureId::racks,
                       .estimate = exact(v.racks, Basis::derived, "docs/models/cooling.md")});
  for (const review::FleetPower& p : v.fleets) {
    s.figures.push_back(
        {.kind = FigureId::rack_power,
         .of = p.fleet->fleet->name,
         .estimate = exact(p.rack.power.base(), basis_of(*p.fleet), p.node.reference),
         .formula = fmt::format("{} nodes of {}, bound by {}", p.rack.nodes,
                                brief(p.node.nameplate), to_text(p.rack.bound))});
    if (p.fleet->fleet->pdu_rating) {
      const int racks = p.fleet->fleet->failures.racks_per_pdu.value_or(1);
      s.figures.push_back({.kind = FigureId::pdu_load,
                           .of = p.fleet->fleet->name,
                           .estimate = exact(p.rack.power * racks / *p.fleet->fleet->pdu_rating,
                                             basis_of(*p.fleet), p.node.reference),
                           .formula = fmt::format("{} rack{} on {}", racks, racks == 1 ? "" : "s",
                                                  brief(*p.fleet->fleet->pdu_rating))});
    }
    if (p.swing) {
      s.figures.push_back(
          {.kind = FigureId::swing,
           .of = p.fleet->fleet->name,
           .estimate = figures::estimated(FigureId::swing, p.swing->amplitude.base(),
                                          Basis::derived, "docs/models/power.md"),
           .formula = p.swing->hz < kSlowestHz
                          ? "once in " + brief(seconds(1 / p.swing->hz))
                          : fmt::format("{} Hz{}", significant(p.swing->hz, 3),
                                        p.swing->in_band ? ", inside 0.1 to 20 Hz" : "")});
    }
  }
  if (v.cdu) {
    s.figures.push_back(
        {.kind = FigureId::coolant_flow,
         .estimate = figures::estimated(FigureId::coolant_flow, v.cdu->flow_l_per_min,
                                        Basis::vendor, "catalog cdu_sizing"),
         .formula = fmt::format("{} units installed, water class {}", v.cdu->units_installed,
                                v.cdu->water_class.empty() ? "none" : v.cdu->water_class)});
  }
}

void add_backup(figures::Section& s, const review::SiteView& v) {
  const design::Site& site = *v.site;
  if (!site.outage_mtbf) return;
  const double outages = years(1) / *site.outage_mtbf;
  const Seconds mean = site.outage.value_or(machine::kOutageLength);
  const Seconds dark =
      facility::dark_a_year({site.battery, site.generator}, outages, mean, review::load_share(v));
  s.figures.push_back(
      {.kind = FigureId::dark_year,
       .estimate = figures::estimated(FigureId::dark_year, dark.base(), Basis::derived,
                                      "docs/models/site-in-time.md"),
       .formula = fmt::format("{} outages per year of {}, batteries {}, generators {}",
                              significant(outages, 2), brief(mean),
                              site.battery ? brief(*site.battery) : "none",
                              site.generator ? brief(*site.generator) : "none")});
}

void add_plant(figures::Section& s, const review::SiteView& v) {
  const design::Site& site = *v.site;
  if (!site.cooling_unit && !site.cooling_spares && !site.cooling_unit_mtbf &&
      !site.cooling_design) {
    return;
  }
  const facility::CoolingPlant plant = machine::cooling_plant(site, v.it_nameplate);
  const auto add = [&](FigureId id, double value, std::string formula) {
    s.figures.push_back(
        {.kind = id,
         .estimate = exact(value, Basis::derived, "docs/models/site-in-time.md"),
         .formula = std::move(formula)});
  };
  add(FigureId::cooling_units, plant.installed(),
      fmt::format("{} of {} and {}", plant.needed(), brief(plant.unit), plant.spares));
  const Seconds until = plant.throttles_after(plant.spares + 1, v.it_nameplate);
  add(FigureId::throttle_after, until.base(), "coolant x 10 K / heat that is not removed");
  if (site.cooling_unit_mtbf) {
    const double out = plant.installed() * (facility::kCoolingRepair / *site.cooling_unit_mtbf);
    add(FigureId::cooling_short, poisson_above(plant.spares, out),
        "Poisson probability with mean units x repair / mtbf");
  }
  if (site.cooling_design && v.weather != nullptr && !v.weather->dry_c.empty()) {
    const double hottest = *std::ranges::max_element(v.weather->dry_c);
    add(FigureId::cooling_hottest, facility::weather_share(plant.design_c, hottest),
        fmt::format("{:.3g} C outdoors", hottest));
  }
}

void add_year(figures::Section& s, const review::SiteView& v) {
  s.figures.push_back(
      {.kind = FigureId::energy_year,
       .estimate = within(v.year.site_energy.base(), machine::kMeanPowerSpread,
                          machine::kMeanPowerSpread, Basis::derived, "docs/models/power.md")});
  if (v.region) {
    const std::string how =
        v.hours.is_empty()
            ? fmt::format("at the grid's mean of {}: the site names no `hours`",
                          v.region->carbon_year)
            : fmt::format("PUE x intensity of {} hours, at a steady draw", v.hours.pue.size());
    s.figures.push_back(
        {.kind = FigureId::carbon_year,
         .estimate = within(
             v.year.carbon.base(), machine::kGridSpread, machine::kGridSpread, Basis::derived,
             v.hours.is_empty() ? v.region->provenance.reference : "docs/models/carbon.md"),
         .formula = how});
  }
  if (v.schedule) {
    std::string path;
    for (const std::string& id : v.schedule->critical) path += (path.empty() ? "" : " > ") + id;
    s.figures.push_back(
        {.kind = FigureId::ready_in,
         .estimate = {v.schedule->typical.base(), v.schedule->low.base(), v.schedule->high.base(),
                      Basis::assumed, "catalog lead_times"},
         .formula = "critical path: " + path});
  }
}

}  // namespace

std::vector<figures::Section> facility_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const review::SiteView& v : review.sites) {
    if (!v.has_machines()) continue;
    figures::Section s{.layer = figures::Layer::facility, .name = v.site->name};
    s.summary =
        fmt::format("{}, {} cooling, redundancy {}", v.region ? v.region->id : v.site->region,
                    v.site->cooling, v.site->redundancy);
    add_power(s, v);
    add_pue(s, v);
    add_racks(s, v);
    add_backup(s, v);
    add_plant(s, v);
    add_year(s, v);
    const double used = v.site->power ? v.draw_peak / *v.site->power : 0;
    s.limit = v.site->power ? fmt::format("site power, {} used at nameplate",
                                          show(used, figures::Unit::ratio))
                            : fmt::format("the rack: {}", to_text(v.fleets.front().rack.bound));
    sections.push_back(std::move(s));
  }
  return sections;
}

}  // namespace orrery::verdict
