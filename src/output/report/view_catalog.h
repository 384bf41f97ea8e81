// The catalog as JSON: its tables, the rows of a table, or one row. `orrery catalog --format json`
// prints what the console's routes answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/knowledge.h"

namespace orrery::report {

// A table of the catalog and the selected rows.
struct CatalogRows {
  std::string name;  // name of the table's file: "optics_cables"
  CsvTable table;
  std::vector<CsvRow> rows;  // all rows, or the one with the given id
};

// Finds a table, and the row of `id` (or of an alias) unless that is empty. Fails with
// "catalog.table", which says which table has a row of this name, or with "catalog.row".
Result<CatalogRows> catalog_rows(const catalog::Knowledge& knowledge, std::string_view table,
                                 std::string_view id);
// Returns for each column whether every field that is not empty is a number.
std::vector<bool> numeric_columns(const CsvTable& table);

std::string json_of(const CatalogRows& rows);
// Returns all tables with their sizes if `table` is empty, else the same as catalog_rows().
Result<std::string> catalog_view_json(const catalog::Knowledge& knowledge, std::string_view table,
                                      std::string_view id);

}  // namespace orrery::report
