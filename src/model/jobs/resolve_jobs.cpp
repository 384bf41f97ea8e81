#include "model/jobs/resolve_jobs.h"

#include <algorithm>
#include <utility>

#include "model/jobs/build_machine.h"

namespace orrery::jobs {
namespace {

// Jobs of an equal design, in the same order.
template <class T>
std::vector<const T*> jobs_of(const Jobs* jobs) {
  std::vector<const T*> out;
  if (jobs != nullptr) for_each_job<T>(*jobs, [&](const T& job) { out.push_back(&job); });
  return out;
}

void copy_step(const TrainJob& from, TrainJob& to) {
  to.step = from.step;
  to.infeasible = from.infeasible;
  to.accelerators = from.accelerators;
  to.hosts = from.hosts;
}

class Resolver {
 public:
  Resolver(const machine::Machine& machine, const Jobs* earlier)
      : m_(machine),
        held_(machine.ledger),
        served_(jobs_of<ServeJob>(earlier)),
        trained_(jobs_of<TrainJob>(earlier)) {}

  Jobs resolve() {
    // Services first: what they hold is no spare of a training run.
    std::vector<std::vector<ServeJob>> services(m_.design().workloads.size());
    for (std::size_t i = 0; i < services.size(); ++i) {
      const design::Workload& w = m_.design().workloads[i];
      if (std::holds_alternative<design::Serve>(w.task)) services[i] = service(w);
    }
    Jobs jobs;
    for (std::size_t i = 0; i < services.size(); ++i) {
      for (ServeJob& job : services[i]) jobs.emplace_back(std::move(job));
      if (services[i].empty()) jobs.push_back(other(m_.design().workloads[i]));
    }
    return jobs;
  }

 private:
  std::vector<ServeJob> service(const design::Workload& w) {
    std::vector<ServeJob> jobs = served_.empty() ? serve_jobs(m_, w) : taken_over(w);
    for (const ServeJob& job : jobs) {
      if (job.fleet == nullptr || !job.feasible()) continue;
      const double nodes = job.devices / machine::units_per_node(*job.fleet);
      book(held_.fleets[job.fleet->index], {.workload = &w, .nodes = nodes, .needed = nodes});
    }
    return jobs;
  }

  std::vector<ServeJob> taken_over(const design::Workload& w) {
    const std::size_t zones = std::get<design::Serve>(w.task).zones.size();
    std::vector<ServeJob> jobs;
    for (std::size_t z = 0; z < std::max<std::size_t>(1, zones); ++z) {
      jobs.push_back(jobs::taken_over(*served_[next_service_++], m_, w));
    }
    return jobs;
  }

  TrainJob train(const design::Workload& w) {
    TrainJob job = name_job(m_, w);
    const TrainJob* earlier = trained_.empty() ? nullptr : trained_[next_train_++];
    if (!job.feasible()) return job;
    if (earlier != nullptr) {
      copy_step(*earlier, job);
    } else {
      fill_step(job, m_);
    }
    if (job.feasible()) fill_costs(job, m_, &held_);
    return job;
  }

  Job other(const design::Workload& w) {
    if (std::holds_alternative<design::Batch>(w.task)) return batch_job(m_, w);
    if (std::holds_alternative<design::Train>(w.task)) return train(w);
    if (std::get<design::Jobs>(w.task).mig.empty()) return stream_job(m_, w);
    return slice_job(m_, w);
  }

  const machine::Machine& m_;
  machine::Ledger held_;  // with what services hold
  std::vector<const ServeJob*> served_;  // of the earlier design
  std::vector<const TrainJob*> trained_;
  std::size_t next_service_ = 0;
  std::size_t next_train_ = 0;
};

}  // namespace

const JobHead& head_of(const Job& job) {
  return std::visit([](const auto& one) -> const JobHead& { return one; }, job);
}

Jobs resolve_jobs(const machine::Machine& m, const Jobs* earlier) {
  return Resolver(m, earlier).resolve();
}

LoadedMachine load_machine(design::Design design, const machine::Models& models,
                           const Jobs* earlier) {
  LoadedMachine loaded;
  loaded.machine =
      std::make_shared<const machine::Machine>(build_machine(std::move(design), models));
  loaded.jobs = std::make_shared<const Jobs>(resolve_jobs(*loaded.machine, earlier));
  return loaded;
}

}  // namespace orrery::jobs
