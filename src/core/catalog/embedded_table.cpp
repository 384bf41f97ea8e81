#include "core/catalog/embedded_table.h"

#include "core/catalog/embedded.h"
#include "core/catalog/missing_file.h"

namespace orrery::catalog {
Result<std::string> embedded_text(std::string_view path) {
  if (const auto text = embedded_file(path)) return std::string(*text);
  return missing_file(path);
}

Result<CsvTable> embedded_table(std::string_view path) {
  if (const auto text = embedded_file(path)) return CsvTable::parse(*text, std::string(path));
  return missing_file(path);
}

}  // namespace orrery::catalog
