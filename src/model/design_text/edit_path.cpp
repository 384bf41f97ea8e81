#include "model/design_text/edit_path.h"

#include <algorithm>

#include "core/base/text.h"

namespace orrery::design_text {
namespace {

std::unexpected<Diagnostics> no_path(std::string what, std::string fix) {
  return fail({.code = "edit.path", .what = std::move(what), .fix = std::move(fix)});
}

// Reads one piece between dots: a key, then any number of [n].
bool read_piece(std::string_view piece, std::vector<PathStep>& steps) {
  const std::size_t bracket = std::min(piece.find('['), piece.size());
  if (bracket == 0) return false;
  steps.push_back({std::string(piece.substr(0, bracket)), std::nullopt});
  piece.remove_prefix(bracket);
  while (!piece.empty()) {
    const std::size_t close = piece.find(']');
    if (piece.front() != '[' || close == std::string_view::npos) return false;
    const auto number = parse_integer(piece.substr(1, close - 1));
    if (!number || *number < 0) return false;
    steps.push_back({{}, static_cast<std::size_t>(*number)});
    piece.remove_prefix(close + 1);
  }
  return true;
}

// Splits a path at its dots. A MIG profile has a dot in its name: "fleet[1].mig.3g.71gb" ends in
// the key 3g.71gb.
std::vector<std::string_view> pieces_of(std::string_view path) {
  std::vector<std::string_view> pieces = split(path, '.');
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    // Only a MIG profile begins with a digit.
    if (pieces[i].empty() || pieces[i].front() < '0' || pieces[i].front() > '9') continue;
    pieces[i] = std::string_view(pieces[i].data(), pieces[i].size() + 1 + pieces[i + 1].size());
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return pieces;
}

bool has_key(const YamlNode& root, std::string_view key) {
  return std::ranges::find(root.keys, key, &YamlNode::Key::text) != root.keys.end();
}

// A file has `site` or `sites`; a path may use either word.
void follow_the_file(const YamlNode& root, std::vector<PathStep>& steps) {
  const bool first = steps.size() > 1 && steps[1].index == 0U;
  if (steps[0].key == "sites" && first && !has_key(root, "sites")) {
    steps[0].key = "site";
    steps.erase(steps.begin() + 1);
  } else if (steps[0].key == "site" && !has_key(root, "site") && has_key(root, "sites")) {
    steps[0].key = "sites";
    steps.insert(steps.begin() + 1, {{}, 0});
  }
}

using Kind = YamlNode::Kind;

// An empty value becomes the container that the next step needs.
bool make_container(YamlNode& at, const PathStep& step) {
  const Kind wanted = step.index ? Kind::list : Kind::map;
  if (at.kind == Kind::null) at.kind = wanted;
  return at.kind == wanted;
}

bool set_in(YamlNode& at, std::span<const PathStep> steps, const std::optional<YamlNode>& value) {
  const PathStep& step = steps.front();
  if (!make_container(at, step)) return false;
  const std::size_t i = place_in(at, step);
  if (step.index && i == at.items.size() && *step.index != i) return false;
  if (i == at.items.size()) {
    if (!value) return true;
    at.items.emplace_back();
    if (!step.index) at.keys.push_back({step.key, {}});
  }
  if (steps.size() > 1) return set_in(at.items[i], steps.subspan(1), value);
  if (value) {
    at.items[i] = *value;
    return true;
  }
  at.items.erase(at.items.begin() + static_cast<std::ptrdiff_t>(i));
  if (!step.index) at.keys.erase(at.keys.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

}  // namespace

Result<std::vector<PathStep>> steps_of(std::string_view path, const YamlNode& root) {
  std::vector<PathStep> steps;
  bool good = path.size() <= 256;
  if (good) {
    for (const std::string_view piece : pieces_of(path)) good = good && read_piece(piece, steps);
  }
  if (!good || steps.size() > kDeepestNesting) {
    return no_path("`" + std::string(path.substr(0, 80)) + "` is not a path of a design",
                   "write keys separated by dots, and entries as [0]: fleet[0].count");
  }
  follow_the_file(root, steps);
  return steps;
}

std::string text_of(std::span<const PathStep> steps) {
  std::string text;
  for (const PathStep& s : steps) {
    if (s.index) {
      text += '[' + std::to_string(*s.index) + ']';
    } else {
      text += (text.empty() ? "" : ".") + s.key;
    }
  }
  return text;
}

std::size_t place_in(const YamlNode& at, const PathStep& step) {
  if (step.index) {
    return at.kind == Kind::list ? std::min(*step.index, at.items.size()) : at.items.size();
  }
  const auto key = std::ranges::find(at.keys, step.key, &YamlNode::Key::text);
  return static_cast<std::size_t>(key - at.keys.begin());
}

const YamlNode* child_of(const YamlNode& at, const PathStep& step) {
  if (step.index ? at.kind != Kind::list : at.kind != Kind::map) return nullptr;
  const std::size_t i = place_in(at, step);
  return i < at.items.size() ? &at.items[i] : nullptr;
}

Result<YamlNode> tree_with(YamlNode root, std::span<const PathStep> steps,
                           const std::optional<YamlNode>& value) {
  if (set_in(root, steps, value)) return root;
  return no_path("no part of the file can hold `" + text_of(steps) + "`",
                 "entries of a list are added one after the other, and only sections have keys");
}

bool same_content(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.quoted != b.quoted) return false;
  if (!std::ranges::equal(a.keys, b.keys, {}, &YamlNode::Key::text, &YamlNode::Key::text)) {
    return false;
  }
  return std::ranges::equal(a.items, b.items, same_content);
}

}  // namespace orrery::design_text
