// The CSV reader never crashes, and a table that is written and read again is the same, except for
// blanks around fields and blank rows, which the reader ignores.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/csv.h"

namespace {

std::string line_of(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    line += orrery::csv_field(fields[i]);
  }
  return line + '\n';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = orrery::CsvTable::parse(text, "fuzz.csv");
  if (!table || table->columns().size() < 2) return 0;
  std::string written = line_of(table->columns());
  for (const orrery::CsvRow& row : table->rows()) written += line_of(row.fields);
  const auto again = orrery::CsvTable::parse(written, "fuzz.csv");
  if (!again || again->columns() != table->columns()) std::abort();
  if (again->rows().size() != table->rows().size()) std::abort();
  for (std::size_t i = 0; i < again->rows().size(); ++i) {
    for (const std::string& column : table->columns()) {
      if (again->text(again->rows()[i], column) != table->text(table->rows()[i], column)) {
        std::abort();
      }
    }
  }
  return 0;
}
