#include "live/drives/hedge.h"

#include <algorithm>
#include <bit>

namespace orrery::drives {

void SeenTimes::add(Micros took) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(0, took.count()));
  const auto at = std::min(static_cast<std::size_t>(std::bit_width(micros)), counts_.size() - 1);
  ++counts_[at];
  if (++total_ < kMost) return;
  total_ = 0;
  for (std::uint32_t& count : counts_) total_ += count /= 2;
}

Micros SeenTimes::within(double share) const {
  if (total_ == 0) return Micros{0};
  double sum = 0;
  std::size_t at = 0;
  while (at + 1 < counts_.size() && (sum += counts_[at]) < share * total_) ++at;
  return Micros{std::int64_t{1} << at};
}

DriveTrust trust_after(const HedgeRule& rule, const SeenTimes& seen, DriveTrust before,
                       Micros took) {
  const Micros usual = seen.within(rule.share);
  if (took >= rule.slow_min && took >= usual * rule.slow_factor) return {.suspect = true};
  if (!before.suspect) return {};
  if (before.quick + 1 >= rule.forgiven) return {};
  return {.suspect = true, .quick = before.quick + 1};
}

std::optional<Micros> hedge_delay(const HedgeRule& rule, const SeenTimes& seen, DriveTrust trust,
                                  int at_once) {
  if (!trust.suspect || at_once >= rule.at_once_max) return std::nullopt;
  return std::max(rule.delay_min, seen.within(rule.share));
}

}  // namespace orrery::drives
