// YAML text as a tree with the place of every value. Scalars stay text: the field that reads `0777`
// or `no` decides what it means, never YAML's own rules.
//
// Limits hold before and during parsing, so a hostile file costs only milliseconds: size, UTF-8,
// depth of brackets (the parser looks ahead through them), depth of blocks, number of values, and
// the size of expanded aliases.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/design/place_map.h"

namespace orrery::design_text {

// Largest file: our largest template has 6 kB, and a thousand fleets would have 200 kB.
inline constexpr std::size_t kMostDesignBytes = 1 << 20;
// Deepest nesting: the format itself needs 7 levels.
inline constexpr int kDeepestNesting = 32;
// Most values, after aliases are expanded.
inline constexpr std::size_t kMostValues = 50'000;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  struct Key {
    std::string text;
    design::Mark mark;
  };

  Kind kind = Kind::null;
  design::Mark mark;
  std::string text;             // for a scalar
  bool quoted = false;          // "1" is a text even where a number is allowed
  std::vector<Key> keys;        // for a map: one key per item
  std::vector<YamlNode> items;  // for a list or a map
};

// Parses the text. Returns nullopt if it is not YAML or cannot be parsed further. Duplicate keys
// are reported and the first one is kept, so that the rest of the file is still checked.
std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                                   Diagnostics& faults);

}  // namespace orrery::design_text
