// A site's hours as its owner has them: what its grid emits and what its plant takes, one row each.
//
// Rows are whole days of hours from a midnight on (a day, a week, a year), which then repeat. Of
// the columns at least one must be there:
//   carbon_g_per_kwh   of the grid, location based
//   pue                of the site
//   dry_bulb_c         outdoors, from which the PUE of the hour is computed
// Others, a date for instance, are left alone. No hours are shipped: grid operators and weather
// services publish them. Wrong by what the next year's hours differ from those of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"

namespace orrery::catalog {

struct SiteHours {
  std::vector<GramsPerJoule> carbon;  // empty where the file has no such column, as the next two
  std::vector<double> pue;
  std::vector<double> dry_c;

  std::size_t size() const;  // hours, at least a day's
};

// Every fault at once, up to a few: "hours.column", "hours.value", "hours.days", those of a table.
Result<SiteHours> read_site_hours(std::string_view text, const std::string& file);

}  // namespace orrery::catalog
