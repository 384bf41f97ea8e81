#include "plan/spend.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/units.h"
#include "design/write_design.h"
#include "plan/edits.h"
#include "plan/review.h"

namespace orrery {
namespace {

struct Change {
  std::string text;
  std::string path;
  std::string value;
  std::function<bool(design::Design&)> apply;  // false: it changes nothing here
};

design::Train* first_train(design::Design& d) {
  for (design::Workload& w : d.workloads) {
    if (auto* t = std::get_if<design::Train>(&w.task)) return t;
  }
  return nullptr;
}

// What a platform team can buy or switch on. Each is a change of the design, reviewed like any
// other.
std::vector<Change> changes_for(const Review& r) {
  std::vector<Change> all;
  const TrainView* train = nullptr;
  for (const TrainView& t : r.trains) {
    if (train == nullptr && t.feasible()) train = &t;
  }
  if (train == nullptr) return all;
  const std::string path = train->path;

  all.push_back(
      {"checkpoint asynchronously", path + ".checkpoint.mode", "async", [](design::Design& d) {
         design::Train* t = first_train(d);
         if (!t->checkpoint || t->checkpoint->mode == design::CheckpointMode::async) return false;
         t->checkpoint->mode = design::CheckpointMode::async;
         return true;
       }});
  all.push_back({"let the interval follow the failures", path + ".checkpoint.every", "auto",
                 [](design::Design& d) {
                   design::Train* t = first_train(d);
                   if (!t->checkpoint || !t->checkpoint->every) return false;
                   t->checkpoint->every.reset();
                   return true;
                 }});
  all.push_back({"restart in seconds: drain, requeue and release by an agent",
                 "scheduler.recovery.requeue", "2 s", [](design::Design& d) {
                   design::Recovery& rec = d.scheduler.recovery;
                   if (rec.requeue && *rec.requeue <= seconds(2)) return false;
                   rec.requeue = seconds(2);
                   rec.automatic = true;
                   return true;
                 }});
  all.push_back(
      {"notice a fault in 10 s", "scheduler.recovery.detect", "10 s", [](design::Design& d) {
         design::Recovery& rec = d.scheduler.recovery;
         if (rec.detect && *rec.detect <= seconds(10)) return false;
         rec.detect = seconds(10);
         return true;
       }});
  all.push_back({"one more spare node", train->fleet->path + ".spares",
                 std::to_string(train->fleet->fleet->spares + 1), [](design::Design& d) {
                   d.fleet.front().spares += 1;
                   return true;
                 }});
  if (r.design().fabric.storage.converged) {
    const design::Network own = separate_storage(r.design().fabric);
    all.push_back({"a storage network of its own", "fabric.storage", section_text(own),
                   [own](design::Design& d) {
                     d.fabric.storage = own;
                     return true;
                   }});
  }
  for (std::size_t i = 0; i < r.design().storage.size(); ++i) {
    const std::string tier = r.tiers()[i].path;
    all.push_back({"twice the servers of tier '" + r.tiers()[i].label + "'", tier, "x2",
                   [i](design::Design& d) {
                     design::StorageTier& t = d.storage[i];
                     if (t.tier == design::Tier::node_nvme || t.tier == design::Tier::cold)
                       return false;
                     if (t.read) t.read = *t.read * 2;
                     if (t.write) t.write = *t.write * 2;
                     if (t.servers) t.servers = *t.servers * 2;
                     if (t.capacity) t.capacity = *t.capacity * 2;
                     return true;
                   }});
  }
  return all;
}

}  // namespace

std::vector<Spend> best_spends(const Review& r) {
  std::vector<Spend> spends;
  const double before = r.cost.per_useful_hour.base() * 3600;
  for (const Change& change : changes_for(r)) {
    design::Design changed = r.design();
    if (!change.apply(changed)) continue;
    const Review after = run_stages(std::move(changed), r.models(), &r);
    const double unit = after.cost.per_useful_hour.base() * 3600;
    // A change that hardly moves the price is not worth a line.
    if (unit >= before * 0.9995) continue;
    spends.push_back({.change = change.text,
                      .path = change.path,
                      .value = change.value,
                      .cost_usd_per_year = (after.cost.annual - r.cost.annual).base(),
                      .goodput_before = r.cost.goodput,
                      .goodput_after = after.cost.goodput,
                      .unit_cost_before_usd = before,
                      .unit_cost_after_usd = unit});
  }
  std::ranges::stable_sort(spends, {}, &Spend::unit_cost_after_usd);
  if (spends.size() > kSpendsShown) spends.resize(kSpendsShown);
  return spends;
}

}  // namespace orrery
