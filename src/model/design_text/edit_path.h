// A path of the design file taken apart, and what setting a value at it means for the parsed tree.
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
  std::string key;                   // of a map
  std::optional<std::size_t> index;  // of a list

  bool operator==(const PathStep&) const = default;
};

// "fleet[0].count" -> fleet, 0, count. `sites[0]` and `site` are turned into what the file has.
Result<std::vector<PathStep>> steps_of(std::string_view path, const YamlNode& root);
std::string text_of(std::span<const PathStep> steps);

// The child a step leads to; nullptr where there is none.
const YamlNode* child_of(const YamlNode& at, const PathStep& step);
std::size_t place_in(const YamlNode& at, const PathStep& step);  // items.size() where there is none

// The tree with the value at the path (none: taken away). Missing maps and lists are made.
Result<YamlNode> tree_with(YamlNode root, std::span<const PathStep> steps,
                           const std::optional<YamlNode>& value);

// Places apart.
bool same_content(const YamlNode& a, const YamlNode& b);

}  // namespace orrery::design_text
