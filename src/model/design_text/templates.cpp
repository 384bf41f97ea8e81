#include "model/design_text/templates.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/catalog/embedded.h"

namespace orrery::design_text {
namespace {

constexpr std::string_view kFolder = "templates/";
constexpr std::string_view kExtension = ".yaml";

std::string_view first_comment(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.starts_with('#') ? trimmed(line.substr(1)) : std::string_view();
}

}  // namespace

std::vector<Template> templates() {
  std::vector<Template> all;
  for (const catalog::EmbeddedFile& file : catalog::embedded_files()) {
    if (!file.path.starts_with(kFolder) || !file.path.ends_with(kExtension)) continue;
    std::string_view name = file.path.substr(kFolder.size());
    name.remove_suffix(kExtension.size());
    all.push_back({name, first_comment(file.text), file.text});
  }
  return all;
}

std::optional<Template> find_template(std::string_view name) {
  const auto all = templates();
  const auto at = std::ranges::find(all, name, &Template::name);
  if (at == all.end()) return std::nullopt;
  return *at;
}

}  // namespace orrery::design_text
