// For tests of journals that are too long.
#pragma once

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

namespace orrery::cli {

inline constexpr std::size_t kCutAbove = std::size_t{16} * 1024 * 1024;

// With blanks before the end of its last line, so many that the whole has `bytes`.
inline std::string padded(const std::string& journal, const std::string& end, std::size_t bytes) {
  return journal + std::string(bytes - journal.size() - end.size(), ' ') + end;
}

}  // namespace orrery::cli
