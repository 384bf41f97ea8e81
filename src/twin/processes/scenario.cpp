#include "twin/processes/scenario.h"

#include <utility>

namespace orrery::processes {

Scenario scenario_of(const machine::Machine& m, Seconds horizon, const catalog::ReadFile& read,
                     const std::function<bool()>& stop) {
  Scenario s{world::world_spec_of(m, horizon)};
  for (const design::Workload& w : m.design().workloads) {
    if (std::holds_alternative<design::Serve>(w.task)) {
      for (ServicePlan& plan : service_plans(m, w, true, stop)) {
        s.services.push_back(std::move(plan));
      }
    } else if (std::holds_alternative<design::Batch>(w.task)) {
      s.batches.push_back(batch_plan(m, w));
    } else if (std::holds_alternative<design::Jobs>(w.task)) {
      if (std::get<design::Jobs>(w.task).mig.empty()) {
        s.streams.push_back(stream_plan(m, w, read));
      } else {
        s.slices.push_back(slice_plan(m, w));
      }
    } else {
      jobs::TrainJob job = jobs::name_job(m, w);
      if (job.feasible()) fill_step(job, m);
      if (job.feasible()) fill_costs(job, m);
      s.trains.push_back(std::move(job));
    }
  }
  return s;
}

}  // namespace orrery::processes
