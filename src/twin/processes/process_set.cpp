#include "twin/processes/process_set.h"

#include "twin/world/world.h"

namespace orrery::processes {

ProcessSet::ProcessSet(world::World& world, const Scenario& scenario) {
  if (!scenario.machine->design().pipeline.stages.empty()) {
    pipeline_ = std::make_unique<PipelineProcess>(world, scenario.trains);
  }
  for (const ServicePlan& s : scenario.services) add(world, services_, s, *s.job.workload);
  regions_ = std::make_unique<ServiceRegions>(world.kernel(), services_);
  int run = 0;
  for (const jobs::TrainJob& t : scenario.trains) add(world, trains_, t, *t.workload, run++);
  for (const BatchPlan& b : scenario.batches) add(world, batches_, b, *b.job.workload);
  for (const StreamPlan& s : scenario.streams) add(world, streams_, s, *s.job.workload);
  for (const SlicePlan& s : scenario.slices) add(world, slices_, s, *s.job.workload);
  if (pipeline_) world.attach(*pipeline_);
}

template <class T, class Plan, class... Rest>
void ProcessSet::add(world::World& world, std::vector<T*>& kind, const Plan& plan,
                     const design::Workload& workload, Rest... rest) {
  T& process = world.add<T>(plan, rest...);
  if (pipeline_ && plan.feasible()) pipeline_->add_process(process, workload);
  kind.push_back(&process);
}

}  // namespace orrery::processes
