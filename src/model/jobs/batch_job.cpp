#include "model/jobs/batch_job.h"

#include <algorithm>

#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kServerCores;
constexpr int kMostElements = 4096;

// If tasks need more memory than their share of a host, cores stay idle.
int tasks_on_host(const design::Batch& batch, const machine::Fleet& fleet) {
  if (!batch.core_hours) return fleet.accelerators_per_host;
  const double cores = fleet.node.cores.value_or(kServerCores);
  if (!batch.memory || !fleet.node.memory) return static_cast<int>(cores);
  return static_cast<int>(std::min(cores, std::max(1.0, *fleet.node.memory / *batch.memory)));
}

void fill_elements(BatchJob& job) {
  const int at_once = std::clamp(job.tasks_per_host, 1, job.tasks);
  const int arrays = (job.tasks + at_once - 1) / at_once;
  const int rounds = (arrays + kMostElements - 1) / kMostElements;
  job.elements = (arrays + rounds - 1) / rounds;
  // Work on cores takes the whole host; work on accelerators takes one per task.
  job.slots = job.on_cores ? std::max(1, job.fleet->accelerators_per_host) : at_once;
  job.element_compute = job.task * rounds;
}

// All elements that run at the same time share the tier equally.
Seconds shared(std::optional<Bytes> bytes, BytesPerSecond rate, double elements, double at_once) {
  if (!bytes || rate <= BytesPerSecond(0)) return Seconds(0);
  return *bytes / rate * (at_once / elements);
}

}  // namespace

Seconds BatchJob::element(double at_once) const {
  if (tier == nullptr) return element_compute;
  const Seconds read = shared(batch->dataset.size, tier->read, elements, at_once);
  return max(element_compute, max(read, shared(batch->output, tier->write, elements, at_once)));
}

BatchJob batch_job(const machine::Machine& m, const design::Workload& w) {
  const auto& batch = std::get<design::Batch>(w.task);
  BatchJob job;
  static_cast<JobHead&>(job) = job_head(m, w);
  job.batch = &batch;
  job.on_cores = batch.core_hours.has_value();
  job.tier = batch.dataset.tier.empty() ? nullptr : find_tier(m.tiers, batch.dataset.tier);
  if (batch.repeat) job.bound = batch.repeat->window.value_or(batch.repeat->every);
  if (batch.deadline) job.bound = job.bound ? min(*job.bound, *batch.deadline) : *batch.deadline;
  if (job.fleet == nullptr) {
    job.infeasible = "there is no fleet to run on";
    return job;
  }
  job.work = accelerator_work(m, batch, *job.fleet);
  job.infeasible = job.work.infeasible;
  job.tasks_per_host = tasks_on_host(batch, *job.fleet);
  if (job.feasible() && job.tasks_per_host == 0) {
    job.infeasible = "the batch needs accelerator hours, but its fleet has no accelerators";
  }
  job.tasks = std::max(1, job.on_cores ? batch.tasks : job.work.tasks);
  job.task = hours((job.on_cores ? *batch.core_hours : job.work.accelerator_hours) / job.tasks);
  fill_elements(job);
  return job;
}

}  // namespace orrery::jobs
