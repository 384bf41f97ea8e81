// Elapsed time on the monotonic clock, for probes.
#pragma once

#include <chrono>

namespace orrery::agent {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace orrery::agent
