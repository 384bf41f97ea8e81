// One fleet under two schedulers: what a fixed border between Slurm and Kubernetes strands.
//
// Each side's demand for nodes varies about its mean. With a border at n_a + n_b = N, nodes idle on
// one side while jobs wait on the other:
//   stranded = E[(A - n_a)+] + E[(B - n_b)+] - E[(A + B - N)+]
// which is exactly the mean of min(idle here, waiting there), summed over both sides. Demands are
// normal (given as mean and deviation) and independent. Good to a few per cent where each mean is
// above about 10 nodes; a floor, since gangs also need their nodes at once and together.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace orrery::cluster {

struct NodeDemand {
  double mean = 0;
  double deviation = 0;
};
// Jobs of equal size that come and go on their own: the nodes they ask for vary like sqrt(jobs).
NodeDemand demand_of_jobs(double mean_jobs, double nodes_per_job);

struct SplitFleet {
  double nodes = 0;
  double slurm_nodes = 0;  // the rest is Kubernetes'
  NodeDemand slurm;
  NodeDemand kubernetes;
};

struct SplitCost {
  double stranded = 0;       // nodes idle on one side while wanted on the other, on average
  double waiting_split = 0;  // nodes' worth of demand that waits
  double waiting_pooled = 0;
  double used_split = 0;  // share of the fleet
  double used_pooled = 0;
};
SplitCost split_cost(const SplitFleet& fleet);

// The border that strands least, to a whole node.
int best_border(SplitFleet fleet);

// A tenant's guaranteed GPUs, what it may borrow of others' idle guarantee, and what it uses.
struct QuotaState {
  std::string tenant;
  int guaranteed = 0;
  int may_borrow = 0;
  int used = 0;
};

enum class QuotaVerdict { within, borrows, must_wait, never };
const char* to_text(QuotaVerdict v);

// Kueue's rule, in one cohort: a request fits if the tenant stays within guaranteed + may_borrow
// and the cohort's guarantees together cover what all then use.
QuotaVerdict check_quota(std::span<const QuotaState> cohort, std::size_t tenant, int gpus);
// Guarantees above the fleet cannot all be kept: by how many GPUs.
int overcommitted(std::span<const QuotaState> cohort, int fleet_gpus);

}  // namespace orrery::cluster
