#include "model/machine/site_load.h"

#include <algorithm>

#include "layers/facility/node_power.h"
#include "model/machine/tier_purchase.h"

namespace orrery::machine {
namespace {

Watts network_power(const Machine& m, const design::Site* site) {
  Watts power;
  for (const Networks& n : m.networks) {
    if (n.site != site) continue;
    power += n.compute.bill.power() + n.storage.bill.power() + n.management.bill.power();
  }
  return power;
}

const design::CleanHours* rule_of(const design::Workload& w) {
  const auto* jobs = std::get_if<design::Jobs>(&w.task);
  if (jobs != nullptr) return jobs->clean_hours ? &*jobs->clean_hours : nullptr;
  const auto* batch = std::get_if<design::Batch>(&w.task);
  return batch != nullptr && batch->clean_hours ? &*batch->clean_hours : nullptr;
}

}  // namespace

facility::SitePowerRequest SiteLoad::request(Watts it_mean) const {
  const design::Site& s = *site->site;
  return {.cooling_id = s.cooling,
          .redundancy_id = s.redundancy,
          .climate = climate,
          .chain_ids = s.power_chain,
          .design = hosts_nameplate + constant,
          .mean = it_mean,
          .supply_c = s.supply_c,
          .pue = s.pue,
          .hours = site->hours,
          .grid = site->region ? site->region->carbon : GramsPerJoule(0)};
}

facility::CoolingPlant cooling_plant(const design::Site& site, Watts heat) {
  facility::CoolingPlant plant{.heat = heat};
  plant.unit = site.cooling_unit.value_or(plant.unit);
  plant.spares = site.cooling_spares.value_or(plant.spares);
  plant.design_c = site.cooling_design.value_or(plant.design_c);
  return plant;
}

SiteLoad load_of(const Machine& m, design::SiteIndex index) {
  SiteLoad load{.site = &m.sites[index]};
  const design::Site* site = load.site->site;
  load.climate = !site->climate.empty() ? site->climate
                 : load.site->region    ? load.site->region->climate
                                        : std::string();
  for (const Fleet& f : m.fleets) {
    if (f.site != site || f.rented()) continue;
    if (const auto node = facility::node_power_of(f.node.part, f.accelerator())) {
      load.hosts_nameplate += node->nameplate * (f.fleet->count + f.fleet->spares);
    }
  }
  if (load.hosts_nameplate <= Watts(0)) return load;
  load.constant += network_power(m, site);
  for (const Tier& t : m.tiers) {
    const bool here = find_site(m.design(), t.tier->site) == site;
    if (here && t.tier->provider.empty() && !t.per_node)
      load.constant += tier_power(t, m.catalog());
  }
  return load;
}

std::optional<CleanWork> clean_work(const Machine& m, const design::Workload& w) {
  const design::CleanHours* rule = rule_of(w);
  const Fleet* fleet = fleet_of(m.fleets, w);
  if (rule == nullptr || fleet == nullptr) return std::nullopt;
  if (fleet->site == nullptr) return std::nullopt;
  const catalog::SiteHours* hours = m.sites[fleet->site_index].hours;
  if (hours == nullptr || hours->carbon.empty()) return std::nullopt;
  return CleanWork{.rule = {.below = rule->below, .wait = rule->wait},
                   .grid = facility::HourCurve(hours->carbon)};
}

}  // namespace orrery::machine
