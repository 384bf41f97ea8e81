// Templates: reference architectures and common cases to start a design from, in data/templates.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace orrery::design_text {

struct Template {
  std::string_view name;     // "superpod-h100"
  std::string_view summary;  // the first comment of the file
  std::string_view text;
};

// Returns all templates, sorted by name.
std::vector<Template> templates();
std::optional<Template> find_template(std::string_view name);

}  // namespace orrery::design_text
