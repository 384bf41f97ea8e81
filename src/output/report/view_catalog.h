// The catalog as JSON: its tables, the rows of a table, or one row. `orrery catalog --format json`
// prints what the console's routes answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/knowledge.h"

namespace orrery::report {

// A table of the catalog and those of its rows that were asked for.
struct CatalogRows {
  std::string name;  // of the table's file: "optics_cables"
  CsvTable table;
  std::vector<CsvRow> rows;  // all, or the one of an id
};

// Finds a table, and the row of `id` (or of an alias) unless that is empty. Faults:
// "catalog.table", which says in which table a row of this name is, and "catalog.row".
Result<CatalogRows> catalog_rows(const catalog::Knowledge& knowledge, std::string_view table,
                                 std::string_view id);
// By column: whether every field that is not empty is a number.
std::vector<bool> numeric_columns(const CsvTable& table);

std::string json_of(const CatalogRows& rows);
// All tables with their sizes if `table` is empty, else as catalog_rows().
Result<std::string> catalog_view_json(const catalog::Knowledge& knowledge, std::string_view table,
                                      std::string_view id);

}  // namespace orrery::report
