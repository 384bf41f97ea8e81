#include "cli/session.h"

namespace orrery {

Result<std::unique_ptr<const Knowledge>> load_knowledge() {
  auto catalog = load_embedded_catalog();
  if (!catalog) return std::unexpected(std::move(catalog.error()));
  auto all = std::make_unique<Knowledge>();
  all->catalog = std::move(*catalog);
  auto models = load_models(all->catalog);
  if (!models) return std::unexpected(std::move(models.error()));
  all->models = std::move(*models);
  return all;
}

Result<design::Design> load_design(const std::string& path, const Catalog& catalog,
                                   Terminal& terminal) {
  const auto text = terminal.read_file(path);
  if (!text) return std::unexpected(text.error());
  Diagnostics warnings;
  auto design = design::read_design(
      *text, catalog,
      {.file = path,
       .read_file = [&](std::string_view p) { return terminal.read_file(std::string(p)); }},
      &warnings);
  terminal.err << to_text(warnings);
  return design;
}

}  // namespace orrery
