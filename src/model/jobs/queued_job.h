// Jobs of many users on the machine, as they come to a queue: a stream of gangs of accelerators, or
// of jobs that ask for a slice of one (MIG).
//
//   stream   Poisson arrivals at the design's rate, or a trace that a run replays; widths by the
//            design's weights
//   slices   Poisson arrivals; a slice each, by the design's mix
#pragma once

#include <string>
#include <vector>

#include "layers/cluster/mig.h"
#include "model/jobs/job_head.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct QueuedJob : JobHead {
  const design::Jobs* jobs = nullptr;
  bool from_trace = false;  // that a run replays
  PerSecond rate;           // of arrivals; 0 of a trace
  Seconds mean_run;         // of one
  double mean_size = 0;     // accelerators of one
  int largest = 0;
};

struct StreamJob : QueuedJob {
  std::vector<int> sizes;
  std::vector<double> shares;  // of the sizes, rising to 1
};

struct SliceJob : QueuedJob {
  std::vector<catalog::MigProfile> profiles;  // of the accelerator
  std::vector<int> wanted;                    // of them, what jobs ask for
  std::vector<double> shares;                 // of what they ask for, rising to 1
  cluster::MigLayout fixed;  // how the design cuts every accelerator; empty: as jobs come
};

StreamJob stream_job(const machine::Machine& machine, const design::Workload& workload);
SliceJob slice_job(const machine::Machine& machine, const design::Workload& workload);

}  // namespace orrery::jobs
