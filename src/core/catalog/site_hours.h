// Hourly data that a site's owner provides, one row per hour: the grid's emissions and the plant's
// PUE.
//
// Rows are whole days of hours that start at midnight (a day, a week, a year); they then repeat. At
// least one of these columns must be present:
//   carbon_g_per_kwh   of the grid, location based
//   pue                of the site
//   dry_bulb_c         outdoors; the PUE of the hour is computed from it
// Other columns, such as a date, are ignored. No hours are shipped: grid operators and weather
// services publish them. Wrong by as much as the coming year differs from the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"

namespace orrery::catalog {

struct SiteHours {
  std::vector<GramsPerJoule> carbon;  // empty if the file has no such column; likewise the next two
  std::vector<double> pue;
  std::vector<double> dry_c;

  std::size_t size() const;  // number of hours, at least one day's
};

// Reports faults together, up to a limit: "hours.column", "hours.value", "hours.days" and those of
// a CSV table.
Result<SiteHours> read_site_hours(std::string_view text, const std::string& file);

}  // namespace orrery::catalog
