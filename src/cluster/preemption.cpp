#include "cluster/preemption.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

// Drops, dearest first, every victim without which enough is still freed.
void spare_needless(std::span<const RunningJob> jobs, int wanted, PreemptionPlan& plan) {
  for (auto i = plan.victims.size(); i-- > 0;) {
    const RunningJob& job = jobs[plan.victims[i]];
    if (plan.gpus_freed - job.gpus < wanted) continue;
    plan.gpus_freed -= job.gpus;
    plan.lost -= preemption_cost(job);
    plan.victims.erase(plan.victims.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

Seconds preemption_cost(const RunningJob& job) {
  const Seconds before = job.saves_first ? job.save : job.since_checkpoint;
  return (before + job.requeue + job.reload) * job.gpus;
}

PreemptionPlan choose_victims(std::span<const RunningJob> jobs, const PreemptionRequest& request) {
  std::vector<std::size_t> eligible;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool old_enough = jobs[i].running >= request.minimum_runtime;
    if (jobs[i].priority < request.priority && old_enough && jobs[i].gpus > 0) {
      eligible.push_back(i);
    }
  }
  std::stable_sort(eligible.begin(), eligible.end(), [&](std::size_t a, std::size_t b) {
    return preemption_cost(jobs[a]) / jobs[a].gpus < preemption_cost(jobs[b]) / jobs[b].gpus;
  });
  PreemptionPlan plan;
  for (const std::size_t i : eligible) {
    if (plan.gpus_freed >= request.gpus) break;
    plan.victims.push_back(i);
    plan.gpus_freed += jobs[i].gpus;
    plan.lost += preemption_cost(jobs[i]);
  }
  plan.enough = plan.gpus_freed >= request.gpus;
  if (plan.enough) spare_needless(jobs, request.gpus, plan);
  return plan;
}

}  // namespace orrery::cluster
