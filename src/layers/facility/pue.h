// PUE from its parts.
//
//   PUE = 1 + (fans + pumps + CDU + chiller + heat rejection + electrical loss + misc) / IT
//
// Heat leaves by two paths, liquid and air, each with the facility-water temperature it needs. In
// each hour the outside provides water at wet bulb + 4 K (tower) or dry bulb + 7 K (dry cooler). If
// that is cool enough, no compressor runs; above, the chiller carries (available - needed) /
// (return - needed) of the heat with COP = 0.5 T_evaporator / lift. Water: a tower evaporates 1.84
// L per kWh rejected (latent heat 2.45 MJ/kg, five cycles of concentration).
//
// The coefficients (Plant) are assumed practice figures; the structure is physics. The climate
// table is only a fallback. PUE counts server fans (5 to 15 % of an air-cooled node) as IT, so
// moving to liquid saves energy that PUE does not show; report energy per step or token beside it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/catalog/site_facts.h"
#include "layers/facility/climate.h"

namespace orrery::facility {

enum class HeatRejection { dry_cooler, tower };

// Watts per watt of heat moved, unless stated otherwise.
struct Plant {
  double perimeter_fans = 0.09;  // raised floor, no containment
  double contained_fans = 0.045;
  double door_fans = 0.02;  // active rear doors
  double pumps = 0.015;
  double cdu = 0.015;  // catalog: 1 to 2 %
  double dry_cooler_fans = 0.025;
  double tower_fans = 0.012;
  double misc = 0.01;  // share of IT: light, offices, controls
  double second_law = 0.5;
  double cop_lowest = 2.5;
  double cop_highest = 10;
  double loop_rise_k = 10;
};

struct PueRequest {
  Watts it;
  Watts electrical_loss;  // loss of the power chain at this load
  HeatRejection rejection = HeatRejection::dry_cooler;
  std::optional<double> supply_c;  // liquid temperature, or air temperature if there is no liquid
  Plant plant = {};
};

struct PuePart {
  std::string name;
  Watts power;
};

struct PueBreakdown {
  std::vector<PuePart> parts;  // fans, pumps, CDU, chiller, heat rejection, electrical loss, misc
  double pue = 1;
  double free_cooling = 0;  // share of the heat rejected without compressors
  double wue_l_per_kwh = 0;

  Watts overhead() const;
};

PueBreakdown compute_pue(const PueRequest& request, const catalog::CoolingMethod& method,
                         std::span<const WeatherPoint> weather);

struct PueRange {
  double low = 1;
  double middle = 1;
  double high = 1;
  std::string reference;
};

// Returns the row of the climate table, or the method's own range, for a site whose climate is
// unknown.
PueRange fallback_pue(std::span<const catalog::PueByClimate> table, std::string_view climate,
                      const catalog::CoolingMethod& method);

}  // namespace orrery::facility
