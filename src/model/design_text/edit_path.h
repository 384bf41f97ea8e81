// Splits a path of the design file into steps, and sets a value at a path of the parsed tree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

struct PathStep {
  std::string key;                   // for a map
  std::optional<std::size_t> index;  // for a list

  bool operator==(const PathStep&) const = default;
};

// Splits "fleet[0].count" into fleet, 0, count. `sites[0]` and `site` become the form that the file
// has.
Result<std::vector<PathStep>> steps_of(std::string_view path, const YamlNode& root);
std::string text_of(std::span<const PathStep> steps);

// Returns the child that a step leads to; nullptr if there is none.
const YamlNode* child_of(const YamlNode& at, const PathStep& step);
std::size_t place_in(const YamlNode& at, const PathStep& step);  // items.size() if there is none

// Returns the tree with the value set at the path, or removed if there is no value. Missing maps
// and lists are created.
Result<YamlNode> tree_with(YamlNode root, std::span<const PathStep> steps,
                           const std::optional<YamlNode>& value);

// Returns true if the trees are equal apart from places.
bool same_content(const YamlNode& a, const YamlNode& b);

}  // namespace orrery::design_text
