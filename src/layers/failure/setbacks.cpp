#include "layers/failure/setbacks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::failure {

std::int64_t Setback::lost_ns(std::int64_t now_ns) const {
  const std::int64_t span = std::min(now_ns, to_ns) - from_ns;
  return span > 0 ? static_cast<std::int64_t>(static_cast<double>(span) * share) : 0;
}

void Setbacks::end(int cause, std::int64_t now_ns) {
  for (Setback& s : all_) {
    if (s.cause == cause) s.to_ns = std::min(s.to_ns, std::max(now_ns, s.from_ns));
  }
}

std::int64_t Setbacks::lost_ns(std::int64_t now_ns) const {
  std::int64_t lost = 0;
  for (const Setback& s : all_) lost += s.lost_ns(now_ns);
  return lost;
}

double Setbacks::share_at(std::int64_t now_ns) const {
  double share = 0;
  for (const Setback& s : all_) {
    if (s.from_ns <= now_ns && now_ns < s.to_ns) share += s.share;
  }
  return std::min(1.0, share);
}

std::int64_t Setbacks::time_after(std::int64_t now_ns, std::int64_t left_ns) const {
  for (;;) {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (const Setback& s : all_) {
      if (s.from_ns > now_ns) next = std::min(next, s.from_ns);
      if (s.to_ns > now_ns) next = std::min(next, s.to_ns);
    }
    const double pace = 1 - share_at(now_ns);
    if (next == std::numeric_limits<std::int64_t>::max() && pace <= 0) return next;
    const double until_next = static_cast<double>(next - now_ns) * pace;
    if (static_cast<double>(left_ns) <= until_next) {
      return now_ns + static_cast<std::int64_t>(std::ceil(static_cast<double>(left_ns) / pace));
    }
    left_ns -= static_cast<std::int64_t>(until_next);
    now_ns = next;
  }
}

}  // namespace orrery::failure
