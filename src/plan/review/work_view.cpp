#include "plan/review/work_view.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/statistics.h"
#include "model/figures/assumptions.h"
#include "model/machine/partitions.h"
#include "model/machine/site_load.h"

namespace orrery::review {
namespace {

using figures::assumptions::kArrivalStep;
using figures::assumptions::kJobVariation;

// Returns the hosts of the fleet for a workload: as many as it asks for, or else what others leave;
// all if they leave none, and then a rule says that the fleet is over-booked.
int hosts_for(const machine::Ledger& ledger, const machine::Fleet& f, const design::Workload& w) {
  const int per_node = f.hosts_per_node();
  if (w.terms.nodes) return std::min(f.hosts, *w.terms.nodes * per_node);
  const machine::FleetBook& book = ledger.fleets[f.index];
  const double left = std::floor((book.count - book.held_beside(w)) * per_node + 1e-9);
  return left >= 1 ? static_cast<int>(left) : f.hosts;
}

// Returns the hosts of the fleet that reservations keep from the workload, on average over time. A
// window that never repeats counts as zero.
double reserved_hosts(const machine::Machine& m, const machine::Fleet& f,
                      const design::Workload& w) {
  const double per_node = static_cast<double>(f.hosts) / std::max(1, f.fleet->count);
  double hosts = 0;
  for (const design::Reservation& r : m.design().scheduler.reservations) {
    const Seconds period = length_of(r.repeat);
    const bool is_theirs = std::ranges::find(r.tenants, w.terms.tenant) != r.tenants.end();
    if (is_theirs || period <= Seconds(0)) continue;
    if (machine::reserved_fleet(m.design(), m.fleets, r) != &f) continue;
    hosts += r.nodes.value_or(f.fleet->count) * per_node * std::min(1.0, r.duration / period);
  }
  return std::min(hosts, static_cast<double>(f.hosts));
}

// Returns the ratio of users' time limits to run times, in the middle of a log-uniform range that
// begins at 1.
double users_limit() { return std::sqrt(figures::assumptions::kUsersLimitMost); }

// Job times are log-normal, as in a run. Most jobs are short and can be moved; but most energy goes
// to long ones, which find hardly any clean hour. So the mean over all jobs is weighted by work.
std::optional<CleanView> clean_jobs(const machine::Machine& m, const design::Workload& w,
                                    Seconds mean) {
  const auto clean = machine::clean_work(m, w);
  if (!clean) return std::nullopt;
  const double s2 = math::log(1 + kJobVariation * kJobVariation);
  WeightedMean<Seconds> held;
  GramsPerJoule with, without;
  for (double z = -3; z <= 5; z += 0.5) {
    const Seconds takes = mean * math::exp(std::sqrt(s2) * z - s2 / 2);
    const double share = math::exp(-z * z / 2);
    const facility::CleanEffect e =
        effect_of(clean->grid, clean->rule, kArrivalStep, {takes * users_limit(), takes});
    held.add(e.held, share);
    with += e.with * (share * (takes / mean));
    without += e.without * (share * (takes / mean));
  }
  return CleanView{.held = held.value_or(Seconds(0)),
                   .ratio = without > GramsPerJoule(0) ? with / without : 1};
}

std::optional<CleanView> clean_batch(const machine::Machine& m, const design::Workload& w,
                                     Seconds every, Seconds takes) {
  const auto clean = machine::clean_work(m, w);
  if (!clean) return std::nullopt;
  const facility::CleanEffect e = effect_of(clean->grid, clean->rule, every, {takes, takes});
  return CleanView{.held = e.held, .ratio = e.ratio()};
}

JobsView jobs_view(const machine::Machine& m, const machine::Ledger& ledger, jobs::QueuedJob job) {
  JobsView v{std::move(job)};
  if (v.fleet == nullptr) return v;
  const int per_host = std::max(1, v.fleet->accelerators_per_host);
  const int hosts = hosts_for(ledger, *v.fleet, *v.workload);
  const std::vector<int> free(static_cast<std::size_t>(hosts), per_host);
  v.largest_fits = cluster::place_gang({.nodes = (v.largest + per_host - 1) / per_host,
                                        .gpus_per_node = std::min(v.largest, per_host)},
                                       free, per_host)
                       .verdict;
  if (v.jobs->mean_duration) v.clean = clean_jobs(m, *v.workload, v.mean_run);
  if (v.jobs->rate && v.jobs->mean_duration && v.mean_size > 0) {
    v.work_units = v.rate * v.mean_run * v.mean_size;
    const double there = std::min(static_cast<double>(hosts),
                                  v.fleet->hosts - reserved_hosts(m, *v.fleet, *v.workload));
    v.queue = cluster::estimate_wait({.servers = std::max(1.0, there * per_host / v.mean_size),
                                      .arrivals = v.rate,
                                      .service = v.mean_run,
                                      .service_variation = kJobVariation});
  }
  return v;
}

BatchView batch_view(const machine::Machine& m, const machine::Ledger& ledger, jobs::BatchJob job) {
  BatchView v{std::move(job)};
  if (v.fleet == nullptr) return v;
  const design::Batch& batch = *v.batch;
  const int hosts = hosts_for(ledger, *v.fleet, *v.workload);
  const double there = static_cast<double>(v.tasks_per_host) * hosts;
  v.at_once = std::max(1.0, std::min(there, static_cast<double>(v.tasks)));
  const double per_host = there / std::max(1, hosts);
  v.nodes = v.at_once / std::max(1.0, per_host) * v.fleet->fleet->count / v.fleet->hosts;
  // Only whole tasks run: the last round may be half empty.
  const double rounds = std::max(1.0, static_cast<double>(v.tasks) / v.at_once);
  if (batch.inference) v.again = jobs::work_again(v.task, m.failures_of(*v.fleet).rate);
  v.compute = v.task * rounds * v.again;
  if (v.tier && batch.dataset.size && v.tier->read > BytesPerSecond(0)) {
    v.read = *batch.dataset.size / v.tier->read;
  }
  if (v.tier && batch.output && v.tier->write > BytesPerSecond(0)) {
    v.write = *batch.output / v.tier->write;
  }
  v.duration = max(max(v.compute, v.read), v.write);
  v.clean =
      clean_batch(m, *v.workload, batch.repeat ? batch.repeat->every : Seconds(0), v.duration);
  return v;
}

}  // namespace

std::vector<JobsView> view_jobs(const jobs::Jobs& jobs, const machine::Machine& m,
                                const machine::Ledger& ledger) {
  std::vector<JobsView> views;
  for (const jobs::Job& job : jobs) {
    if (const auto* stream = std::get_if<jobs::StreamJob>(&job)) {
      views.push_back(jobs_view(m, ledger, *stream));
    } else if (const auto* slices = std::get_if<jobs::SliceJob>(&job)) {
      views.push_back(jobs_view(m, ledger, *slices));
    }
  }
  return views;
}

std::vector<BatchView> view_batches(const jobs::Jobs& jobs, const machine::Machine& m,
                                    const machine::Ledger& ledger) {
  std::vector<BatchView> views;
  jobs::for_each_job<jobs::BatchJob>(jobs, [&](const jobs::BatchJob& job) {
    views.push_back(batch_view(m, ledger, job));
  });
  return views;
}

std::vector<MigView> view_mig(const machine::Machine& m) {
  std::vector<MigView> views;
  for (const machine::Fleet& f : m.fleets) {
    if (f.fleet->mig.empty() || f.accelerator() == nullptr) continue;
    std::vector<cluster::MigDemand> demand;
    for (const design::MigSlices& s : f.fleet->mig) demand.push_back({s.profile, s.count});
    MigView v{.fleet = &f};
    v.packing =
        pack_mig(demand, cluster::profiles_of(m.catalog().mig_profiles, f.accelerator()->id));
    v.fits = v.packing.unplaced.empty() && v.packing.gpus.size() <= 1;
    views.push_back(std::move(v));
  }
  return views;
}

}  // namespace orrery::review
