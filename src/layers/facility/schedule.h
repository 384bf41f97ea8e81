// When the site can be ready: lead times as a critical path.
//
//   finish(i) = max over what i waits for of finish(j) + duration(i);  the path that ends last
//   binds
//
// Each item has a low, typical and high duration (p10, p50, p90 of data/catalog/lead_times.csv).
// The plan by typical durations names the path and every item's slack; the interval comes from
// 1,000 draws of a split normal per item (independent), since the latest of parallel paths is later
// than any one of them. Lead times are mostly recalled figures: defaults to override.
// Wrong where delays share a cause (one contractor, one permit): the true spread is wider.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/site_facts.h"

namespace orrery::facility {

struct ScheduleItem {
  std::string id;
  std::string name;
  Seconds low;
  Seconds typical;
  Seconds high;
  std::vector<std::string> after;  // ids that must be done before it starts
  std::string reference;
};

struct ScheduledItem {
  std::string id;
  std::string name;
  Seconds start;  // by typical durations
  Seconds finish;
  Seconds slack;  // it may slip by this much without moving the end
  bool critical = false;
  double criticality = 0;  // share of the draws in which it was on the path that bound
  std::string reference;
};

struct BuildSchedule {
  std::vector<ScheduledItem> items;   // in the order of their starts, then as given
  std::vector<std::string> critical;  // ids along the path, first to last
  Seconds typical;                    // end by typical durations
  Seconds low;                        // p10, p50, p90 of the draws
  Seconds middle;
  Seconds high;
};

// An unknown id in `after` or a cycle is a Diagnostic ("schedule.unknown", "schedule.cycle").
Result<BuildSchedule> plan_schedule(std::span<const ScheduleItem> items, std::uint64_t seed = 1);

// What a build waits for. Deliveries (the catalog's lead times) are all ordered on the first day;
// the installation then goes in the order utility, transformer, switchgear and UPS, hall, racks,
// acceptance. Installation times are assumed, half to double. Items that are there already
// (`ready`, by id) take no time.
struct BuildScope {
  bool new_utility = true;  // a new feed and its substation; false: power is at the fence
  bool new_shell = true;    // greenfield; false: an existing hall
  bool liquid = true;       // CDUs, and in an existing hall the retrofit
  bool chillers = false;
  bool generators = true;
  bool rack_scale = false;  // NVL72 allocation instead of HGX servers
  std::vector<std::string> ready;
};

std::vector<ScheduleItem> build_items(std::span<const catalog::LeadTime> lead_times,
                                      const BuildScope& scope);

}  // namespace orrery::facility
