// How many nodes a rack takes, which cooling method it needs, and what heat is left to the room.
//
//   nodes per rack = floor(min(rack limit / node power, cooling limit / node power, units / node
//   units)) air heat       = rack power * (1 - liquid fraction)
//
// Limits of a method are the practical maxima of data/catalog/cooling_methods.csv; a rack is
// counted at nameplate, since its breakers and hoses are. A node that is itself a rack (NVL72)
// takes one. Wrong where a hall mixes methods in a row, or where floor load binds (an NVL72 rack
// weighs 1.4 t).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/site_facts.h"

namespace orrery::facility {

// Usable units of a 48 U rack: switches, shelves and cable managers take the rest. Assumed.
inline constexpr double kUsableRackUnits = 42;
// Above this the air left by a hybrid rack is itself a full legacy air rack (catalog,
// air-perimeter).
inline constexpr Watts kLegacyAirRack = kilowatts(12);
// A node that is a rack is built for its method; the methods' maxima are rounded (a GB300 NVL72
// draws 142 kW against 140), so it may exceed them by this much.
inline constexpr double kWholeRackMargin = 0.05;

enum class RackBound { none_fits, rack_limit, cooling, space, whole_rack };

const char* to_text(RackBound b);

struct RackRequest {
  Watts node_power;       // nameplate
  double node_units = 0;  // 0: unknown, space is not checked
  Watts rack_limit;       // of the site; 0: what the cooling method allows
  double rack_units = kUsableRackUnits;
};

struct RackFit {
  int nodes = 0;  // per rack; 0 where not even one fits
  RackBound bound = RackBound::none_fits;
  Watts limit;  // the lower of the site's and the method's
  Watts power;  // of a full rack
  Watts liquid_heat;
  Watts air_heat;
  bool air_heat_is_a_legacy_rack = false;  // a liquid-cooled rack that still needs 12 kW of air
};

RackFit fit_rack(const RackRequest& request, const catalog::CoolingMethod& method);

// Racks for `nodes`; 0 where none fits.
int racks_needed(int nodes, const RackFit& fit);

// Whether a node built for `node_cooling` (the catalog's words: "air", "direct-to-chip + air")
// can stand in a hall of the method. Air-cooled nodes want air, at the door's coil if need be;
// cold plates want direct-to-chip. A tank takes either once it is rebuilt for it; a node whose row
// says nothing suits all.
bool wants_air(std::string_view node_cooling);
bool suits(std::string_view node_cooling, std::string_view method_id);

// The method that carries such a rack at the lowest capital cost per kW; nullptr where none does.
const catalog::CoolingMethod* method_needed(Watts rack_power,
                                            std::span<const catalog::CoolingMethod> methods);

// All methods that carry it, cheapest first.
std::vector<const catalog::CoolingMethod*> methods_that_carry(
    Watts rack_power, std::span<const catalog::CoolingMethod> methods);

}  // namespace orrery::facility
