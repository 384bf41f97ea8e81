// The second part of random_design.h, which includes it: corrects partitions, QOS, pipelines and
// reservations of a drawn design.
#pragma once

#include "random_design.h"

namespace orrery {

// A service may escalate to a later one in the file, if neither handles multi-turn requests.
inline void RandomDesign::put_cascades_right(design::Design& d) {
  const auto fits = [](const design::Serve& s) {
    return !s.model.empty() && s.arrivals.visits() <= 1;
  };
  const std::string* behind = nullptr;
  for (std::size_t i = d.workloads.size(); i-- > 0;) {
    auto* serve = std::get_if<design::Serve>(&d.workloads[i].task);
    if (serve == nullptr) continue;
    if (behind == nullptr || !fits(*serve)) serve->escalate.reset();
    if (serve->escalate) serve->escalate->service = *behind;
    if (fits(*serve)) behind = &d.workloads[i].terms.name;
  }
}

// Gives partitions different names, fleets that Slurm runs and no more nodes than those have; a
// workload may name only a partition of its fleet.
inline void RandomDesign::put_partitions_right(design::Design& d) {
  std::vector<design::SchedulerPartition>& all = d.scheduler.partitions;
  std::vector<const design::Fleet*> slurms;
  for (const design::Fleet& f : d.fleet) {
    const bool is_both = d.scheduler.kind == design::SchedulerKind::both;
    const bool is_slurms = is_both ? f.partition == design::Partition::slurm
                                   : d.scheduler.kind == design::SchedulerKind::slurm;
    if (is_slurms) slurms.push_back(&f);
  }
  if (slurms.empty()) all.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const design::Fleet& fleet = *slurms[below(slurms.size())];
    all[i].name = "part-" + std::to_string(i + 1);
    all[i].fleet = fleet.name;
    const int most = fleet.count / static_cast<int>(all.size());
    if (all[i].nodes) all[i].nodes = std::min(*all[i].nodes, most);
    if (most < 1) all[i].nodes.reset();
  }
  for (design::Workload& w : d.workloads) {
    w.terms.partition.clear();
    const std::string& fleet = w.terms.fleet.empty() ? d.fleet.front().name : w.terms.fleet;
    const auto own = std::ranges::find(all, fleet, &design::SchedulerPartition::fleet);
    if (own == all.end() || !chance(0.7)) continue;
    w.terms.partition = own->name;
    count("train.partition");
  }
}

// Gives QOS different names, for Slurm's jobs. A QOS that preempts needs one to preempt, and runs
// and services get no time limit.
inline void RandomDesign::put_qos_right(design::Design& d) {
  std::vector<design::Qos>& all = d.scheduler.qos;
  if (d.scheduler.kind == design::SchedulerKind::kubernetes) all.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = "qos-" + std::to_string(i + 1);
    if (i == 0 || d.scheduler.preemption == design::Preemption::none || !chance(0.5)) continue;
    all[i].preempts = {all[0].name};
    count("qos.preempts");
  }
  for (design::Workload& w : d.workloads) {
    const bool is_cut = std::holds_alternative<design::Jobs>(w.task) ||
                        std::holds_alternative<design::Batch>(w.task);
    const bool fits = !all.empty() && (is_cut || !all.back().time_limit);
    w.terms.qos = fits && chance(0.5) ? all.back().name : "";
  }
}

// Gives the stage a workload of its kind that no other stage uses, or shared tiers. Returns false
// if there are none.
inline bool RandomDesign::put_right(design::Stage& s, design::Design& d) {
  s.from = s.to = s.workload = "";
  if (!design::moves_bytes(s.stage)) {
    s.size.reset(), s.rate.reset(), s.keep.reset();
    for (design::Workload& w : d.workloads) {
      auto* train = std::get_if<design::Train>(&w.task);
      auto* batch = std::get_if<design::Batch>(&w.task);
      const bool fits =
          s.stage == design::DataStage::serve
              ? std::holds_alternative<design::Serve>(w.task)
              : train != nullptr || (batch != nullptr && s.stage != design::DataStage::train);
      const bool is_taken = std::ranges::any_of(d.pipeline.stages, [&](const design::Stage& other) {
        return other.workload == w.terms.name;
      });
      if (!fits || is_taken) continue;
      s.workload = w.terms.name;
      const auto repeat = d.pipeline.every
                              ? std::optional(design::Recurrence{*d.pipeline.every, std::nullopt})
                              : std::nullopt;
      if (train) train->repeat = repeat;
      if (train) train->runs = d.pipeline.every ? train->runs : std::optional(1);
      if (batch) batch->repeat = repeat;
      count("stages.workload");
      return true;
    }
    return false;
  }
  std::vector<std::string> shared;
  for (const design::StorageTier& t : d.storage) {
    if (t.tier != design::Tier::node_nvme) shared.emplace_back(t.label());
  }
  const bool comes_in = s.stage == design::DataStage::ingest;
  if (shared.size() < (comes_in ? 1 : 2)) return false;
  s.to = shared.back();
  if (!comes_in) s.from = shared.front();
  if (!s.size) s.size = terabytes(1);
  if (comes_in && !s.rate) s.rate = gbits_per_s(100);
  count(comes_in ? "stages.to" : "stages.from");
  return true;
}

inline void RandomDesign::put_pipeline_right(design::Design& d) {
  std::vector<design::Stage> drawn = std::exchange(d.pipeline.stages, {});
  for (design::Stage& s : drawn) {
    s.name = "stage-" + std::to_string(d.pipeline.stages.size() + 1);
    s.after.clear();
    if (!put_right(s, d)) continue;
    if (chance(0.3)) {
      s.after = {std::string(design::kCycleBegins)};
      count("stages.after");
    }
    d.pipeline.stages.push_back(std::move(s));
  }
  if (d.pipeline.stages.empty()) d.pipeline = {};
}

// Gives reservations different names, fleets that Slurm runs, and a period that Slurm supports.
inline void RandomDesign::put_reservations_right(design::Design& d) {
  std::vector<design::Reservation>& all = d.scheduler.reservations;
  const auto slurms = std::ranges::find_if(
      d.fleet, [&](const design::Fleet& f) { return design::is_slurms(d, f); });
  if (slurms == d.fleet.end()) all.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = "window-" + std::to_string(i + 1);
    all[i].fleet = slurms->name;
    if (all[i].nodes) all[i].nodes = std::min(*all[i].nodes, slurms->count);
    if (slurms->count < 1) all[i].nodes.reset();
    const Seconds every = length_of(all[i].repeat);
    if (every > Seconds(0)) all[i].duration = min(all[i].duration, every / 2);
    all[i].tenants.clear();
    if (d.scheduler.quotas.empty() || !chance(0.5)) continue;
    all[i].tenants = {d.scheduler.quotas.front().tenant};
    count("reservations.tenants");
  }
}

}  // namespace orrery
