// What all replications of a run share and never change: the world, and its workloads with their
// costs.
#pragma once

#include <vector>

#include "model/jobs/resolve_jobs.h"
#include "twin/processes/service_plan.h"
#include "twin/processes/work_plan.h"
#include "twin/storage/storage_run.h"
#include "twin/world/world_spec.h"

namespace orrery::processes {

struct Scenario : world::WorldSpec {
  std::vector<jobs::TrainJob> trains;  // in the design's order, infeasible ones included
  std::vector<ServicePlan> services;   // one per zone
  std::vector<BatchPlan> batches;
  std::vector<StreamPlan> streams;
  std::vector<SlicePlan> slices;
  bool has_storage_run = false;  // the costs of saves come from twin/storage/storage_run.h

  twin_storage::StorageWork storage_work() const { return {machine, trains, horizon}; }
};

// Returns the scenario of a machine and the jobs on it; `machine` must outlive it. `read` returns
// the text of a trace that the design names. Once `stop` returns true the function ends early, and
// its result must not be used.
Scenario scenario_of(const machine::Machine& machine, const jobs::Jobs& jobs, Seconds horizon,
                     const catalog::ReadFile& read = {}, const std::function<bool()>& stop = {});
// The same for a caller that has no jobs yet: resolves them first.
Scenario scenario_of(const machine::Machine& machine, Seconds horizon,
                     const catalog::ReadFile& read = {}, const std::function<bool()>& stop = {});

}  // namespace orrery::processes
