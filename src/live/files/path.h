// Paths below a folder, checked as text before anything is opened.
//
// A path from a listing, a manifest or a bucket's key may be hostile. It may name a file below a
// folder only if every part of it is an ordinary name: no "..", no ".", no empty part, nothing
// absolute, no NUL, and no longer than Linux allows.
#pragma once

#include <string>
#include <string_view>

namespace orrery::files {

inline constexpr std::size_t kNameBytesMax = 255;   // NAME_MAX of the usual file systems
inline constexpr std::size_t kPathBytesMax = 4000;  // below PATH_MAX, which counts the NUL
inline constexpr std::size_t kPathPartsMax = 60;    // each part is an open folder during a walk

// Returns what is wrong with a relative path ("it has a '..'"), or nothing if it may be used.
std::string path_fault(std::string_view path);

}  // namespace orrery::files
