#include "core/catalog/site_hours.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orrery::catalog {
namespace {

constexpr std::size_t kHoursOfDay = 24;
// Ten years of hours.
constexpr std::size_t kMostHours = 87'672;
constexpr std::size_t kMostFaults = 5;

// A column and its plausible range: no grid burns anything dirtier than oil shale and peat, and no
// place on land is hotter or colder.
struct Column {
  const char* name;
  double least;
  double most;
};
constexpr Column kCarbon{"carbon_g_per_kwh", 0, 2000};
constexpr Column kPue{"pue", 1, 5};
constexpr Column kDryBulb{"dry_bulb_c", -90, 60};

Diagnostic fault(const char* code, std::string what, std::string why, std::string fix) {
  return {.code = code,
          .place = {},
          .what = std::move(what),
          .why = std::move(why),
          .fix = std::move(fix)};
}

std::vector<double> values_of(const CsvTable& table, const Column& column, Diagnostics& faults) {
  std::vector<double> values;
  if (!table.column(column.name)) return values;
  for (const CsvRow& row : table.rows()) {
    const auto value = table.number(row, column.name);
    values.push_back(value.value_or(0));
    if (value && *value >= column.least && *value <= column.most) continue;
    if (faults.size() < kMostFaults) {
      faults.push_back(
          fault("hours.value",
                fmt::format("line {}: `{}` is not a valid {}", row.line,
                            table.text(row, column.name), column.name),
                "every hour is needed, and missing ones are not filled in",
                fmt::format("give a number from {} to {}", significant(column.least, 3),
                            significant(column.most, 4))));
    }
  }
  return values;
}

}  // namespace

std::size_t SiteHours::size() const { return std::max({carbon.size(), pue.size(), dry_c.size()}); }

Result<SiteHours> read_site_hours(std::string_view text, const std::string& file) {
  const auto table = CsvTable::parse(text, file);
  if (!table) return std::unexpected(table.error());
  Diagnostics faults;
  const auto has = [&](const Column& c) { return table->column(c.name).has_value(); };
  if (!has(kCarbon) && !has(kPue) && !has(kDryBulb)) {
    faults.push_back(fault("hours.column", "the file has no column with hourly data of a site",
                           "only columns with these names are used",
                           fmt::format("name {}, {} or {} in the first line", kCarbon.name,
                                       kPue.name, kDryBulb.name)));
  }
  if (has(kPue) && has(kDryBulb)) {
    faults.push_back(fault("hours.column",
                           fmt::format("the file has both {} and {}", kPue.name, kDryBulb.name),
                           "the PUE of an hour is either given or computed from the temperature",
                           "leave one out"));
  }
  const std::size_t rows = table->rows().size();
  if (rows == 0 || rows % kHoursOfDay != 0 || rows > kMostHours) {
    faults.push_back(fault("hours.days", fmt::format("the file has {} rows", rows),
                           "hours repeat from the end of the file, so it must hold whole days, ten "
                           "years at the most",
                           "give 24 rows for a day, 168 for a week, 8760 for a year"));
  }
  SiteHours hours{.pue = values_of(*table, kPue, faults),
                  .dry_c = values_of(*table, kDryBulb, faults)};
  std::ranges::transform(values_of(*table, kCarbon, faults), std::back_inserter(hours.carbon),
                         grams_per_kwh);
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return hours;
}

}  // namespace orrery::catalog
