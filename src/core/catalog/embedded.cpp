#include "core/catalog/embedded.h"

#include <algorithm>

namespace orrery::catalog {

std::optional<std::string_view> embedded_file(std::string_view path) {
  const auto files = embedded_files();
  const auto at = std::ranges::lower_bound(files, path, {}, &EmbeddedFile::path);
  if (at == files.end() || at->path != path) return std::nullopt;
  return at->text;
}

}  // namespace orrery::catalog
