// How the batch of a training run divides over accelerators: on which counts it divides evenly, and
// which batch near it would divide over a given count.
//
//   tp x pp x cp x dp = accelerators,  batch = dp x microbatch x (whole number)
// A non-transformer network is only data-parallel: its batch is a multiple of the accelerators.
#pragma once

#include <optional>
#include <vector>

#include "model/figures/assumptions.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {

using figures::assumptions::kLeastShareUsed;

// Returns the accelerators of the run's fleet: all, or those of the nodes that the run asks for.
int accelerators_for(const TrainJob& job);

// Returns true if some split of `gpus` divides the run's batch evenly.
bool batch_spreads(const TrainJob& job, int gpus);

// Returns the largest counts over which the run's batch divides, at most two.
std::vector<int> counts_to_try(const TrainJob& job, int available);

// Returns the batch nearest to the run's own that divides over `gpus`; nothing if no
// batch does.
std::optional<int> nearest_batch(const TrainJob& job, int gpus);

}  // namespace orrery::jobs
