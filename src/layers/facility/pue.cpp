#include "layers/facility/pue.h"

#include <algorithm>

namespace orrery::facility {

namespace {

constexpr double kTowerApproach = 4;
constexpr double kDryApproach = 7;
constexpr double kTowerLitresPerKwh = 1.84;
constexpr double kKelvinAtZeroC = 273.15;
// Temperature difference between facility water and the supply that it cools: air through a coil, a
// door's own coil, a CDU.
constexpr double kCoilApproach = 7;
constexpr double kDoorApproach = 2;
constexpr double kCduApproach = 4;
// Air temperature of a hall that also has liquid cooling, for the residual heat (catalog:
// air-contained).
constexpr double kHallAirC = 25;

enum class Carrier { perimeter_air, contained_air, door, cold_plate };

bool starts_with(const std::string& id, const char* prefix) { return id.rfind(prefix, 0) == 0; }

Carrier carrier_of(const catalog::CoolingMethod& m) {
  if (starts_with(m.id, "air-perimeter")) return Carrier::perimeter_air;
  if (starts_with(m.id, "rear-door")) return Carrier::door;
  return m.liquid_heat_fraction > 0 ? Carrier::cold_plate : Carrier::contained_air;
}

// One path of heat and the highest facility-water temperature it allows.
struct HeatPath {
  double share = 0;  // share of IT heat
  double water_c = 0;
};

// Per watt of IT.
struct PlantUse {
  double chiller = 0;
  double rejection = 0;
  double compressor_free = 0;
  double litres_per_kwh = 0;
};

double cop_at(double evaporator_c, double condenser_c, const Plant& plant) {
  const double lift = std::max(1.0, condenser_c - evaporator_c);
  const double cop = plant.second_law * (evaporator_c + kKelvinAtZeroC) / lift;
  return std::clamp(cop, plant.cop_lowest, plant.cop_highest);
}

void add_hour(PlantUse& use, const HeatPath& path, const WeatherPoint& w, const PueRequest& r) {
  const bool tower = r.rejection == HeatRejection::tower;
  const double available = tower ? w.wet_c + kTowerApproach : w.dry_c + kDryApproach;
  const double by_chiller = std::clamp((available - path.water_c) / r.plant.loop_rise_k, 0.0, 1.0);
  // The evaporator is 2 K below the water it makes, the condenser 7 K above the water or air that
  // cools it.
  const double cop = cop_at(path.water_c - 2, available + 7, r.plant);
  const double heat = path.share * w.share;
  const double compressor = heat * by_chiller / cop;
  const double rejected = heat + compressor;
  use.chiller += compressor;
  use.rejection += rejected * (tower ? r.plant.tower_fans : r.plant.dry_cooler_fans);
  use.compressor_free += heat * (1 - by_chiller);
  if (tower) use.litres_per_kwh += rejected * kTowerLitresPerKwh;
}

HeatPath liquid_path(const PueRequest& r, const catalog::CoolingMethod& m) {
  const double supply = r.supply_c.value_or(m.supply_temperature_c);
  const double approach = carrier_of(m) == Carrier::door ? kDoorApproach : kCduApproach;
  return {m.liquid_heat_fraction, supply - approach};
}

HeatPath air_path(const PueRequest& r, const catalog::CoolingMethod& m) {
  const bool all_air = m.liquid_heat_fraction == 0;
  const double air = all_air ? r.supply_c.value_or(m.supply_temperature_c) : kHallAirC;
  return {1 - m.liquid_heat_fraction, air - kCoilApproach};
}

double fan_share(const catalog::CoolingMethod& m, const Plant& plant) {
  const double air = 1 - m.liquid_heat_fraction;
  switch (carrier_of(m)) {
    case Carrier::perimeter_air:
      return plant.perimeter_fans;
    case Carrier::door:
      // With a passive door the server fans move the air.
      return air * plant.contained_fans +
             (starts_with(m.id, "rear-door-active") ? plant.door_fans : 0);
    case Carrier::contained_air:
    case Carrier::cold_plate:
      return air * plant.contained_fans;
  }
  return 0;
}

}  // namespace

Watts PueBreakdown::overhead() const {
  Watts sum;
  for (const PuePart& p : parts) sum += p.power;
  return sum;
}

PueBreakdown compute_pue(const PueRequest& request, const catalog::CoolingMethod& method,
                         std::span<const WeatherPoint> weather) {
  PlantUse use;
  for (const HeatPath& path : {liquid_path(request, method), air_path(request, method)}) {
    for (const WeatherPoint& w : weather) add_hour(use, path, w, request);
  }
  const Plant& plant = request.plant;
  const bool has_cdu = carrier_of(method) == Carrier::cold_plate;
  const double cdu = has_cdu ? plant.cdu * method.liquid_heat_fraction : 0;

  PueBreakdown result;
  result.parts = {{"fans", request.it * fan_share(method, plant)},
                  {"pumps", request.it * plant.pumps},
                  {"CDU", request.it * cdu},
                  {"chiller", request.it * use.chiller},
                  {"heat rejection", request.it * use.rejection},
                  {"electrical loss", request.electrical_loss},
                  {"misc", request.it * plant.misc}};
  result.pue = request.it > Watts() ? 1 + result.overhead() / request.it : 1;
  result.free_cooling = use.compressor_free;
  result.wue_l_per_kwh = use.litres_per_kwh;
  return result;
}

PueRange fallback_pue(std::span<const catalog::PueByClimate> table, std::string_view climate,
                      const catalog::CoolingMethod& method) {
  for (const catalog::PueByClimate& row : table) {
    if (row.climate == climate && row.cooling_id == method.id) {
      return {row.p10, row.p50, row.p90, row.provenance.reference};
    }
  }
  return {method.pue_low, (method.pue_low + method.pue_high) / 2, method.pue_high,
          method.provenance.reference};
}

}  // namespace orrery::facility
