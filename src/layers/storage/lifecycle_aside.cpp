#include "layers/storage/lifecycle_aside.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace orrery::storage {
namespace {

constexpr std::int64_t kDayS = 86'400;

// Returns days since 1970 as a date (Howard Hinnant, "chrono-compatible low-level date
// algorithms").
std::string date_text(std::int64_t day) {
  const std::int64_t z = day + 719'468;
  const std::int64_t era = (z >= 0 ? z : z - 146'096) / 146'097;
  const std::int64_t of_era = z - era * 146'097;
  const std::int64_t year_of_era =
      (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * of_year + 2) / 153;  // months from March
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return fmt::format("{:04}{:02}{:02}", year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
                     of_year - (153 * shifted + 2) / 5 + 1);
}

}  // namespace

Seconds time_aside(const AsideFact& fact, const LifecycleMemory& memory,
                   const LifecycleClock& clock) {
  if (!fact.is_seen || clock.boot.empty()) return {};
  const auto since = [&fact](Seconds up) { return max(Seconds(), up - fact.since.up); };
  if (fact.since.boot == clock.boot) return fact.waited + since(clock.up);
  if (fact.since.boot == memory.clock.boot) return fact.waited + since(memory.clock.up);
  return fact.waited;
}

LifecycleEvent seen_aside(const std::string& key, const AsideFact& fact,
                          const LifecycleMemory& memory, const LifecycleClock& clock, Seconds now) {
  return {.kind = LifecycleEventKind::aside,
          .at = now,
          .item = fact.item,
          .place = fact.place,
          .stamp = fact.stamp,
          .digest = fact.digest,
          .key = key,
          .good = true,
          .clock = clock,
          .waited = time_aside(fact, memory, clock),
          .made = fact.made};
}

std::string name_aside(const std::string& item, const std::string& place, Seconds now,
                       const LifecycleMemory& memory) {
  const auto time = static_cast<std::int64_t>(std::floor(now.base()));
  const std::int64_t day = time >= 0 ? time / kDayS : -((kDayS - 1 - time) / kDayS);
  const std::int64_t of_day = time - day * kDayS;
  const std::string first = fmt::format("{}.{}T{:02}{:02}{:02}Z", item, date_text(day),
                                        of_day / 3600, of_day / 60 % 60, of_day % 60);
  std::string name = first;
  for (int i = 2; memory.aside.contains(place + '/' + name); ++i) {
    name = fmt::format("{}-{}", first, i);
  }
  return name;
}

std::string item_of_aside(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return std::string(dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot));
}

}  // namespace orrery::storage
