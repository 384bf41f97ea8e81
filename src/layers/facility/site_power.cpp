#include "layers/facility/site_power.h"

namespace orrery::facility {

namespace {

// Uncertainty of a computed PUE's overhead, on either side: the spread of the climate table's rows
// around their middle, which covers the eight rows that we computed.
constexpr double kOverheadSpread = 0.3;

Diagnostic unknown(const char* code, const char* kind, const std::string& id) {
  return {.code = code,
          .place = {},
          .what = std::string("no ") + kind + " '" + id + "' in the catalog",
          .why = "",
          .fix = ""};
}

PueRange computed_range(double pue) {
  const double overhead = pue - 1;
  return {1 + overhead * (1 - kOverheadSpread), pue, 1 + overhead * (1 + kOverheadSpread),
          "docs/models/pue.md"};
}

std::vector<WeatherPoint> weather_for(const SitePowerRequest& request) {
  if (request.hours != nullptr && !request.hours->dry_c.empty()) {
    return weather_of(request.hours->dry_c);
  }
  const auto climate = climate_of(request.climate);
  return climate ? weather_of(*climate) : std::vector<WeatherPoint>();
}

}  // namespace

Result<SitePower> site_power(const catalog::Catalog& catalog, const SitePowerRequest& request) {
  const catalog::CoolingMethod* method = catalog.cooling(request.cooling_id);
  const catalog::Redundancy* redundancy = catalog.redundancy(request.redundancy_id);
  Diagnostics faults;
  if (method == nullptr) {
    faults.push_back(unknown("site.cooling", "cooling method", request.cooling_id));
  }
  if (redundancy == nullptr) {
    faults.push_back(unknown("site.redundancy", "redundancy scheme", request.redundancy_id));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));

  SitePower site;
  const Watts mean = request.mean > Watts() ? request.mean : request.design;
  site.chain = run_chain(chain_of(catalog, request.chain_ids, request.redundancy_id),
                         {.design = request.design,
                          .load = mean,
                          .capacity_multiplier = redundancy->capacity_multiplier});
  const PueRequest plant{.it = mean,
                         .electrical_loss = site.chain.loss,
                         .rejection = request.rejection,
                         .supply_c = request.supply_c};
  const auto weather = weather_for(request);
  if (!weather.empty()) {
    site.breakdown = compute_pue(plant, *method, weather);
    site.computed = true;
    site.pue = computed_range(site.breakdown.pue);
    site.wue_l_per_kwh = site.breakdown.wue_l_per_kwh;
  } else {
    site.pue = fallback_pue(catalog.pue_by_climate, request.climate, *method);
    site.wue_l_per_kwh = (method->wue_low_l_per_kwh + method->wue_high_l_per_kwh) / 2;
  }
  if (request.pue) {
    site.pue = {*request.pue, *request.pue, *request.pue, "design"};
    site.computed = false;
  }
  if (request.hours != nullptr) {
    site.hours =
        hours_of(*request.hours, plant, *method, {.pue = site.pue.middle, .carbon = request.grid});
    if (!request.hours->pue.empty()) site.pue = range_of(*request.hours);
  }
  site.site_draw = mean * site.pue.middle;
  return site;
}

}  // namespace orrery::facility
