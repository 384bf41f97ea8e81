// A cluster's own accounting played again: what the model gets right, and what another scheduler or
// more nodes would have changed.
//
// The trace has recorded waits. On its first half, by submission, two things are chosen: the policy
// and the share of the fleet's GPUs that was really there to use, those that bring the simulated
// waits nearest to the recorded ones,
//   error = sum |simulated - recorded| / sum recorded
// and a start delay, the wait of jobs that found everything free. The second half was not looked
// at: its error is stated. A what-if is simulated in the same way; its mean wait is multiplied by
// what the record was over the model on the second half, and the interval is the 80 % range of that
// factor over resampled days (block bootstrap), so a model that is often wrong gives a wide one.
// Wrong where users would submit otherwise if they waited less, and where jobs waited for what a
// queue of GPUs does not know (holds, dependencies, licences).
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
  std::vector<double> shares = {1, 0.95, 0.9, 0.8, 0.7};  // of the fleet, tried
  std::vector<WhatIf> what_ifs;                           // policy as named, pool as given
};

struct RewindHalf {
  int jobs = 0;
  double recorded_s = 0;   // mean wait
  double simulated_s = 0;  // mean wait
  double error = 0;        // see above
};

struct WhatIfAnswer {
  std::string name;
  double simulated_s = 0;
  Estimate mean_wait;  // in seconds, of the second half's jobs
};

struct RewindResult {
  cluster::BackfillVariant policy = cluster::BackfillVariant::fifo;
  double share = 1;  // of the fleet
  double start_delay_s = 0;
  RewindHalf first;
  RewindHalf second;
  double factor = 1;  // recorded over simulated, second half
  double factor_low = 1;
  double factor_high = 1;
  std::vector<WhatIfAnswer> answers;
};

// Jobs without a recorded wait are played but not compared. At least some of each half must have
// one; else this is an error.
Result<RewindResult> rewind(std::span<const workload::JobRecord> jobs,
                            const cluster::NodePool& pool, const RewindOptions& options);

// The pool with so much of its GPUs, whole nodes where it has several.
cluster::NodePool part_of(const cluster::NodePool& pool, double share);

}  // namespace orrery::rehearse
