// Rules about power, racks and cooling.
#include <fmt/core.h>

#include "base/units.h"
#include "facility/power_cap.h"
#include "plan/edits.h"
#include "plan/rules.h"

namespace orrery::plan {
namespace {

void check_rack(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const SiteView& v : r.sites) {
    for (const FleetPower& p : v.fleets) {
      const bool none = p.rack.nodes == 0;
      const bool above = p.rack.power > v.cooling->rack_practical_max;
      const bool above_limit = v.site->rack && p.rack.power > *v.site->rack;
      if (!none && !above && !above_limit) continue;
      const Watts power = none ? p.node.nameplate : p.rack.power;
      const catalog::CoolingMethod* method = cooling_for(r, v, power);
      Finding f = finding_at(r, rule, v.path + (above || none ? ".cooling" : ".rack"));
      f.what = none ? fmt::format("Not one {} node ({}) fits a rack of site '{}'.",
                                  p.fleet->fleet->name, brief(p.node.nameplate), v.site->name)
                    : fmt::format("A rack of {} nodes draws {}; site '{}' carries {} with {}.",
                                  p.fleet->fleet->name, brief(power), v.site->name,
                                  brief(p.rack.limit), v.site->cooling);
      f.why = fmt::format("{} reaches {} a rack in practice{}.", v.site->cooling,
                          brief(v.cooling->rack_practical_max),
                          v.site->rack ? ", and the site allows " + brief(*v.site->rack) : "");
      const bool cooling_binds = power > v.cooling->rack_practical_max;
      f.fix = !cooling_binds
                  ? fmt::format("Use fewer nodes a rack, or racks of {}.", at_least(power))
              : method ? fmt::format("Use {} cooling, or fewer nodes a rack.", method->id)
                       : "Use fewer nodes a rack.";
      f.edit = edit_rack(r, v, p);
      out.push_back(std::move(f));
    }
  }
}

// A node with fans in a hall that cools by cold plates, or the other way round.
void check_node_cooling(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const SiteView& v : r.sites) {
    for (const FleetPower& p : v.fleets) {
      const catalog::Node& node = p.fleet->node.part;
      if (facility::suits(node.cooling, v.cooling->id)) continue;
      Finding f = finding_at(r, rule, v.path + ".cooling");
      f.what = fmt::format("{} is built for {} cooling; site '{}' cools by {}.", node.name,
                           node.cooling, v.site->name, v.site->cooling);
      f.why = facility::wants_air(node.cooling)
                  ? "It has fans and heat sinks and no cold plates: the liquid never reaches it."
                  : "It has cold plates and few fans: air alone does not carry its heat away.";
      f.edit = edit_node_cooling(r, v);
      f.fix = f.edit ? fmt::format("Use {} cooling, or nodes built for {}.", f.edit->value,
                                   v.site->cooling)
                     : "Give the two kinds of node sites of their own.";
      out.push_back(std::move(f));
    }
  }
}

void check_power(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const SiteView& v : r.sites) {
    if (!v.site->power || !v.has_machines() || v.draw_peak <= *v.site->power) continue;
    const FleetPower& p = v.fleets[v.budget_fleet];
    const int nodes = p.fleet->fleet->count + p.fleet->fleet->spares;
    Finding f = finding_at(r, rule, v.path + ".power");
    f.what = fmt::format("Site '{}' would draw {} and has {}: {} of {} {} nodes fit.", v.site->name,
                         brief(v.draw_peak), brief(*v.site->power), v.budget ? v.budget->nodes : 0,
                         nodes, p.fleet->fleet->name);
    f.why = fmt::format("{} of IT at nameplate times a PUE of {:.3g}.", brief(v.it_nameplate),
                        v.pue.middle);
    const Watts per_node = p.node.nameplate * (*v.site->power / v.draw_peak);
    const double cap = accelerator_cap(p.node, per_node);
    f.fix = cap >= facility::kLowestCap && cap < 1 && p.fleet->accelerator() &&
                    p.fleet->accelerator()->tdp
                ? fmt::format(
                      "Cap the accelerators at {} (they keep about {} of their speed), shrink "
                      "the fleet, or contract more power.",
                      brief(*p.fleet->accelerator()->tdp * cap, 2),
                      show(capped_speed(cap, facility::Boundness::compute), machine::Unit::ratio))
                : "Shrink the fleet, or contract more power.";
    f.edit = edit_power(r, v);
    out.push_back(std::move(f));
  }
}

void check_positions(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const SiteView& v : r.sites) {
    if (!v.site->racks || v.racks <= *v.site->racks) continue;
    Finding f = finding_at(r, rule, v.path + ".racks");
    f.what = fmt::format("The fleets of site '{}' need {} racks; it has room for {}.", v.site->name,
                         v.racks, *v.site->racks);
    f.why = "Nodes a rack are bound by its power, its cooling or its height.";
    f.fix =
        fmt::format("Put more nodes into a rack, cool it for them, or find {} positions.", v.racks);
    f.edit = edit_positions(r, v);
    out.push_back(std::move(f));
  }
}

void check_air_residue(const Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const SiteView& v : r.sites) {
    for (const FleetPower& p : v.fleets) {
      if (!p.rack.air_heat_is_a_legacy_rack) continue;
      Finding f = finding_at(r, rule, v.path + ".cooling");
      f.what = fmt::format("A liquid-cooled rack of {} nodes still gives {} to the room.",
                           p.fleet->fleet->name, brief(p.rack.air_heat));
      f.why = "That alone is a full legacy air rack: the hall needs air cooling beside the liquid.";
      f.fix = "Plan room air for it.";
      out.push_back(std::move(f));
    }
  }
}

constexpr Rule kFacilityRules[] = {
    {"facility.rack-above-cooling", machine::Layer::facility, Severity::error,
     "a rack draws no more than its cooling and the site allow", "catalog cooling_methods",
     check_rack},
    {"facility.node-cooling", machine::Layer::facility, Severity::error,
     "the hall cools by what the nodes are built for", "catalog nodes, cooling_methods",
     check_node_cooling},
    {"facility.power-above-site", machine::Layer::facility, Severity::error,
     "nameplate times PUE stays within the site's power", "docs/models/power.md", check_power},
    {"facility.rack-positions", machine::Layer::facility, Severity::error,
     "the hall has room for the racks", "docs/models/cooling.md", check_positions},
    {"facility.residual-air", machine::Layer::facility, Severity::note,
     "heat that a liquid-cooled rack leaves to the room is planned for",
     "catalog cooling_methods (10 to 30 % of a hybrid rack)", check_air_residue},
};

}  // namespace

std::span<const Rule> facility_rules() { return kFacilityRules; }

}  // namespace orrery::plan
