// When the site can be ready: lead times as a critical path.
//
//   finish(i) = max over what i waits for of finish(j) + duration(i);  the path that ends last
//   is critical
//
// Each item has a low, typical and high duration (p10, p50, p90 of data/catalog/lead_times.csv).
// The plan by typical durations gives the critical path and every item's slack. The interval comes
// from 1,000 draws of a split normal per item (independent), because the latest of parallel paths
// is later than any one of them. Lead times are mostly recalled figures: defaults to override.
// Wrong if delays share a cause (one contractor, one permit): the true spread is wider.
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
  std::vector<std::string> after;  // ids that must be finished before it starts
  std::string reference;
};

struct ScheduledItem {
  std::string id;
  std::string name;
  Seconds start;  // start by typical durations
  Seconds finish;
  Seconds slack;  // it may slip by this much without delaying the end
  bool critical = false;
  double criticality = 0;  // share of the draws in which it was on the critical path
  std::string reference;
};

struct BuildSchedule {
  std::vector<ScheduledItem> items;   // sorted by start, then as given
  std::vector<std::string> critical;  // ids along the critical path, first to last
  Seconds typical;                    // end by typical durations
  Seconds low;                        // p10, p50, p90 of the draws
  Seconds middle;
  Seconds high;
};

// Returns a Diagnostic for an unknown id in `after` or a cycle ("schedule.unknown",
// "schedule.cycle").
Result<BuildSchedule> plan_schedule(std::span<const ScheduleItem> items, std::uint64_t seed = 1);

// What a build waits for. Deliveries (the catalog's lead times) are all ordered on the first day.
// Installation then goes in the order utility, transformer, switchgear and UPS, hall, racks,
// acceptance; its times are assumed, from half to double. Items that already exist (`ready`, by id)
// take no time.
struct BuildScope {
  bool new_utility = true;  // a new feed and its substation; false: power is already at the site
  bool new_shell = true;    // greenfield; false: an existing hall
  bool liquid = true;       // CDUs and, in an existing hall, the retrofit
  bool chillers = false;
  bool generators = true;
  bool rack_scale = false;  // lead time of NVL72 racks instead of HGX servers
  std::vector<std::string> ready;
};

std::vector<ScheduleItem> build_items(std::span<const catalog::LeadTime> lead_times,
                                      const BuildScope& scope);

}  // namespace orrery::facility
