// YAML text as a tree that knows where everything stands. Scalars stay text: what `0777` or `no`
// mean is decided by the field that reads them, never by YAML's own guesses.
//
// Limits hold before and during parsing, so that a hostile file costs milliseconds: size, UTF-8,
// depth of brackets (the parser looks ahead through them), depth of blocks, number of values, and
// what aliases expand to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/design/place_map.h"

namespace orrery::design_text {

// The largest design of our templates has 6 kB; a thousand fleets would have 200 kB.
inline constexpr std::size_t kMostDesignBytes = 1 << 20;
// The format itself needs 7 levels.
inline constexpr int kDeepestNesting = 32;
// Values after aliases are expanded.
inline constexpr std::size_t kMostValues = 50'000;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  struct Key {
    std::string text;
    design::Mark mark;
  };

  Kind kind = Kind::null;
  design::Mark mark;
  std::string text;             // of a scalar
  bool quoted = false;          // "1" is a text even where a number could stand
  std::vector<Key> keys;        // of a map: one for each item
  std::vector<YamlNode> items;  // of a list or a map
};

// nullopt where the text is no YAML that can be gone on with. Duplicate keys are reported and the
// first one is kept, so that the rest of the file is still checked.
std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                                   Diagnostics& faults);

}  // namespace orrery::design_text
