#include "layers/facility/rack.h"

#include <algorithm>
#include <cmath>

namespace orrery::facility {

namespace {

// Nodes whose power fits exactly (4 x 10.2 kW under 40.8 kW) must not be rejected because of
// rounding in the division.
constexpr double kRackRounding = 1e-9;

int whole(double quotient) { return static_cast<int>(std::floor(quotient + kRackRounding)); }

}  // namespace

const char* to_text(RackBound b) {
  switch (b) {
    case RackBound::none_fits:
      return "no node fits";
    case RackBound::rack_limit:
      return "rack power limit";
    case RackBound::cooling:
      return "cooling method";
    case RackBound::space:
      return "rack units";
    case RackBound::whole_rack:
      return "the node is a rack";
  }
  return "";
}

RackFit fit_rack(const RackRequest& request, const catalog::CoolingMethod& method) {
  RackFit fit;
  const bool site_binds =
      request.rack_limit > Watts() && request.rack_limit <= method.rack_practical_max;
  fit.limit = site_binds ? request.rack_limit : method.rack_practical_max;
  if (request.node_power <= Watts()) return fit;

  if (request.node_units > request.rack_units) {
    const Watts limit = site_binds ? fit.limit : fit.limit * (1 + kWholeRackMargin);
    fit.nodes = request.node_power <= limit ? 1 : 0;
    fit.bound = fit.nodes == 1 ? RackBound::whole_rack : RackBound::none_fits;
  } else {
    fit.nodes = whole(fit.limit / request.node_power);
    fit.bound = site_binds ? RackBound::rack_limit : RackBound::cooling;
    const int by_space =
        request.node_units > 0 ? whole(request.rack_units / request.node_units) : fit.nodes;
    if (by_space < fit.nodes) {
      fit.nodes = by_space;
      fit.bound = RackBound::space;
    }
    if (fit.nodes == 0) fit.bound = RackBound::none_fits;
  }
  fit.power = request.node_power * fit.nodes;
  fit.liquid_heat = fit.power * method.liquid_heat_fraction;
  fit.air_heat = fit.power - fit.liquid_heat;
  fit.air_heat_is_a_legacy_rack = method.liquid_heat_fraction > 0 && fit.air_heat > kLegacyAirRack;
  return fit;
}

int racks_needed(int nodes, const RackFit& fit) {
  if (fit.nodes <= 0 || nodes <= 0) return 0;
  return (nodes + fit.nodes - 1) / fit.nodes;
}

std::vector<const catalog::CoolingMethod*> methods_that_carry(
    Watts rack_power, std::span<const catalog::CoolingMethod> methods) {
  std::vector<const catalog::CoolingMethod*> carrying;
  for (const catalog::CoolingMethod& m : methods) {
    if (rack_power <= m.rack_practical_max * (1 + kRackRounding)) carrying.push_back(&m);
  }
  std::stable_sort(carrying.begin(), carrying.end(), [](const auto* a, const auto* b) {
    return a->capex_per_kw.middle() < b->capex_per_kw.middle();
  });
  return carrying;
}

bool wants_air(std::string_view node_cooling) { return node_cooling.starts_with("air"); }

bool suits(std::string_view node_cooling, std::string_view method_id) {
  if (method_id.starts_with("immersion")) return true;
  const bool plates = node_cooling.starts_with("direct-to-chip");
  if (!plates && !wants_air(node_cooling)) return true;
  return plates == method_id.starts_with("direct-to-chip");
}

const catalog::CoolingMethod* method_needed(Watts rack_power,
                                            std::span<const catalog::CoolingMethod> methods) {
  const auto carrying = methods_that_carry(rack_power, methods);
  return carrying.empty() ? nullptr : carrying.front();
}

}  // namespace orrery::facility
