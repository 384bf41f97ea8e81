// Edits of the hall: cooling, nodes per rack, positions, power.
#include <algorithm>

#include "model/figures/assumptions.h"
#include "plan/rules/edits.h"

namespace orrery::rules {
namespace {

// Rounding slack, as in rack.cpp: a quotient may lose its last bit.
constexpr double kRounding = 1e-9;
using figures::assumptions::kGeneratorStart;

int nodes_under(Watts limit, const review::FleetPower& p) {
  return static_cast<int>(std::min(limit / p.node.nameplate + kRounding, 1e6));
}

// Returns how many nodes per rack power and height allow under a cooling method.
facility::RackFit fit_under(const review::SiteView& v, const review::FleetPower& p,
                            const catalog::CoolingMethod& method) {
  return facility::fit_rack(
      {.node_power = p.node.nameplate,
       .node_units = static_cast<double>(p.fleet->node.part.rack_units.value_or(0)),
       .rack_limit = v.site->rack.value_or(Watts(0))},
      method);
}

// Returns the power of a full rack, or of a single node if not even one fits.
Watts rack_power(const review::FleetPower& p) {
  return p.rack.nodes == 0 ? p.node.nameplate : p.rack.power;
}

int nodes_of(const review::FleetPower& p) { return p.fleet->fleet->count + p.fleet->fleet->spares; }

bool suits_all(const review::SiteView& v, const catalog::CoolingMethod& method) {
  return std::ranges::all_of(v.fleets, [&](const review::FleetPower& p) {
    return facility::suits(p.fleet->node.part.cooling, method.id);
  });
}

// Packs one fleet as closely as its racks allow, if that makes room for all racks.
std::optional<Edit> edit_packing(const review::SiteView& v, int positions) {
  for (const review::FleetPower& p : v.fleets) {
    const facility::RackFit closest = fit_under(v, p, *v.cooling);
    if (!p.fleet->fleet->nodes_per_rack || closest.nodes <= p.rack.nodes) continue;
    if (v.racks - p.racks + racks_needed(nodes_of(p), closest) > positions) continue;
    return Edit{p.fleet->path + ".nodes_per_rack", std::to_string(closest.nodes)};
  }
  return std::nullopt;
}

// Returns the cheapest method under which all the site's racks fit its positions.
std::optional<Edit> edit_cooling(const review::Review& r, const review::SiteView& v,
                                 int positions) {
  for (const catalog::CoolingMethod* m :
       facility::methods_that_carry(Watts(0), r.catalog().cooling_methods)) {
    if (m->rack_practical_max <= v.cooling->rack_practical_max || !suits_all(v, *m)) continue;
    int racks = 0;
    for (const review::FleetPower& p : v.fleets) {
      racks +=
          p.fleet->fleet->nodes_per_rack ? p.racks : racks_needed(nodes_of(p), fit_under(v, p, *m));
    }
    if (racks > 0 && racks <= positions) return Edit{v.path + ".cooling", m->id};
  }
  return std::nullopt;
}

}  // namespace

const catalog::CoolingMethod* cooling_for(const review::Review& r, const review::SiteView& v,
                                          Watts rack) {
  for (const catalog::CoolingMethod* m :
       facility::methods_that_carry(rack, r.catalog().cooling_methods)) {
    if (suits_all(v, *m)) return m;
  }
  return nullptr;
}

std::optional<Edit> edit_node_cooling(const review::Review& r, const review::SiteView& v) {
  Watts most;
  for (const review::FleetPower& p : v.fleets) most = max(most, rack_power(p));
  const catalog::CoolingMethod* method = cooling_for(r, v, most);
  // No method carries these racks: they must be thinned out.
  if (method == nullptr) method = cooling_for(r, v, Watts(0));
  if (method == nullptr) return std::nullopt;
  return Edit{v.path + ".cooling", method->id};
}

std::optional<Edit> edit_rack(const review::Review& r, const review::SiteView& v,
                              const review::FleetPower& p) {
  const Watts allowed = v.site->rack.value_or(v.cooling->rack_practical_max);
  const bool only_cooling = !v.site->rack || rack_power(p) <= allowed;
  Watts most;
  for (const review::FleetPower& other : v.fleets) most = max(most, rack_power(other));
  const catalog::CoolingMethod* method = cooling_for(r, v, most);
  if (only_cooling && method != nullptr) return Edit{v.path + ".cooling", method->id};
  const int fewer = nodes_under(min(allowed, v.cooling->rack_practical_max), p);
  if (fewer > 0) return Edit{p.fleet->path + ".nodes_per_rack", std::to_string(fewer)};
  // Not one node fits: first let the rack carry it; its cooling may then have to change too.
  if (v.site->rack && *v.site->rack < p.node.nameplate) {
    return Edit{v.path + ".rack", at_least(p.node.nameplate)};
  }
  return std::nullopt;
}

Edit edit_power(const review::Review& r, const review::SiteView& v) {
  const machine::Fleet& fleet = *v.budgeted().fleet;
  const int fit = v.budget ? v.budget->nodes : 0;
  const int count = fit - fleet.fleet->spares;
  if (count > 0 && count >= nodes_asked(r, fleet)) {
    return {fleet.path + ".count", std::to_string(count)};
  }
  return {v.path + ".power", at_least(v.draw_peak)};
}

Edit edit_positions(const review::Review& r, const review::SiteView& v) {
  const int positions = *v.site->racks;
  if (auto packing = edit_packing(v, positions)) return *std::move(packing);
  if (auto cooling = edit_cooling(r, v, positions)) return *std::move(cooling);
  return {v.path + ".racks", std::to_string(v.racks)};
}

Edit edit_ride(const review::SiteView& v) {
  if (!v.site->generator) return {v.path + ".generator", at_least(kGeneratorStart)};
  return {v.path + ".battery", at_least(*v.site->generator)};
}

}  // namespace orrery::rules
