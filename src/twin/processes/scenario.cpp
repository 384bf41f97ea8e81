#include "twin/processes/scenario.h"

#include <utility>

namespace orrery::processes {
namespace {

class Builder {
 public:
  Builder(Scenario& scenario, const machine::Machine& machine, const catalog::ReadFile& read,
          const std::function<bool()>& stop)
      : s_(scenario), m_(machine), read_(read), stop_(stop) {}

  void operator()(const jobs::TrainJob& job) { s_.trains.push_back(job); }
  void operator()(const jobs::BatchJob& job) { s_.batches.push_back(batch_plan(job)); }
  void operator()(const jobs::StreamJob& job) { s_.streams.push_back(stream_plan(job, read_)); }
  void operator()(const jobs::SliceJob& job) { s_.slices.push_back(slice_plan(job)); }
  // Zones follow one another; the last of a service brings all of them.
  void operator()(const jobs::ServeJob& job) {
    zones_.push_back(job);
    if (zones_.size() < job.serve->zones.size()) return;
    for (ServicePlan& plan : service_plans(std::exchange(zones_, {}), m_, true, stop_)) {
      s_.services.push_back(std::move(plan));
    }
  }

 private:
  Scenario& s_;
  const machine::Machine& m_;
  const catalog::ReadFile& read_;
  const std::function<bool()>& stop_;
  std::vector<jobs::ServeJob> zones_;  // of the service that comes next
};

}  // namespace

Scenario scenario_of(const machine::Machine& m, const jobs::Jobs& jobs, Seconds horizon,
                     const catalog::ReadFile& read, const std::function<bool()>& stop) {
  Scenario s{world::world_spec_of(m, horizon)};
  Builder builder(s, m, read, stop);
  for (const jobs::Job& job : jobs) std::visit(builder, job);
  return s;
}

Scenario scenario_of(const machine::Machine& m, Seconds horizon, const catalog::ReadFile& read,
                     const std::function<bool()>& stop) {
  return scenario_of(m, jobs::resolve_jobs(m), horizon, read, stop);
}

}  // namespace orrery::processes
