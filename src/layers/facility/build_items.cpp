// What building a site waits for, and in which order: the default network of schedule.h.
#include <algorithm>

#include "layers/facility/schedule.h"

namespace orrery::facility {

namespace {

class Builder {
 public:
  Builder(std::span<const catalog::LeadTime> lead_times, const BuildScope& scope)
      : lead_times_(lead_times), scope_(scope) {}

  // Adds a delivery from the catalog, ordered on the first day. Unknown ids are skipped: if the
  // catalog has no such row, there is nothing to wait for.
  void deliver(const std::string& id) {
    for (const catalog::LeadTime& row : lead_times_) {
      if (row.id != id) continue;
      add({row.id, row.item, row.low, row.typical, row.high, {}, row.provenance.reference});
    }
  }

  // Adds work on site; its duration ranges from half to double the typical time.
  void install(const std::string& id, const std::string& name, Seconds typical,
               const std::vector<std::string>& after) {
    ScheduleItem item{id, name, typical / 2, typical, typical * 2, {}, "docs/models/schedule.md"};
    for (const std::string& needed : after) {
      if (has(needed)) item.after.push_back(needed);
    }
    add(std::move(item));
  }

  bool has(const std::string& id) const {
    return std::any_of(items_.begin(), items_.end(), [&](const auto& i) { return i.id == id; });
  }

  std::vector<ScheduleItem> take() { return std::move(items_); }

 private:
  void add(ScheduleItem item) {
    const auto& ready = scope_.ready;
    if (std::find(ready.begin(), ready.end(), item.id) != ready.end()) {
      item.low = item.typical = item.high = Seconds();
    }
    items_.push_back(std::move(item));
  }

  std::span<const catalog::LeadTime> lead_times_;
  const BuildScope& scope_;
  std::vector<ScheduleItem> items_;
};

}  // namespace

std::vector<ScheduleItem> build_items(std::span<const catalog::LeadTime> lead_times,
                                      const BuildScope& scope) {
  Builder b(lead_times, scope);
  if (scope.new_utility) {
    b.deliver("utility-interconnect");
    b.deliver("large-power-transformer");
  }
  const bool new_power = scope.new_utility || scope.new_shell;
  if (new_power) {
    b.deliver("mv-switchgear");
    b.deliver("ups");
  }
  if (scope.generators && scope.new_shell) b.deliver("diesel-generator-2-3-mw");
  if (scope.new_shell) b.deliver("greenfield-shell-fit-out");
  if (scope.liquid) b.deliver("cdu");
  if (scope.liquid && !scope.new_shell) b.deliver("liquid-retrofit-of-existing-hall");
  if (scope.chillers) b.deliver("chiller");
  b.deliver(scope.rack_scale ? "nvl72-rack-allocation" : "hgx-h100-h200-server");
  b.deliver("800g-optics");

  if (scope.new_utility) {
    b.install("substation", "set and energise the transformer", weeks(8),
              {"utility-interconnect", "large-power-transformer"});
  }
  if (new_power) {
    b.install("switchgear-install", "install switchgear, UPS and generators", weeks(6),
              {"substation", "mv-switchgear", "ups", "diesel-generator-2-3-mw",
               "greenfield-shell-fit-out"});
  }
  b.install("cooling-install", "install and flush cooling", weeks(6),
            {"cdu", "chiller", "liquid-retrofit-of-existing-hall", "greenfield-shell-fit-out"});
  b.install("hall-acceptance", "integrated test of power and cooling", weeks(4),
            {"switchgear-install", "cooling-install"});
  b.install("racks-install", "rack, cable and power on", weeks(4),
            {"hall-acceptance", "nvl72-rack-allocation", "hgx-h100-h200-server", "800g-optics"});
  b.install("burn-in", "burn-in and acceptance of the cluster", weeks(4), {"racks-install"});
  return b.take();
}

}  // namespace orrery::facility
