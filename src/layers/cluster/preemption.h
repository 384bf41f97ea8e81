// What taking a running job's GPUs costs, and whose to take.
//
//   lost GPU-seconds = GPUs x (work since the last checkpoint, or the save + requeue delay +
//   reload)
// Only jobs of a lower tier (Slurm's PriorityTier of a partition), or of a QOS that the job's own
// preempts, are taken, in order of tier and then of lost GPU-seconds for each GPU freed, until the
// job has its place on the nodes and its limits admit it; then those that the rest made needless
// are spared, dearest first. Greedy: on nodes a dearer single victim may have done where two cheap
// ones were taken.
#pragma once

#include <optional>
#include <vector>

#include "core/base/quantity.h"
#include "layers/cluster/backfill.h"

namespace orrery::cluster {

enum class VictimOrder {
  cheapest,      // by lost GPU-seconds for each GPU freed
  fewest_nodes,  // Slurm's preempt/partition_prio: the smallest first, whatever it loses
};
inline constexpr Word<VictimOrder> kVictimOrderWords[] = {
    {VictimOrder::cheapest, "cheapest"}, {VictimOrder::fewest_nodes, "fewest-nodes"}};
constexpr WordTable<VictimOrder> words_of(VictimOrder) { return kVictimOrderWords; }

struct PreemptionRules {
  VictimOrder order = VictimOrder::cheapest;
  Seconds checkpoint;        // between saves of a job; zero: work since its start is lost
  bool saves_first = false;  // the victim is given time to save: it loses that and no work
  Seconds save;
  Seconds requeue;
  Seconds reload;
  Seconds minimum_runtime;  // jobs that have run less are spared (2 h in Meta's RSC)
  // By QOS and QOS, 0 for none: whether the first takes from the second. Empty: tiers decide.
  std::vector<std::vector<bool>> of_qos;

  bool may_take(const QueuedJob& job, const QueuedJob& other) const {
    return of_qos.empty() ? other.tier < job.tier : of_qos[job.qos][other.qos];
  }
  // Whether it takes from anybody at all.
  bool takes(const QueuedJob& job) const;
};

// GPU-seconds lost by preempting the running job now.
Seconds preemption_cost(const QueuedJob& job, sim::SimTime now, const PreemptionRules& rules);

struct PreemptionPlan {
  std::vector<JobIndex> victims;
  Seconds lost;  // GPU-seconds
};
// None where even all that may be taken leave the job no place.
std::optional<PreemptionPlan> choose_victims(JobIndex job, const QueueView& view,
                                             const NodePool& pool, const PreemptionRules& rules);

}  // namespace orrery::cluster
