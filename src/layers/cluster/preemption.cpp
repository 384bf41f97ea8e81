#include "layers/cluster/preemption.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace orrery::cluster {
namespace {

std::vector<JobIndex> eligible_for(const QueuedJob& job, const QueueView& view,
                                   const PreemptionRules& rules) {
  std::vector<JobIndex> eligible;
  for (const RunningEnd& running : view.running) {
    const QueuedJob& other = view.job(running.job);
    const bool is_old_enough = (view.now - other.started).seconds() >= rules.minimum_runtime;
    if (rules.may_take(job, other) && is_old_enough) eligible.push_back(running.job);
  }
  const auto cost = [&](JobIndex j) {
    const QueuedJob& other = view.job(j);
    const double dear = rules.order == VictimOrder::fewest_nodes
                            ? static_cast<double>(other.shares.size())
                            : preemption_cost(other, view.now, rules).base() / other.ask.gpus;
    return std::tuple(other.tier, dear, j);
  };
  std::ranges::sort(eligible, {}, cost);
  return eligible;
}

}  // namespace

bool PreemptionRules::takes(const QueuedJob& job) const {
  if (of_qos.empty()) return job.tier > 0;
  const std::vector<bool>& row = of_qos[job.qos];
  return std::ranges::find(row, true) != row.end();
}

Seconds preemption_cost(const QueuedJob& job, sim::SimTime now, const PreemptionRules& rules) {
  const Seconds run = (now - job.started).seconds();
  Seconds lost = run;
  if (rules.checkpoint > Seconds()) {
    lost = run - rules.checkpoint * std::floor(run / rules.checkpoint);
  }
  if (rules.saves_first) lost = rules.save;
  return (lost + rules.requeue + rules.reload) * job.ask.gpus;
}

std::optional<PreemptionPlan> choose_victims(JobIndex index, const QueueView& view,
                                             const NodePool& pool, const PreemptionRules& rules) {
  const QueuedJob& job = view.job(index);
  NodePool freed = pool;
  LimitRoom room;
  room.reset(view.gate);
  std::vector<NodeShare> where;
  PreemptionPlan plan;
  bool has_place = false;
  for (const JobIndex victim : eligible_for(job, view, rules)) {
    freed.give(view.job(victim).shares);
    room.give(view.job(victim));
    plan.victims.push_back(victim);
    has_place = room.admits(job) && freed.place(job.ask, view.mask_of(job), where);
    if (has_place) break;
  }
  if (!has_place) return std::nullopt;
  for (auto i = plan.victims.size(); i-- > 0;) {
    const QueuedJob& spared = view.job(plan.victims[i]);
    NodePool without = freed;
    without.take_at_most(spared.shares);
    LimitRoom less = room;
    less.take(spared);
    if (!less.admits(job) || !without.place(job.ask, view.mask_of(job), where)) continue;
    freed = without;
    room = less;
    plan.victims.erase(plan.victims.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const JobIndex victim : plan.victims) {
    plan.lost += preemption_cost(view.job(victim), view.now, rules);
  }
  return plan;
}

}  // namespace orrery::cluster
