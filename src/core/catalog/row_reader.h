// One row of a catalog table as typed values; every fault is noted with its file and line, and
// reading goes on.
//
// Columns are asked for mostly in the order in which the file has them, so the search for a name
// begins after the last one found: a row costs about one comparison a field.
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
  // `table_name` begins the row's reference, `file` the place of its faults.
  RowReader(const CsvView& row, std::string_view table_name, const std::string& file,
            Diagnostics& faults)
      : row_(row), table_name_(table_name), file_(file), faults_(faults) {}

  // The row's id; every table has one, first.
  std::string id();
  std::string_view text(std::string_view column);
  std::string str(std::string_view column) { return std::string(text(column)); }
  std::vector<std::string> list(std::string_view column, char separator);

  // A blank is nullopt; text that is no number, or a negative one, is a fault.
  std::optional<double> maybe(std::string_view column);
  std::optional<int> maybe_int(std::string_view column);
  // A blank is a fault.
  double number(std::string_view column);
  int integer(std::string_view column);
  // A blank is 0.
  double number_or_zero(std::string_view column) { return maybe(column).value_or(0); }
  int integer_or_zero(std::string_view column) { return maybe_int(column).value_or(0); }

  // In units of `scale` dollars; both blank is nullopt, one blank a fault.
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

// A figure in the unit that a factory names; a missing one stays missing.
template <class Factory>
auto in_unit(std::optional<double> v, Factory unit) -> std::optional<decltype(unit(1.0))> {
  if (!v) return std::nullopt;
  return unit(*v);
}

}  // namespace orrery::catalog
