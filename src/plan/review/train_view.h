// A training run in closed form: what the costs of jobs/train_job.h add up to over time.
//
//   goodput = AU * (1 - contention) * efficiency(tau, C, R, M) * P(enough nodes)
// AU is the loader's utilisation, tau the interval of the saves, C their stall, R the restart, M
// the job's MTBF. Goodput is the share of the wall time of the job's nodes that becomes training at
// the step's own speed. It excludes MFU: a slow step is not lost time, only slow.
#pragma once

#include <vector>

#include "layers/facility/node_power.h"
#include "layers/failure/effective_time.h"
#include "model/jobs/resolve_jobs.h"

namespace orrery::review {

struct TrainView : jobs::TrainJob {
  failure::TimeShares shares;  // of checkpoints and failures
  double contention = 0;       // share of the step lost to storage traffic on the compute network
  double efficiency = 1;       // after checkpoints and failures
  double goodput = 0;
  double goodput_low = 0;  // goodput at the high end of the failure rate, and at its low end
  double goodput_high = 0;
  double units_per_s = 0;        // tokens or samples, after losses
  Seconds run_time;              // after losses
  facility::PhaseShares phases;  // shares of the wall time
};

// Returns one view per training run, in order.
std::vector<TrainView> view_trains(const jobs::Jobs& jobs);

}  // namespace orrery::review
