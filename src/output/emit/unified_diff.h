// Two texts as a unified diff: the output of `diff -u`, by Myers' shortest edit script (1986).
//
// The search stops at a limit of edits. Beyond it the texts have too little in common for a
// comparison by line, and the diff shows the old text as removed and the new one as added.
#pragma once

#include <string>
#include <string_view>

namespace orrery::emit {

struct TextPair {
  std::string path;
  std::string_view before;
  std::string_view after;
  bool is_new = false;   // the file did not exist
  bool is_gone = false;  // the file will be removed
};

// Returns "--- a/path", "+++ b/path" (/dev/null for none) and hunks with three lines of context;
// empty if the texts are equal. Control characters of the texts are shown as `?`.
std::string unified_diff(const TextPair& pair);

}  // namespace orrery::emit
