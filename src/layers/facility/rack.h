// How many nodes fit in a rack, which cooling method it needs, and how much heat goes to the room
// air.
//
//   nodes per rack = floor(min(rack limit / node power, cooling limit / node power,
//                              units / node units))
//   air heat       = rack power * (1 - liquid fraction)
//
// Limits of a method are the practical maxima of data/catalog/cooling_methods.csv. A rack is
// counted at nameplate, because its breakers and hoses are sized for that. A node that is itself a
// rack (NVL72) takes one. Wrong if a hall mixes methods in a row, or if the floor load is the limit
// (an NVL72 rack weighs 1.4 t).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/site_facts.h"

namespace orrery::facility {

// Usable units of a 48 U rack; switches, shelves and cable managers take the rest. Assumed.
inline constexpr double kUsableRackUnits = 42;
// Above this, the air heat that a hybrid rack leaves is as much as a full legacy air-cooled rack
// (catalog, air-perimeter).
inline constexpr Watts kLegacyAirRack = kilowatts(12);
// A rack-size node is built for its cooling method. The methods' maxima are rounded (a GB300 NVL72
// draws 142 kW against 140), so it may exceed them by this much.
inline constexpr double kWholeRackMargin = 0.05;

enum class RackBound { none_fits, rack_limit, cooling, space, whole_rack };

const char* to_text(RackBound b);

struct RackRequest {
  Watts node_power;       // nameplate
  double node_units = 0;  // 0: unknown, space is not checked
  Watts rack_limit;       // the site's; 0: whatever the cooling method allows
  double rack_units = kUsableRackUnits;
};

struct RackFit {
  int nodes = 0;  // per rack; 0 if not even one fits
  RackBound bound = RackBound::none_fits;
  Watts limit;  // the lower of the site's and the method's
  Watts power;  // draw of a full rack
  Watts liquid_heat;
  Watts air_heat;
  // A liquid-cooled rack whose air heat still exceeds 12 kW.
  bool air_heat_is_a_legacy_rack = false;
};

RackFit fit_rack(const RackRequest& request, const catalog::CoolingMethod& method);

// Returns the racks needed for `nodes`; 0 if no node fits in a rack.
int racks_needed(int nodes, const RackFit& fit);

// suits returns whether a node built for `node_cooling` (in the catalog's words: "air",
// "direct-to-chip + air") can be installed in a hall with the method. Air-cooled nodes need air,
// possibly from a rear-door coil; cold plates need direct-to-chip. A tank takes either once the
// node is rebuilt for it; a node whose row does not say suits all methods.
bool wants_air(std::string_view node_cooling);
bool suits(std::string_view node_cooling, std::string_view method_id);

// Returns the method that can cool such a rack at the lowest capital cost per kW; nullptr if there
// is none.
const catalog::CoolingMethod* method_needed(Watts rack_power,
                                            std::span<const catalog::CoolingMethod> methods);

// Returns all methods that can cool it, cheapest first.
std::vector<const catalog::CoolingMethod*> methods_that_carry(
    Watts rack_power, std::span<const catalog::CoolingMethod> methods);

}  // namespace orrery::facility
