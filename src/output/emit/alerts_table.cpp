#include "output/emit/alerts_table.h"

#include <algorithm>

#include "core/base/text.h"

namespace orrery::emit {

std::string filled(std::string_view pattern, const Words& words) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t end = pattern[i] == '{' ? pattern.find('}', i) : std::string_view::npos;
    const auto word = end == std::string_view::npos
                          ? words.end()
                          : words.find(pattern.substr(i + 1, end - i - 1));
    if (word == words.end()) {
      out += pattern[i++];
    } else {
      out += word->second;
      i = end + 1;
    }
  }
  return out;
}

std::vector<std::string_view> separated(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    parts.push_back(trimmed(text.substr(from, to - from)));
    if (to == std::string_view::npos) return parts;
    from = to + separator.size();
  }
}

Traits traits_of(const review::Review& review, const std::vector<PlannedValue>& plan) {
  Traits traits;
  for (const machine::Fleet& f : review.fleets()) {
    if (!has_dcgm(f)) continue;
    traits.insert("nvidia");
    if (f.accelerator()->scaleup_link.starts_with("NVLink")) traits.insert("nvlink");
  }
  for (const review::TrainView& t : review.trains) {
    if (t.feasible()) traits.insert("train");
  }
  if (review.design().scheduler.kind != design::SchedulerKind::kubernetes) traits.insert("slurm");
  if (!planned_of(plan, "cache_hit_ratio").empty()) traits.insert("cache");
  return traits;
}

bool meets(std::string_view needs, const Traits& traits) {
  return std::ranges::all_of(separated(needs, " "),
                             [&](std::string_view need) { return traits.contains(need); });
}

}  // namespace orrery::emit
