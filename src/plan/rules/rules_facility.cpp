// Rules about power, racks and cooling.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/machine/site_load.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

void check_rack(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    for (const review::FleetPower& p : v.fleets) {
      const bool none = p.rack.nodes == 0;
      const bool above = p.rack.power > v.cooling->rack_practical_max;
      const bool above_limit = v.site->rack && p.rack.power > *v.site->rack;
      if (!none && !above && !above_limit) continue;
      const Watts power = none ? p.node.nameplate : p.rack.power;
      const catalog::CoolingMethod* method = cooling_for(r, v, power);
      Finding f = finding_at(r, rule, v.path + (above || none ? ".cooling" : ".rack"));
      f.what = none ? fmt::format("Not one {} node ({}) fits into a rack of site '{}'.",
                                  p.fleet->fleet->name, brief(p.node.nameplate), v.site->name)
                    : fmt::format("A rack of {} nodes draws {}; site '{}' allows {} with {}.",
                                  p.fleet->fleet->name, brief(power), v.site->name,
                                  brief(p.rack.limit), v.site->cooling);
      f.why = fmt::format("{} reaches {} per rack in practice{}.", v.site->cooling,
                          brief(v.cooling->rack_practical_max),
                          v.site->rack ? ", and the site allows " + brief(*v.site->rack) : "");
      const bool cooling_binds = power > v.cooling->rack_practical_max;
      f.fix = !cooling_binds
                  ? fmt::format("Use fewer nodes per rack, or racks of {}.", at_least(power))
              : method ? fmt::format("Use {} cooling, or fewer nodes per rack.", method->id)
                       : "Use fewer nodes per rack.";
      f.edit = edit_rack(r, v, p);
      out.push_back(std::move(f));
    }
  }
}

// Finds air-cooled nodes in a hall with cold plates, and the other way round.
void check_node_cooling(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    for (const review::FleetPower& p : v.fleets) {
      const catalog::Node& node = p.fleet->node.part;
      if (facility::suits(node.cooling, v.cooling->id)) continue;
      Finding f = finding_at(r, rule, v.path + ".cooling");
      f.what = fmt::format("{} is built for {} cooling; site '{}' uses {} cooling.", node.name,
                           node.cooling, v.site->name, v.site->cooling);
      f.why =
          facility::wants_air(node.cooling)
              ? "It has fans and heat sinks but no cold plates, so the liquid cannot take its heat."
              : "It has cold plates and few fans, so air alone cannot take its heat.";
      f.edit = edit_node_cooling(r, v);
      f.fix = f.edit ? fmt::format("Use {} cooling, or nodes built for {}.", f.edit->value,
                                   v.site->cooling)
                     : "Give each kind of node its own site.";
      out.push_back(std::move(f));
    }
  }
}

void check_power(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    if (!v.site->power || !v.has_machines() || v.draw_peak <= *v.site->power) continue;
    const review::FleetPower& p = v.budgeted();
    const int nodes = p.fleet->fleet->count + p.fleet->fleet->spares;
    Finding f = finding_at(r, rule, v.path + ".power");
    f.what = fmt::format("Site '{}' would draw {} and has {}: {} of {} {} nodes fit.", v.site->name,
                         brief(v.draw_peak), brief(*v.site->power), v.budget ? v.budget->nodes : 0,
                         nodes, p.fleet->fleet->name);
    f.why = fmt::format("{} of IT power at nameplate, times a PUE of {:.3g}.",
                        brief(v.it_nameplate), v.pue.middle);
    const Watts per_node = p.node.nameplate * (*v.site->power / v.draw_peak);
    const double cap = accelerator_cap(p.node, per_node);
    f.fix = cap >= facility::kLowestCap && cap < 1 && p.fleet->accelerator() &&
                    p.fleet->accelerator()->tdp
                ? fmt::format(
                      "Cap the accelerators at {} (they keep about {} of their speed), shrink "
                      "the fleet, or contract more power.",
                      brief(*p.fleet->accelerator()->tdp * cap, 2),
                      show(capped_speed(cap, facility::Boundness::compute), figures::Unit::ratio))
                : "Shrink the fleet, or contract more power.";
    f.edit = edit_power(r, v);
    out.push_back(std::move(f));
  }
}

void check_positions(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    if (!v.site->racks || v.racks <= *v.site->racks) continue;
    Finding f = finding_at(r, rule, v.path + ".racks");
    f.what = fmt::format("The fleets of site '{}' need {} racks; there is room for {}.",
                         v.site->name, v.racks, *v.site->racks);
    f.why = "Power, cooling or height limits the number of nodes per rack.";
    f.fix = fmt::format(
        "Put more nodes into each rack, with cooling to match, or find {} positions.", v.racks);
    f.edit = edit_positions(r, v);
    out.push_back(std::move(f));
  }
}

