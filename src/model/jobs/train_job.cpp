#include "model/jobs/train_job.h"

#include "core/workload/model_math.h"
#include "layers/fabric/collective_model.h"

namespace orrery::jobs {
namespace {

double units_of_run(const TrainJob& job) {
  const design::Train& t = *job.train;
  if (job.model) return t.tokens.value_or(0);
  if (t.samples) return *t.samples;
  return t.dataset.samples.value_or(0) * t.dataset.epochs;
}

// Returns the contention on the compute network, per host: what the loaders read all the time, and
// what a drain adds.
Contention contention_of(const TrainJob& job, const machine::Machine& m) {
  if (!m.design().fabric.storage.converged || job.hosts == 0) return {};
  const BytesPerSecond wire = m.networks_of(*job.fleet).compute.per_node();
  if (wire <= BytesPerSecond(0)) return {};
  const auto slower = [&](BytesPerSecond traffic) {
    const double left = fabric::free_share({.capacity = wire, .storage = traffic});
    return job.step.exposed_network_share * (1 / left - 1);
  };
  const BytesPerSecond feed = job.feed.wanted / job.hosts;
  Contention c{.feeding = slower(feed), .draining = slower(feed)};
  if (job.checkpoint && job.checkpoint->async) {
    c.draining = slower(feed + job.checkpoint->load.busiest_node / job.checkpoint->drain.total);
  }
  return c;
}

}  // namespace

JobHead job_head(const machine::Machine& m, const design::Workload& workload) {
  return {.workload = &workload,
          .label = label_of(m.design(), workload),
          .path = machine::path_of(workload),
          .fleet = fleet_of(m.fleets, workload),
          .infeasible = {}};
}

TrainJob name_job(const machine::Machine& m, const design::Workload& workload) {
  TrainJob job;
  static_cast<JobHead&>(job) = job_head(m, workload);
  job.train = &std::get<design::Train>(workload.task);
  const std::string& model = job.train->model;
  job.model = model.empty() ? nullptr : find_model(m.design(), m.catalog(), model);
  job.parameters = job.model            ? workload::count_parameters(*job.model).total
                   : job.train->network ? job.train->network->params
                                        : 0;
  if (job.fleet == nullptr) job.infeasible = "there is no fleet to run on";
  return job;
}

void fill_costs(TrainJob& job, const machine::Machine& m, const machine::Ledger* ledger) {
  fill_feed(job, m);
  job.units = units_of_run(job);
  const double rate = job.raw_rate();
  job.raw_time = rate > 0 ? Seconds(job.units / rate) : Seconds(0);
  fill_failure(job, m, (ledger ? *ledger : m.ledger).fleets[job.fleet->index]);
  fill_checkpoint(job, m);
  job.contended = contention_of(job, m);
}

}  // namespace orrery::jobs
