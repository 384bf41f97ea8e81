#include "core/catalog/knowledge.h"

#include <algorithm>
#include <string>

#include "core/catalog/missing_file.h"

namespace orrery::catalog {

Result<std::string_view> Knowledge::text(std::string_view path) const {
  const auto at = std::ranges::lower_bound(files, path, {}, &EmbeddedFile::path);
  if (at == files.end() || at->path != path) return missing_file(path);
  return at->text;
}

Result<CsvTable> Knowledge::table(std::string_view path) const {
  const auto found = text(path);
  if (!found) return std::unexpected(found.error());
  return CsvTable::parse(*found, std::string(path));
}

Result<Knowledge> load_knowledge(std::span<const EmbeddedFile> files) {
  Knowledge all{.catalog = {}, .files = files};
  auto catalog = load_catalog([&all](std::string_view path) -> Result<std::string> {
    const auto text = all.text(path);
    if (!text) return std::unexpected(text.error());
    return std::string(*text);
  });
  if (!catalog) return std::unexpected(std::move(catalog.error()));
  all.catalog = std::move(*catalog);
  return all;
}

}  // namespace orrery::catalog
