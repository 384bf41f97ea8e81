// Streams of jobs and batch work as a run needs them: arrivals, widths and run times.
//
//   stream   Poisson arrivals at the design's rate, or a trace; widths by the design's weights; run
//            times log-normal with the design's mean and a coefficient of variation of 3, as in
//            the review (Philly: minutes to weeks); limits that users give are 1 to 4 times
//            that, log-uniform (assumed)
//   batch    an array of elements, each with the tasks of one host:
//            element = max(task, its share of reading, its share of writing), the tier shared
//            evenly
// Wrong if users differ from each other, and if a batch's elements read unevenly.
#pragma once

#include <vector>

#include "core/workload/job_trace.h"
#include "model/jobs/batch_job.h"
#include "model/jobs/queued_job.h"

namespace orrery::processes {

struct StreamPlan {
  jobs::StreamJob job;
  design::FleetIndex fleet;
  std::vector<workload::JobRecord> trace;  // empty: jobs are drawn at random

  bool feasible() const { return job.feasible(); }
};

// A stream of jobs that each ask for a slice of an accelerator.
struct SlicePlan {
  jobs::SliceJob job;
  design::FleetIndex fleet;

  bool feasible() const { return job.feasible(); }
};

struct BatchPlan {
  jobs::BatchJob job;
  design::FleetIndex fleet;
  Seconds element;  // time of one element

  bool feasible() const { return job.feasible(); }
};

// Reads the trace that the job names, if it names one.
StreamPlan stream_plan(jobs::StreamJob job, const catalog::ReadFile& read);
SlicePlan slice_plan(jobs::SliceJob job);
BatchPlan batch_plan(jobs::BatchJob job);

}  // namespace orrery::processes
