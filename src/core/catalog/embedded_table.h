// Returns a file of data/ as a Result, as text or as a table, for code that cannot work without it.
// The emitters and the exporter read their texts this way; everything else receives a Knowledge.
//
// A file missing from the build is reported like any other fault. Faults inside a table name the
// table's path below data/.
#pragma once

#include <string>
#include <string_view>

#include "core/base/csv.h"

namespace orrery::catalog {

// `path` is as in EmbeddedFile: "catalog/nodes.csv".
Result<std::string> embedded_text(std::string_view path);
Result<CsvTable> embedded_table(std::string_view path);

}  // namespace orrery::catalog
