#include "facility/rack.h"

#include <algorithm>
#include <cmath>

namespace orrery {

namespace {

// Nodes rated for exactly a share of the limit (4 x 10.2 kW under 40.8 kW) must not be lost to the
// last bit of a quotient.
constexpr double kRounding = 1e-9;

int whole(double quotient) { return static_cast<int>(std::floor(quotient + kRounding)); }

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

RackFit fit_rack(const RackRequest& request, const CoolingMethod& method) {
  RackFit fit;
  const bool site_binds =
      request.rack_limit > Watts() && request.rack_limit < method.rack_practical_max;
  fit.limit = site_binds ? request.rack_limit : method.rack_practical_max;
  if (request.node_power <= Watts()) return fit;

  const int by_power = whole(fit.limit / request.node_power);
  fit.nodes = by_power;
  fit.bound = site_binds ? RackBound::rack_limit : RackBound::cooling;
  if (by_power == 0) {
    fit.bound = RackBound::none_fits;
    return fit;
  }
  if (request.node_units > 0) {
    const int by_space = whole(request.rack_units / request.node_units);
    if (by_space < 1) {
      fit.nodes = 1;
      fit.bound = RackBound::whole_rack;
    } else if (by_space < by_power) {
      fit.nodes = by_space;
      fit.bound = RackBound::space;
    }
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

std::vector<const CoolingMethod*> methods_that_carry(Watts rack_power,
                                                     std::span<const CoolingMethod> methods) {
  std::vector<const CoolingMethod*> carrying;
  for (const CoolingMethod& m : methods) {
    if (rack_power <= m.rack_practical_max * (1 + kRounding)) carrying.push_back(&m);
  }
  std::stable_sort(carrying.begin(), carrying.end(), [](const auto* a, const auto* b) {
    return a->capex_per_kw.middle() < b->capex_per_kw.middle();
  });
  return carrying;
}

const CoolingMethod* method_needed(Watts rack_power, std::span<const CoolingMethod> methods) {
  const auto carrying = methods_that_carry(rack_power, methods);
  return carrying.empty() ? nullptr : carrying.front();
}

}  // namespace orrery
