#include "layers/facility/hours.h"

namespace orrery::facility {

std::vector<WeatherPoint> weather_of(std::span<const double> dry_c) {
  std::vector<WeatherPoint> weather;
  for (const double c : dry_c) {
    // Plants here reject heat to dry coolers, so the wet bulb is not used.
    weather.push_back({.share = 1.0 / static_cast<double>(dry_c.size()), .dry_c = c, .wet_c = c});
  }
  return weather;
}

Hours hours_of(const catalog::SiteHours& file, const PueRequest& request,
               const catalog::CoolingMethod& method, const HoursElse& otherwise) {
  Hours hours{.pue = file.pue, .carbon = file.carbon};
  for (const double c : file.dry_c) {
    const WeatherPoint now{.share = 1, .dry_c = c, .wet_c = c};
    hours.pue.push_back(compute_pue(request, method, std::span(&now, 1)).pue);
  }
  hours.pue.resize(file.size(), otherwise.pue);
  hours.carbon.resize(file.size(), otherwise.carbon);
  return hours;
}

PueRange range_of(const catalog::SiteHours& file) {
  const double mean = mean_pue({.pue = file.pue, .carbon = {}});
  return {mean, mean, mean, "the site's hours"};
}

double mean_pue(const Hours& hours) {
  double sum = 0;
  for (const double p : hours.pue) sum += p;
  return hours.is_empty() ? 1 : sum / static_cast<double>(hours.pue.size());
}

GramsPerJoule mean_grams(const Hours& hours) {
  GramsPerJoule sum;
  for (std::size_t h = 0; h < hours.pue.size(); ++h) sum += hours.grams_at(h);
  return hours.is_empty() ? sum : sum / static_cast<double>(hours.pue.size());
}

GramsCo2 carbon_of(const Hours& hours, std::span<const Joules> it) {
  GramsCo2 sum;
  for (std::size_t h = 0; h < it.size(); ++h) sum += hours.grams_at(h) * it[h];
  return sum;
}

}  // namespace orrery::facility
