// How a site's hourly PUE and grid intensity act on the energy drawn in each hour.
//
//   site energy = sum over hours of IT(h) PUE(h);   carbon = sum of IT(h) PUE(h) intensity(h)
// A constant draw emits the mean of PUE x intensity, which is not the product of the two means: on
// hot afternoons both may be high, or solar power may lower one while heat raises the other. Hours
// repeat after the last one. PUE is that of the mean load; how it varies with the load of the hour
// is not modelled.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/catalog/site_hours.h"
#include "layers/facility/pue.h"

namespace orrery::facility {

struct Hours {
  std::vector<double> pue;  // equal lengths; empty: no hourly data
  std::vector<GramsPerJoule> carbon;

  bool is_empty() const { return pue.empty(); }
  double pue_at(std::size_t hour) const { return pue[hour % pue.size()]; }
  GramsPerJoule carbon_at(std::size_t hour) const { return carbon[hour % carbon.size()]; }
  // Returns the emissions per joule of IT energy.
  GramsPerJoule grams_at(std::size_t hour) const { return carbon_at(hour) * pue_at(hour); }
};

// Values for columns that the file does not have.
struct HoursElse {
  double pue = 1;
  GramsPerJoule carbon;
};
// Takes the PUE of an hour from the file, or computes it from the outdoor temperature.
Hours hours_of(const catalog::SiteHours& file, const PueRequest& request,
               const catalog::CoolingMethod& method, const HoursElse& otherwise);

// Returns the PUE of a file with a PUE column, for a constant draw.
PueRange range_of(const catalog::SiteHours& file);

// Returns the mean PUE for a constant draw.
double mean_pue(const Hours& hours);
GramsPerJoule mean_grams(const Hours& hours);  // per joule of IT energy, for a constant draw
// Returns the emissions of hourly IT energies, starting at the first hour.
GramsCo2 carbon_of(const Hours& hours, std::span<const Joules> it);

// Returns the weather of the hours, each with an equal share.
std::vector<WeatherPoint> weather_of(std::span<const double> dry_c);

}  // namespace orrery::facility
