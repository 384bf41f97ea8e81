// Jobs of many users on the machine, as they arrive at a queue: a stream of gangs of accelerators,
// or of jobs that each ask for a slice of one (MIG).
//
//   stream   Poisson arrivals at the design's rate, or a trace that a run replays; widths by the
//            design's weights
//   slices   Poisson arrivals; one slice per job, by the design's mix
#pragma once

#include <string>
#include <vector>

#include "layers/cluster/mig.h"
#include "model/jobs/job_head.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct QueuedJob : JobHead {
  const design::Jobs* jobs = nullptr;
  bool from_trace = false;  // arrivals come from a trace that a run replays
  PerSecond rate;           // rate of arrivals; 0 for a trace
  Seconds mean_run;         // per job
  double mean_size = 0;     // accelerators per job
  int largest = 0;
};

struct StreamJob : QueuedJob {
  std::vector<int> sizes;
  std::vector<double> shares;  // cumulative shares of the sizes, up to 1
};

struct SliceJob : QueuedJob {
  std::vector<catalog::MigProfile> profiles;  // profiles of the accelerator
  std::vector<int> wanted;                    // indices of the profiles that jobs ask for
  std::vector<double> shares;                 // cumulative shares of the wanted profiles, up to 1
  cluster::MigLayout fixed;  // how the design cuts every accelerator; empty: as jobs arrive
};

StreamJob stream_job(const machine::Machine& machine, const design::Workload& workload);
SliceJob slice_job(const machine::Machine& machine, const design::Workload& workload);

}  // namespace orrery::jobs
