#include "layers/facility/cdu.h"

#include <cmath>

namespace orrery::facility {

namespace {

// L/min per kW at a temperature rise of 1 K.
double flow_constant(Coolant coolant) { return coolant == Coolant::water ? 14.3 : 15.2; }

}  // namespace

Kelvins coolant_rise(Watts heat, double flow_l_per_min, Coolant coolant) {
  return kelvins(flow_constant(coolant) * (heat / kilowatts(1)) / flow_l_per_min);
}

CduPlan plan_cdu(const CduRequest& request, std::span<const catalog::AshraeClass> classes) {
  CduPlan plan;
  plan.facility_water_c = request.supply_c - request.approach.base();
  for (const catalog::AshraeClass& c : classes) {
    // A class guarantees water no warmer than its upper limit. The table is in rising order, so the
    // last class that fits is the warmest, and the cheapest to provide.
    if (c.kind == "facility water" && c.high_c <= plan.facility_water_c) plan.water_class = c.id;
  }
  const double per_kw = request.flow_l_per_min_per_kw;
  plan.flow_in_range = per_kw >= kLowestFlowPerKw && per_kw <= kHighestFlowPerKw;
  if (request.heat <= Watts()) return plan;

  plan.flow_l_per_min = per_kw * (request.heat / kilowatts(1));
  plan.rise = coolant_rise(request.heat, plan.flow_l_per_min, request.coolant);
  plan.units = static_cast<int>(std::ceil(request.heat / request.unit_capacity - 1e-9));
  plan.units_installed = plan.units + request.spare_units;
  plan.power = request.heat * request.parasitic;
  // 60 / k is the heat one litre takes up per kelvin, in kJ.
  const double kj_per_l_k = 60 / flow_constant(request.coolant);
  plan.ride_through = seconds(request.loop_l_per_kw * kj_per_l_k * request.margin.base());
  return plan;
}

}  // namespace orrery::facility
