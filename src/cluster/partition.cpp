#include "cluster/partition.h"

#include <algorithm>
#include <cmath>

#include "base/probability.h"

namespace orrery::cluster {

NodeDemand demand_of_jobs(double mean_jobs, double nodes_per_job) {
  return {.mean = mean_jobs * nodes_per_job, .deviation = std::sqrt(mean_jobs) * nodes_per_job};
}

SplitCost split_cost(const SplitFleet& fleet) {
  const NodeDemand& a = fleet.slurm;
  const NodeDemand& b = fleet.kubernetes;
  const double b_nodes = fleet.nodes - fleet.slurm_nodes;
  const double both = std::sqrt(a.deviation * a.deviation + b.deviation * b.deviation);
  SplitCost c;
  c.waiting_split = normal_excess(a.mean, a.deviation, fleet.slurm_nodes) +
                    normal_excess(b.mean, b.deviation, b_nodes);
  c.waiting_pooled = normal_excess(a.mean + b.mean, both, fleet.nodes);
  c.stranded = c.waiting_split - c.waiting_pooled;
  c.used_split = (a.mean + b.mean - c.waiting_split) / fleet.nodes;
  c.used_pooled = (a.mean + b.mean - c.waiting_pooled) / fleet.nodes;
  return c;
}

int best_border(SplitFleet fleet) {
  int best = 0;
  double least = 0;
  for (int border = 0; border <= static_cast<int>(fleet.nodes); ++border) {
    fleet.slurm_nodes = border;
    const double stranded = split_cost(fleet).stranded;
    if (border == 0 || stranded < least) least = stranded, best = border;
  }
  return best;
}

const char* to_text(QuotaVerdict v) {
  switch (v) {
    case QuotaVerdict::within:
      return "within";
    case QuotaVerdict::borrows:
      return "borrows";
    case QuotaVerdict::must_wait:
      return "must wait";
    case QuotaVerdict::never:
      return "never";
  }
  return "";
}

QuotaVerdict check_quota(std::span<const QuotaState> cohort, std::size_t tenant, int gpus) {
  const QuotaState& own = cohort[tenant];
  if (gpus > own.guaranteed + own.may_borrow) return QuotaVerdict::never;
  int guaranteed = 0;
  int used = 0;
  for (const QuotaState& q : cohort) {
    guaranteed += q.guaranteed;
    used += q.used;
  }
  const int after = own.used + gpus;
  if (after > own.guaranteed + own.may_borrow || used + gpus > guaranteed) {
    return QuotaVerdict::must_wait;
  }
  return after <= own.guaranteed ? QuotaVerdict::within : QuotaVerdict::borrows;
}

int overcommitted(std::span<const QuotaState> cohort, int fleet_gpus) {
  int guaranteed = 0;
  for (const QuotaState& q : cohort) guaranteed += q.guaranteed;
  return std::max(0, guaranteed - fleet_gpus);
}

}  // namespace orrery::cluster
