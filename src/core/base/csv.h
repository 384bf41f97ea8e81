// A CSV table by column name: quoted fields, doubled quotes, CRLF; line numbers kept for messages.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery {

// A row as it stands in the text; the views live as long as the call that is given it.
struct CsvView {
  const std::vector<std::string>& columns;
  int line = 0;                              // of the file, from 1
  std::span<const std::string_view> fields;  // one a column, as written
};

// Calls `each` with every whole row. Ragged rows, a duplicate column and an unclosed quote are
// errors, all given back. A table is thus read once without a copy of its fields.
Diagnostics scan_csv(std::string_view text, const std::string& file,
                     const std::function<void(const CsvView&)>& each);

struct CsvRow {
  int line = 0;  // of the file, from 1
  std::vector<std::string> fields;
};

class CsvTable {
 public:
  // As scan_csv, kept.
  static Result<CsvTable> parse(std::string_view text, std::string file);

  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<CsvRow>& rows() const { return rows_; }
  std::optional<std::size_t> column(std::string_view name) const;

  // The field's text with blanks trimmed; empty where the column or the value is missing.
  std::string_view text(const CsvRow& row, std::string_view column) const;
  // nullopt where empty or not a number.
  std::optional<double> number(const CsvRow& row, std::string_view column) const;
  std::optional<std::int64_t> integer(const CsvRow& row, std::string_view column) const;

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::vector<CsvRow> rows_;
};

// A field as CSV writes it: quoted when it must be.
std::string csv_field(std::string_view text);

}  // namespace orrery
