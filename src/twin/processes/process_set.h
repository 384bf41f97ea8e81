// The processes of one replication, by kind, as a scenario asks for them.
//
// They are added to the world in this order, and begin in it: services, which run all the time and
// so are placed first; training runs; batches; streams; slices; the pipeline last.
#pragma once

#include <memory>
#include <vector>

#include "twin/processes/pipeline_process.h"
#include "twin/processes/scenario.h"
#include "twin/processes/service_process.h"
#include "twin/processes/service_regions.h"
#include "twin/processes/slice_process.h"
#include "twin/processes/task_process.h"
#include "twin/processes/train_process.h"

namespace orrery::processes {

class ProcessSet {
 public:
  // World and scenario must outlive the set; the world owns the processes.
  ProcessSet(world::World& world, const Scenario& scenario);

  // In the scenario's order.
  const std::vector<ServiceProcess*>& services() const { return services_; }
  const std::vector<TrainProcess*>& trains() const { return trains_; }
  const std::vector<BatchProcess*>& batches() const { return batches_; }
  const std::vector<StreamProcess*>& streams() const { return streams_; }
  const std::vector<SliceProcess*>& slices() const { return slices_; }
  // Null if the design has none.
  const PipelineProcess* pipeline() const { return pipeline_.get(); }

 private:
  template <class T, class Plan, class... Rest>
  void add(world::World& world, std::vector<T*>& kind, const Plan& plan,
           const design::Workload& workload, Rest... rest);

  std::unique_ptr<PipelineProcess> pipeline_;
  std::vector<ServiceProcess*> services_;
  std::vector<TrainProcess*> trains_;
  std::vector<BatchProcess*> batches_;
  std::vector<StreamProcess*> streams_;
  std::vector<SliceProcess*> slices_;
  std::unique_ptr<ServiceRegions> regions_;
};

}  // namespace orrery::processes
