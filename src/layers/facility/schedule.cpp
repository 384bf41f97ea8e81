#include "layers/facility/schedule.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "core/base/random.h"
#include "core/base/statistics.h"

namespace orrery::facility {

namespace {

constexpr int kDraws = 1000;
// Standard deviations from the median to p90 of a normal distribution.
constexpr double kP90 = 1.2816;

using Before = std::vector<std::vector<std::size_t>>;

// Returns the indices in an order in which every item comes after what it waits for; empty if there
// is a cycle.
std::vector<std::size_t> topological(const Before& before) {
  std::vector<std::size_t> order;
  std::vector<bool> done(before.size(), false);
  for (bool moved = true; moved && order.size() < before.size();) {
    moved = false;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (done[i]) continue;
      if (!std::all_of(before[i].begin(), before[i].end(), [&](std::size_t j) { return done[j]; }))
        continue;
      done[i] = true;
      order.push_back(i);
      moved = true;
    }
  }
  if (order.size() < before.size()) order.clear();
  return order;
}

Result<Before> resolve(std::span<const ScheduleItem> items) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < items.size(); ++i) index[items[i].id] = i;
  Before before(items.size());
  Diagnostics faults;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const std::string& id : items[i].after) {
      const auto found = index.find(id);
      if (found == index.end()) {
        faults.push_back({.code = "schedule.unknown",
                          .place = {},
                          .what = "'" + items[i].id + "' waits for '" + id + "', which is unknown",
                          .why = "",
                          .fix = ""});
      } else {
        before[i].push_back(found->second);
      }
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return before;
}

struct Pass {
  std::vector<Seconds> finish;
  std::size_t last = 0;
};

Pass forward(const Before& before, const std::vector<std::size_t>& order,
             const std::vector<Seconds>& duration) {
  Pass pass{std::vector<Seconds>(before.size()), 0};
  Seconds latest(-1);
  for (std::size_t i : order) {
    Seconds start;
    for (std::size_t j : before[i]) start = max(start, pass.finish[j]);
    pass.finish[i] = start + duration[i];
    if (pass.finish[i] > latest) {
      latest = pass.finish[i];
      pass.last = i;
    }
  }
  return pass;
}

// Returns the path that ends in pass.last: from each item back to the predecessor that finished
// last.
std::vector<std::size_t> binding_path(const Before& before, const Pass& pass) {
  std::vector<std::size_t> path{pass.last};
  while (!before[path.back()].empty()) {
    const auto& candidates = before[path.back()];
    path.push_back(*std::max_element(
        candidates.begin(), candidates.end(),
        [&](std::size_t a, std::size_t b) { return pass.finish[a] < pass.finish[b]; }));
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<Seconds> slacks(const Before& before, const std::vector<std::size_t>& order,
                            const std::vector<Seconds>& duration, const Pass& pass) {
  std::vector<Seconds> latest(before.size(), pass.finish[pass.last]);
  for (const std::size_t i : std::views::reverse(order)) {
    for (const std::size_t j : before[i]) latest[j] = min(latest[j], latest[i] - duration[i]);
  }
  std::vector<Seconds> slack(before.size());
  for (std::size_t i = 0; i < slack.size(); ++i) slack[i] = latest[i] - pass.finish[i];
  return slack;
}

// Returns the duration that is `z` standard deviations from the median.
Seconds duration_at(const ScheduleItem& item, double z) {
  const Seconds side = z < 0 ? item.typical - item.low : item.high - item.typical;
  return max(Seconds(), item.typical + side * (z / kP90));
}

void add_draws(BuildSchedule& schedule, std::span<const ScheduleItem> items, const Before& before,
               const std::vector<std::size_t>& order, std::uint64_t seed) {
  RandomStream random(seed, "facility/schedule");
  std::vector<Seconds> ends;
  std::vector<int> on_path(items.size(), 0);
  std::vector<Seconds> duration(items.size());
  std::vector<double> z(items.size());
  for (int d = 0; d < kDraws; ++d) {
    // Every second draw mirrors the one before it, which keeps the medians exact.
    for (double& v : z) v = d % 2 == 0 ? random.normal() : -v;
    for (std::size_t i = 0; i < items.size(); ++i) duration[i] = duration_at(items[i], z[i]);
    const Pass pass = forward(before, order, duration);
    ends.push_back(pass.finish[pass.last]);
    for (std::size_t i : binding_path(before, pass)) ++on_path[i];
  }
  schedule.low = quantile(ends, 0.1, Between::higher);
  schedule.middle = quantile(ends, 0.5, Between::higher);
  schedule.high = quantile(ends, 0.9, Between::higher);
  for (std::size_t i = 0; i < items.size(); ++i) {
    schedule.items[i].criticality = static_cast<double>(on_path[i]) / kDraws;
  }
}

}  // namespace

Result<BuildSchedule> plan_schedule(std::span<const ScheduleItem> items, std::uint64_t seed) {
  BuildSchedule schedule;
  if (items.empty()) return schedule;
  const auto before = resolve(items);
  if (!before) return std::unexpected(before.error());
  const auto order = topological(*before);
  if (order.empty()) {
    return fail({.code = "schedule.cycle",
                 .place = {},
                 .what = "items wait for each other in a cycle",
                 .why = "",
                 .fix = ""});
  }
  std::vector<Seconds> duration;
  for (const ScheduleItem& item : items) duration.push_back(item.typical);
  const Pass pass = forward(*before, order, duration);
  const auto slack = slacks(*before, order, duration, pass);
  for (std::size_t i = 0; i < items.size(); ++i) {
    schedule.items.push_back({.id = items[i].id,
                              .name = items[i].name,
                              .start = pass.finish[i] - duration[i],
                              .finish = pass.finish[i],
                              .slack = slack[i],
                              .reference = items[i].reference});
  }
  for (std::size_t i : binding_path(*before, pass)) {
    schedule.items[i].critical = true;
    schedule.critical.push_back(items[i].id);
  }
  schedule.typical = pass.finish[pass.last];
  add_draws(schedule, items, *before, order, seed);
  std::stable_sort(
      schedule.items.begin(), schedule.items.end(),
      [](const ScheduledItem& a, const ScheduledItem& b) { return a.start < b.start; });
  return schedule;
}

}  // namespace orrery::facility
