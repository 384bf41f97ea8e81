// A CSV table addressed by column name. Handles quoted fields, doubled quotes and CRLF, and keeps
// line numbers for messages.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery {

// One row of the text. The views are valid only during the call that receives them.
struct CsvView {
  const std::vector<std::string>& columns;
  int line = 0;                              // line in the file, from 1
  std::span<const std::string_view> fields;  // one per column, as written
};

// Calls `each` with every complete row, so a table is read once without copying its fields. Returns
// all errors: ragged rows, duplicate columns and unclosed quotes.
Diagnostics scan_csv(std::string_view text, const std::string& file,
                     const std::function<void(const CsvView&)>& each);

struct CsvRow {
  int line = 0;  // line in the file, from 1
  std::vector<std::string> fields;
};

class CsvTable {
 public:
  // Does the same as scan_csv and keeps the rows.
  static Result<CsvTable> parse(std::string_view text, std::string file);

  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<CsvRow>& rows() const { return rows_; }
  std::optional<std::size_t> column(std::string_view name) const;

  // Returns the field's text with blanks trimmed; empty if the column or the value is missing.
  std::string_view text(const CsvRow& row, std::string_view column) const;
  // Returns nullopt if the field is empty or not a number.
  std::optional<double> number(const CsvRow& row, std::string_view column) const;
  std::optional<std::int64_t> integer(const CsvRow& row, std::string_view column) const;

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::vector<CsvRow> rows_;
};

// Returns the field as CSV writes it, quoted if necessary.
std::string csv_field(std::string_view text);

}  // namespace orrery
