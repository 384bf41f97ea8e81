// Checks of relative paths as text, before anything is opened.
//
// A path from a listing, a manifest or a bucket's key may be hostile. It may name a file below a
// folder only if every part of it is an ordinary name: no "..", no ".", no empty part, not
// absolute, no NUL byte, and not longer than Linux allows.
#pragma once

#include <string>
#include <string_view>

namespace orrery::files {

inline constexpr std::size_t kNameBytesMax = 255;   // NAME_MAX of common file systems
inline constexpr std::size_t kPathBytesMax = 4000;  // below PATH_MAX, which includes the NUL byte
inline constexpr std::size_t kPathPartsMax = 60;    // every part costs an open folder during a walk

// Returns what is wrong with a relative path ("the path contains a '..'"), or an empty text if it
// may be used.
std::string path_fault(std::string_view path);

}  // namespace orrery::files
