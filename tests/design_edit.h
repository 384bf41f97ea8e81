// Edits of a design's text by path, as a finding's `edit` or a person with an editor makes them.
//
//   apply(text, {{"workloads[0].train.batch", "1000"}, {"goals", ""}})
// An empty value takes the key away. A path may stand on what the file leaves out: missing maps are
// made. "sites[0]" is `site` where the file has a single one.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct TextEdit {
  std::string path;
  std::string value;
};

// "workloads[0].train" -> workloads, 0, train.
inline std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps(1);
  for (const char c : path) {
    if (c == '.' || c == '[') {
      steps.emplace_back();
    } else if (c != ']') {
      steps.back() += c;
    }
  }
  return steps;
}

inline void apply_edit(YAML::Node root, const TextEdit& edit) {
  std::vector<std::string> steps = steps_of(edit.path);
  if (steps.size() > 1 && steps[0] == "sites" && !root["sites"]) {
    steps.erase(steps.begin() + 1);
    steps[0] = "site";
  }
  YAML::Node at = root;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    YAML::Node next =
        at.IsSequence() ? at[std::strtoul(steps[i].c_str(), nullptr, 10)] : at[steps[i]];
    at.reset(next);
  }
  if (edit.value.empty()) {
    at.remove(steps.back());
  } else if (at.IsSequence()) {
    at[std::strtoul(steps.back().c_str(), nullptr, 10)] = YAML::Load(edit.value);
  } else {
    at[steps.back()] = YAML::Load(edit.value);
  }
}

inline std::string apply_edits(const std::string& text, const std::vector<TextEdit>& edits) {
  YAML::Node root = YAML::Load(text);
  for (const TextEdit& e : edits) apply_edit(root, e);
  return YAML::Dump(root);
}

}  // namespace orrery
