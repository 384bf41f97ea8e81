// The cost of preempting a running job, and which jobs to preempt.
//
//   lost GPU-seconds = GPUs x (work since the last checkpoint, or the save + requeue delay +
//   reload)
// Victims must be in a lower tier (Slurm's PriorityTier of a partition) or in a QOS that the
// waiting job's QOS preempts. They are taken in order of tier and then of lost GPU-seconds per GPU
// freed, until the job fits on the nodes and within its limits. Victims that turn out to be
// unnecessary are then spared, the most expensive first. The search is greedy: one more expensive
// victim may have sufficed where it takes two cheap ones.
#pragma once

#include <optional>
#include <vector>

#include "core/base/quantity.h"
#include "layers/cluster/backfill.h"

namespace orrery::cluster {

enum class VictimOrder {
  cheapest,      // lowest lost GPU-seconds per GPU freed first
  fewest_nodes,  // Slurm's preempt/partition_prio: the smallest job first, whatever it loses
};
inline constexpr Word<VictimOrder> kVictimOrderWords[] = {
    {VictimOrder::cheapest, "cheapest"}, {VictimOrder::fewest_nodes, "fewest-nodes"}};
constexpr WordTable<VictimOrder> words_of(VictimOrder) { return kVictimOrderWords; }

struct PreemptionRules {
  VictimOrder order = VictimOrder::cheapest;
  Seconds checkpoint;        // time between a job's saves; zero: all work since its start is lost
  bool saves_first = false;  // the victim gets time to save: it loses that time and no work
  Seconds save;
  Seconds requeue;
  Seconds reload;
  Seconds minimum_runtime;  // jobs that have run less are spared (2 h in Meta's RSC)
  // Indexed by QOS and QOS (0 for none): whether the first may preempt the second. Empty: tiers
  // decide.
  std::vector<std::vector<bool>> of_qos;

  bool may_take(const QueuedJob& job, const QueuedJob& other) const {
    return of_qos.empty() ? other.tier < job.tier : of_qos[job.qos][other.qos];
  }
  // Returns true if the job may preempt any other at all.
  bool takes(const QueuedJob& job) const;
};

// Returns the GPU-seconds lost if the running job is preempted now.
Seconds preemption_cost(const QueuedJob& job, sim::SimTime now, const PreemptionRules& rules);

struct PreemptionPlan {
  std::vector<JobIndex> victims;
  Seconds lost;  // GPU-seconds
};
// Returns nullopt if preempting every permitted victim would still not make room.
std::optional<PreemptionPlan> choose_victims(JobIndex job, const QueueView& view,
                                             const NodePool& pool, const PreemptionRules& rules);

}  // namespace orrery::cluster
