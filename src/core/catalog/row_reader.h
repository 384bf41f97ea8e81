// One row of a catalog table as typed values. Every fault is recorded with its file and line, and
// reading continues.
//
// Columns are mostly requested in file order, so the search for a name starts after the last one
// found: a row costs about one comparison per field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/quantity.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

class RowReader {
 public:
  // `table_name` begins the row's reference; `file` is the place of its faults.
  RowReader(const CsvView& row, std::string_view table_name, const std::string& file,
            Diagnostics& faults)
      : row_(row), table_name_(table_name), file_(file), faults_(faults) {}

  // Returns the row's id, which is the first column of every table.
  std::string id();
  std::string_view text(std::string_view column);
  std::string str(std::string_view column) { return std::string(text(column)); }
  std::vector<std::string> list(std::string_view column, char separator);

  // Returns nullopt for a blank; text that is not a number, or a negative number, is a fault.
  std::optional<double> maybe(std::string_view column);
  std::optional<int> maybe_int(std::string_view column);
  // Returns the number; a blank is a fault.
  double number(std::string_view column);
  int integer(std::string_view column);
  // Returns the number, or 0 for a blank.
  double number_or_zero(std::string_view column) { return maybe(column).value_or(0); }
  int integer_or_zero(std::string_view column) { return maybe_int(column).value_or(0); }

  // Returns a range in units of `scale` dollars; nullopt if both ends are blank. One blank end is a
  // fault.
  std::optional<PriceRange> price(std::string_view low, std::string_view high, double scale = 1);
  PriceRange need_price(std::string_view low, std::string_view high);
  Provenance provenance();
  Confidence confidence(std::string_view column);

  void fault(std::string code, std::string what, std::string why = {});

 private:
  std::string_view field(std::string_view column);
  std::string_view needed(std::string_view column);
  std::optional<double> parsed(std::string_view given, std::string_view column);
  std::optional<int> whole(std::optional<double> value, std::string_view column);

  const CsvView& row_;
  std::string_view table_name_;
  const std::string& file_;
  Diagnostics& faults_;
  std::size_t next_ = 0;
  std::string_view id_;
};

// Converts a figure with a unit factory; a missing figure stays missing.
template <class Factory>
auto in_unit(std::optional<double> v, Factory unit) -> std::optional<decltype(unit(1.0))> {
  if (!v) return std::nullopt;
  return unit(*v);
}

}  // namespace orrery::catalog
