// Two texts as a unified diff: what `diff -u` prints, by Myers' shortest edit script (1986).
//
// The script is searched to a bound of edits; beyond it the texts have too little in common for a
// line-by-line account and the old one is shown as gone, the new one as added.
#pragma once

#include <string>
#include <string_view>

namespace orrery::emit {

struct TextPair {
  std::string path;
  std::string_view before;
  std::string_view after;
  bool is_new = false;   // there was no file
  bool is_gone = false;  // there will be none
};

// "--- a/path", "+++ b/path" (/dev/null for none), hunks with three lines of context; empty where
// the texts are equal. Control characters of the texts are shown as `?`.
std::string unified_diff(const TextPair& pair);

}  // namespace orrery::emit
