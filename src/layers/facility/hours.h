// What the hours of a site make of the energy drawn in them.
//
//   site energy = sum over hours of IT(h) PUE(h);   carbon = sum of IT(h) PUE(h) intensity(h)
// A draw that is the same all day emits the mean of PUE x intensity, which is not the product of
// the two means: hot afternoons are dear in both, or the sun mends one while it spoils the other.
// Hours repeat from their end. PUE is that of the mean load; how it moves with the load of the hour
// is not in it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/catalog/site_hours.h"
#include "layers/facility/pue.h"

namespace orrery::facility {

struct Hours {
  std::vector<double> pue;  // of equal length; empty: nothing is known by the hour
  std::vector<GramsPerJoule> carbon;

  bool is_empty() const { return pue.empty(); }
  double pue_at(std::size_t hour) const { return pue[hour % pue.size()]; }
  GramsPerJoule carbon_at(std::size_t hour) const { return carbon[hour % carbon.size()]; }
  // Of a joule of IT.
  GramsPerJoule grams_at(std::size_t hour) const { return carbon_at(hour) * pue_at(hour); }
};

// What stands where the file has no column for it.
struct HoursElse {
  double pue = 1;
  GramsPerJoule carbon;
};
// The PUE of an hour is the file's, or computed from the temperature outdoors.
Hours hours_of(const catalog::SiteHours& file, const PueRequest& request,
               const catalog::CoolingMethod& method, const HoursElse& otherwise);

// The mean of a file that has PUE itself, for a draw that is the same all day.
PueRange range_of(const catalog::SiteHours& file);

// Of a draw that is the same all day.
double mean_pue(const Hours& hours);
GramsPerJoule mean_grams(const Hours& hours);  // of a joule of IT
// Of energies by the hour, from the first on.
GramsCo2 carbon_of(const Hours& hours, std::span<const Joules> it);

// The weather of the hours, each an equal share.
std::vector<WeatherPoint> weather_of(std::span<const double> dry_c);

}  // namespace orrery::facility