void check_air_residue(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    for (const review::FleetPower& p : v.fleets) {
      if (!p.rack.air_heat_is_a_legacy_rack) continue;
      Finding f = finding_at(r, rule, v.path + ".cooling");
      f.what = fmt::format("A liquid-cooled rack of {} nodes still releases {} into the room.",
                           p.fleet->fleet->name, brief(p.rack.air_heat));
      f.why =
          "That alone is as much as a full air-cooled rack: the hall needs air cooling as well as "
          "liquid.";
      f.fix = "Plan room air cooling for it.";
      out.push_back(std::move(f));
    }
  }
}

// Compares the nameplate power of all racks on a power unit with the continuous rating of its
// breaker.
void check_pdu(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    for (const review::FleetPower& p : v.fleets) {
      const auto& rating = p.fleet->fleet->pdu_rating;
      if (!rating || p.rack.nodes == 0) continue;
      const int racks = p.fleet->fleet->failures.racks_per_pdu.value_or(1);
      const Watts load = p.rack.power * racks;
      if (load <= *rating * facility::kContinuousDerate) continue;
      Finding f = finding_at(r, rule, p.fleet->path + ".pdu_rating");
      f.what = fmt::format(
          "{} rack{} of {} draw {} at nameplate; their power unit, rated {}, carries {} "
          "continuously.",
          racks, racks == 1 ? "" : "s", p.fleet->fleet->name, brief(load), brief(*rating),
          brief(*rating * facility::kContinuousDerate));
      f.why =
          "A breaker carries 80 % of its rating continuously (NEC); above that it trips, and takes "
          "all its racks down.";
      f.fix =
          "Put fewer racks on each unit, use fewer nodes per rack, set a power_cap, or choose a "
          "larger unit.";
      f.edit = Edit{p.fleet->path + ".pdu_rating", at_least(load / facility::kContinuousDerate)};
      out.push_back(std::move(f));
    }
  }
}

// Checks the hottest hour of the site's file, with every unit in service.
void check_hottest(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::SiteView& v : r.sites) {
    const bool has_weather = v.weather != nullptr && !v.weather->dry_c.empty();
    if (!v.site->cooling_design || !has_weather || !v.has_machines()) continue;
    const double hottest = *std::ranges::max_element(v.weather->dry_c);
    const facility::CoolingPlant plant = machine::cooling_plant(*v.site, v.it_nameplate);
    const Watts carried = plant.carries(0, hottest);
    if (carried >= v.it_nameplate) continue;
    Finding f = finding_at(r, rule, v.path + ".cooling_spares");
    f.what = fmt::format("At {:.3g} C outdoors, the {} cooling units of site '{}' carry {} of {}.",
                         hottest, plant.installed(), v.site->name, brief(carried),
                         brief(v.it_nameplate));
    f.why =
        fmt::format("They are sized for {:.3g} C; in hotter air the loop warms and racks throttle.",
                    plant.design_c);
    f.fix = "Install more units, size the plant for hotter days, or draw less power.";
    const Watts each = plant.carries(plant.installed() - 1, hottest);
    const bool helps = each > Watts(0);
    const double wanted = helps ? std::ceil(v.it_nameplate / each - 1e-9) : 0;
    if (helps) {
      f.edit = Edit{v.path + ".cooling_spares",
                    std::to_string(static_cast<int>(wanted) - plant.needed())};
    } else {
      f.edit = Edit{v.path + ".cooling_design", fmt::format("{} C", std::ceil(hottest))};
    }
    out.push_back(std::move(f));
  }
}

constexpr Rule kFacilityRules[] = {
    {"facility.rack-above-cooling", figures::Layer::facility, Severity::error,
     "a rack draws no more than its cooling and the site allow", "catalog cooling_methods",
     check_rack},
    {"facility.node-cooling", figures::Layer::facility, Severity::error,
     "the hall's cooling suits its nodes", "catalog nodes, cooling_methods", check_node_cooling},
    {"facility.power-above-site", figures::Layer::facility, Severity::error,
     "nameplate times PUE stays within the site's power", "docs/models/power.md", check_power},
    {"facility.rack-positions", figures::Layer::facility, Severity::error,
     "the hall has room for the racks", "docs/models/cooling.md", check_positions},
    {"facility.pdu-rating", figures::Layer::facility, Severity::error,
     "the racks on a power unit stay within the continuous rating of its breaker",
     "NEC 210.20: 80 % of the rating", check_pdu},
    {"facility.hottest-hour", figures::Layer::facility, Severity::warning,
     "the cooling carries the nameplate power in the hottest hour", "docs/models/site-in-time.md",
     check_hottest},
    {"facility.residual-air", figures::Layer::facility, Severity::note,
     "there is air cooling for the heat that liquid-cooled racks leave in the room",
     "catalog cooling_methods (10 to 30 % of a hybrid rack)", check_air_residue},
};

}  // namespace

std::span<const Rule> facility_rules() { return kFacilityRules; }

}  // namespace orrery::rules
