// How the batch of a training run spreads over accelerators: which counts it divides, and which
// batch near it would divide a given count.
//
//   tp x pp x cp x dp = accelerators,  batch = dp x microbatch x (whole number)
// A plain network is data parallel alone: its batch is a multiple of the accelerators.
#pragma once

#include <optional>
#include <vector>

#include "model/figures/assumptions.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {

using figures::assumptions::kLeastShareUsed;

// Of the run's fleet: all, or those of the nodes it asks for.
int accelerators_for(const TrainJob& job);

// Whether some split of `gpus` spreads the run's batch evenly.
bool batch_spreads(const TrainJob& job, int gpus);

// The largest counts that the run's batch spreads over, at most two.
std::vector<int> counts_to_try(const TrainJob& job, int available);

// The batch nearest to the run's own that spreads over `gpus`, none where no
// batch does.
std::optional<int> nearest_batch(const TrainJob& job, int gpus);

}  // namespace orrery::jobs
