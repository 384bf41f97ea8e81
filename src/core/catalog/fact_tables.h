// Every table of data/catalog as written, including those without a struct: for `orrery catalog`,
// and for code that needs one published row. Loaded on request, so that `plan` does not pay for
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/knowledge.h"

namespace orrery::catalog {

struct TableTitle {
  std::string id;     // the file's name: "optics_cables"
  std::string group;  // "parts", "site", "money" ...
  std::string title;
};

// Returns the titles in the order of data/catalog_index.csv.
Result<std::vector<TableTitle>> catalog_titles(const Knowledge& knowledge);

// Returns the table named `name`; hyphens and underscores are interchangeable. For an unknown name
// the error suggests the nearest.
Result<CsvTable> catalog_table(const Knowledge& knowledge, std::string_view name);

// Returns the row whose id or alias is `id`, ignoring case; nullptr if there is none.
const CsvRow* row_by_id(const CsvTable& table, std::string_view id);
std::vector<std::string> row_ids(const CsvTable& table);

}  // namespace orrery::catalog
