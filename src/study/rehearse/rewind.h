// Replays a cluster's own accounting: how well the model matches it, and what another scheduler or
// more nodes would have changed.
//
// The trace has recorded waits. On its first half, by submission, two things are chosen: the policy
// and the share of the fleet's GPUs that was really available, such that the simulated waits are
// nearest to the recorded ones,
//   error = sum |simulated - recorded| / sum recorded
// and a start delay, the wait of jobs that found everything free. The second half is not used for
// this: its error is stated. A what-if is simulated in the same way; its mean wait is multiplied by
// recorded over simulated on the second half, and the interval is the 80 % range of that factor
// over resampled days (block bootstrap), so a model that is often wrong gives a wide one. Wrong if
// users would submit differently if they waited less, and if jobs waited for something that a queue
// of GPUs does not know (holds, dependencies, licences).
#pragma once

#include <string>
#include <vector>

#include "core/base/estimate.h"
#include "study/rehearse/replay.h"

namespace orrery::rehearse {

struct WhatIf {
  std::string name;  // "easy", "8 nodes more"
  cluster::BackfillVariant policy = cluster::BackfillVariant::easy;
  cluster::NodePool pool;
};

struct RewindOptions {
  ReplayOptions playing;  // its policy is chosen here
  std::vector<cluster::BackfillVariant> policies;
  std::vector<double> shares = {1, 0.95, 0.9, 0.8, 0.7};  // shares of the fleet to try
  // with the policy as named and the pool as given
  std::vector<WhatIf> what_ifs;
};

struct RewindHalf {
  int jobs = 0;
  double recorded_s = 0;   // mean wait
  double simulated_s = 0;  // mean wait
  double error = 0;        // as defined above
};

struct WhatIfAnswer {
  std::string name;
  double simulated_s = 0;
  Estimate mean_wait;  // in seconds, of the second half's jobs
};

struct RewindResult {
  cluster::BackfillVariant policy = cluster::BackfillVariant::fifo;
  double share = 1;  // share of the fleet
  double start_delay_s = 0;
  RewindHalf first;
  RewindHalf second;
  double factor = 1;  // recorded over simulated, second half
  double factor_low = 1;
  double factor_high = 1;
  std::vector<WhatIfAnswer> answers;
};

// Replays the jobs. Jobs without a recorded wait are replayed but not compared. Each half must have
// some with one; otherwise this is an error.
Result<RewindResult> rewind(std::span<const workload::JobRecord> jobs,
                            const cluster::NodePool& pool, const RewindOptions& options);

// Returns the pool with this share of its GPUs, in whole nodes if it has several.
cluster::NodePool part_of(const cluster::NodePool& pool, double share);

}  // namespace orrery::rehearse
