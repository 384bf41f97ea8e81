// For tests of journals that are too long.
#pragma once


#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

namespace orrery::cli {

inline constexpr std::size_t kCutAbove = std::size_t{16} * 1024 * 1024;

// Pads the last line with blanks until the journal has `bytes`.
inline std::string padded(const std::string& journal, const std::string& end, std::size_t bytes) {
  return journal + std::string(bytes - journal.size() - end.size(), ' ') + end;
}

}  // namespace orrery::cli
