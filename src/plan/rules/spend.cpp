#include "plan/rules/spend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "model/design_text/write_design.h"
#include "model/figures/assumptions.h"
#include "plan/review/stages.h"
#include "plan/rules/edits.h"

namespace orrery::rules {
namespace {

using figures::assumptions::kQuickNotice;
using figures::assumptions::kQuickRequeue;
// A change that lowers the unit cost by less than this share is not listed.
constexpr double kLeastGain = 0.0005;

// A change that a platform team can buy or switch on, with the design after it. The design is
// changed as a value because reading the file again for each change would take as long as the
// review; spend_test.cpp compares it with the change applied to the text.
struct Trial {
  std::string what;
  design_text::Change change;
  design::Design design;
};

design::Train* train_at(design::Design& d, const review::TrainView& view) {
  return std::get_if<design::Train>(&d.workloads[view.workload->index.value()].task);
}

std::optional<Trial> asynchronous(const review::Review& r, const review::TrainView& view) {
  Trial t{"checkpoint asynchronously", {view.path + ".checkpoint.mode", "async"}, r.design()};
  auto& checkpoint = train_at(t.design, view)->checkpoint;
  if (!checkpoint || checkpoint->mode == design::CheckpointMode::async) return std::nullopt;
  checkpoint->mode = design::CheckpointMode::async;
  return t;
}

std::optional<Trial> interval_by_failures(const review::Review& r, const review::TrainView& view) {
  Trial t{"set the checkpoint interval by the failure rate",
          {view.path + ".checkpoint.every", "auto"},
          r.design()};
  auto& checkpoint = train_at(t.design, view)->checkpoint;
  if (!checkpoint || !checkpoint->every) return std::nullopt;
  checkpoint->every.reset();
  return t;
}

std::optional<Trial> quick_restart(const review::Review& r, const review::TrainView&) {
  Trial t{"restart in seconds: an agent drains, requeues and releases nodes",
          {"scheduler.recovery.requeue", "2 s"},
          r.design()};
  design::Recovery& recovery = t.design.scheduler.recovery;
  if (recovery.requeue && *recovery.requeue <= kQuickRequeue) return std::nullopt;
  recovery.requeue = kQuickRequeue;
  recovery.automatic = true;
  return t;
}

std::optional<Trial> quick_notice(const review::Review& r, const review::TrainView&) {
  Trial t{"notice a fault in 10 s", {"scheduler.recovery.detect", "10 s"}, r.design()};
  design::Recovery& recovery = t.design.scheduler.recovery;
  if (recovery.detect && *recovery.detect <= kQuickNotice) return std::nullopt;
  recovery.detect = kQuickNotice;
  return t;
}

std::optional<Trial> one_more_spare(const review::Review& r, const review::TrainView& view) {
  const int spares = view.fleet->fleet->spares + 1;
  Trial t{
      "one more spare node", {view.fleet->path + ".spares", std::to_string(spares)}, r.design()};
  t.design.fleet[view.fleet->index.value()].spares = spares;
  return t;
}

std::optional<Trial> own_storage_network(const review::Review& r, const review::TrainView&) {
  if (!r.design().fabric.storage.converged) return std::nullopt;
  const design::Network own = separate_storage(r.design().fabric);
  Trial t{
      "a separate storage network", {"fabric.storage", design_text::section_text(own)}, r.design()};
  t.design.fabric.storage = own;
  return t;
}

// Servers, rates and capacity change together, so the edit replaces the tier's whole entry.
std::optional<Trial> twice_the_servers(const review::Review& r, design::TierIndex tier) {
  const machine::Tier& built = r.tiers()[tier];
  Trial t{"twice the servers of tier '" + built.label + "'", {built.path, ""}, r.design()};
  design::StorageTier& s = t.design.storage[tier.value()];
  if (s.tier == design::Tier::node_nvme || s.tier == design::Tier::cold) return std::nullopt;
  if (s.read) s.read = *s.read * 2;
  if (s.write) s.write = *s.write * 2;
  if (s.servers) s.servers = *s.servers * 2;
  if (s.capacity) s.capacity = *s.capacity * 2;
  t.change.value = design_text::section_text(s);
  return t;
}

std::vector<Trial> trials_of(const review::Review& r) {
  const auto train = std::ranges::find_if(r.trains, &review::TrainView::feasible);
  if (train == r.trains.end()) return {};
  std::vector<Trial> all;
  const auto add = [&all](std::optional<Trial> trial) {
    if (trial) all.push_back(std::move(*trial));
  };
  for (const auto make : {asynchronous, interval_by_failures, quick_restart, quick_notice,
                          one_more_spare, own_storage_network}) {
    add(make(r, *train));
  }
  for (const machine::Tier& t : r.tiers()) {
    if (t.implied == nullptr) add(twice_the_servers(r, t.index));
  }
  return all;
}

}  // namespace

std::vector<Spend> best_spends(const review::Review& r) {
  std::vector<Spend> spends;
  const double before = r.cost.per_useful_hour.base() * 3600;
  for (Trial& trial : trials_of(r)) {
    const review::Review after = review::run_stages(std::move(trial.design), r.models(), &r);
    const double unit = after.cost.per_useful_hour.base() * 3600;
    if (unit >= before * (1 - kLeastGain)) continue;
    // A change whose cost looks the same before and after is not listed either.
    const bool prices_differ = significant(unit, 3) != significant(before, 3);
    const bool goodput_differs = show(after.cost.goodput, figures::Unit::ratio) !=
                                 show(r.cost.goodput, figures::Unit::ratio);
    if (!prices_differ && !goodput_differs) continue;
    spends.push_back({.what = std::move(trial.what),
                      .change = std::move(trial.change),
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

}  // namespace orrery::rules
