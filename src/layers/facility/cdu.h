// Coolant distribution: flow, temperatures, redundancy, ride-through.
//
//   rise [K]     = k * heat [kW] / flow [L/min]    k = 60 / (rho cp): 14.3 water, 15.2 PG25
//   ride-through = volume rho cp margin / heat     time until the coolant is warmer by `margin`
//
// The design point of the OCP liquid guideline is 1.5 L/min per kW (a rise of about 10 K), range
// 1.25 to 2.0: 150 L/min for 100 kW. Sources: data/catalog/cdu_sizing.csv. Wrong for two-phase
// loops, in which heat of evaporation carries most, and for racks that throttle their own valves.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/base/quantity.h"
#include "core/catalog/site_facts.h"

namespace orrery::facility {

enum class Coolant { water, pg25 };

inline constexpr double kDesignFlowPerKw = 1.5;  // L/min
inline constexpr double kLowestFlowPerKw = 1.25;
inline constexpr double kHighestFlowPerKw = 2.0;

Kelvins coolant_rise(Watts heat, double flow_l_per_min, Coolant coolant);

struct CduRequest {
  Watts heat;  // heat into the liquid, of all racks on the loop
  double flow_l_per_min_per_kw = kDesignFlowPerKw;
  Coolant coolant = Coolant::pg25;
  double supply_c = 32;                // coolant temperature at the racks
  Kelvins approach = kelvins(4);       // from facility water to supply: 3 to 5
  Watts unit_capacity = megawatts(1);  // row units carry 0.8 to 2.3 MW
  int spare_units = 1;                 // N+1 per row
  double parasitic = 0.015;            // share of the heat moved: 1 to 2 %
  double loop_l_per_kw = 0.7;          // coolant in pipes and plates; assumed
  Kelvins margin = kelvins(10);        // temperature rise before the racks trip; assumed
};

struct CduPlan {
  double flow_l_per_min = 0;
  Kelvins rise;
  int units = 0;  // units needed to carry the heat
  int units_installed = 0;
  Watts power;  // pumps and controls
  double facility_water_c = 0;
  // Warmest ASHRAE W class that still cools it; empty: needs colder water than any class.
  std::string water_class;
  Seconds ride_through;
  bool flow_in_range = true;
};

CduPlan plan_cdu(const CduRequest& request, std::span<const catalog::AshraeClass> classes);

}  // namespace orrery::facility
