// A file of data/ as a Result, whole or as a table: for code that cannot go on without it.
// The emitters and the exporter read their texts so; everything else is handed a Knowledge.
//
// A build that lacks one of its files is told of like any other fault. Faults within a table are
// placed at its path below data/.
#pragma once

#include <string>
#include <string_view>

#include "core/base/csv.h"

namespace orrery::catalog {

// `path` as in EmbeddedFile: "catalog/nodes.csv".
Result<std::string> embedded_text(std::string_view path);
Result<CsvTable> embedded_table(std::string_view path);

}  // namespace orrery::catalog
