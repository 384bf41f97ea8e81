// Every workload of a machine as a job, resolved once.
//
//   services     split, capacity, replicas: what they hold is no spare of a training run
//   trains       step, feed, saves, failures, with the nodes that services leave
//   batches, streams, slices
// The review (plan/) reads jobs in closed form and a run (twin/) in time; neither resolves a
// workload itself, so that both were asked the same. Jobs point into their machine and its design.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "model/jobs/batch_job.h"
#include "model/jobs/queued_job.h"
#include "model/jobs/serve_job.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {

using Job = std::variant<TrainJob, ServeJob, BatchJob, StreamJob, SliceJob>;
// In the design's order; a service in zones has one per zone.
using Jobs = std::vector<Job>;

const JobHead& head_of(const Job& job);

// Calls `visit` with each job of one kind, in order.
template <class T, class Visit>
void for_each_job(const Jobs& jobs, Visit visit) {
  for (const Job& job : jobs) {
    if (const T* one = std::get_if<T>(&job)) visit(*one);
  }
}

// `earlier` are the jobs of a design that differs in nothing a training step or a service depends
// on: both are taken from it.
Jobs resolve_jobs(const machine::Machine& machine, const Jobs* earlier = nullptr);

// A machine and the jobs on it; copies share both, and neither changes.
struct LoadedMachine {
  std::shared_ptr<const machine::Machine> machine;
  std::shared_ptr<const Jobs> jobs;
};

LoadedMachine load_machine(design::Design design, const machine::Models& models,
                           const Jobs* earlier = nullptr);

}  // namespace orrery::jobs
