// Streams of jobs and batch work as a run needs them: what comes, how wide, how long.
//
//   stream   Poisson arrivals at the design's rate, or a trace; widths by the design's weights; run
//            times log-normal with the design's mean and a coefficient of variation of 3, as the
//            review takes it (Philly: minutes to weeks); limits that users give are 1 to 4 times
//            that, log-uniform (assumed)
//   batch    an array of elements, each a host's worth of tasks:
//            element = max(task, its part of reading, its part of writing), the tier shared evenly
// Wrong where users are unlike each other, and where a batch's elements read unevenly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/cluster/mig.h"
#include "model/machine/machine.h"
#include "core/workload/job_trace.h"

namespace orrery::twin {

struct StreamPlan {
  const design::Workload* workload = nullptr;
  const design::Jobs* jobs = nullptr;
  std::string label;
  std::size_t fleet = 0;
  std::string infeasible;
  std::vector<workload::JobRecord> trace;  // empty: drawn
  std::vector<int> sizes;
  std::vector<double> shares;  // of the sizes, rising to 1
  PerSecond rate;
  Seconds mean_run;

  bool feasible() const { return infeasible.empty(); }
};

// A stream of jobs that ask for a slice of an accelerator each.
struct SlicePlan {
  const design::Workload* workload = nullptr;
  std::string label;
  std::size_t fleet = 0;
  std::string infeasible;
  std::vector<catalog::MigProfile> profiles;  // of the accelerator
  std::vector<int> wanted;                    // of them, what jobs ask for
  std::vector<double> shares;                 // rising to 1
  cluster::MigLayout fixed;  // how the design cuts every accelerator; empty: as jobs come
  PerSecond rate;
  Seconds mean_run;

  bool feasible() const { return infeasible.empty(); }
};

struct BatchPlan {
  const design::Workload* workload = nullptr;
  const design::Batch* batch = nullptr;
  std::string label;
  std::size_t fleet = 0;
  std::string infeasible;
  int elements = 0;
  int slots = 1;                 // of one element
  Seconds element;               // how long one takes
  Seconds compute;               // of it, were the data there
  std::optional<Seconds> bound;  // of a run: its window or deadline

  bool feasible() const { return infeasible.empty(); }
};

StreamPlan stream_plan(const machine::Machine& machine, const design::Workload& workload,
                       const catalog::ReadFile& read);
SlicePlan slice_plan(const machine::Machine& machine, const design::Workload& workload);
BatchPlan batch_plan(const machine::Machine& machine, const design::Workload& workload);

}  // namespace orrery::twin
