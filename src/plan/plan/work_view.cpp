#include "plan/plan/work_view.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/statistics.h"
#include "model/machine/partitions.h"
#include "model/machine/site_load.h"

namespace orrery::plan {
namespace {

// Job times of shared clusters vary by far more than their mean (Philly: minutes to weeks).
constexpr double kServiceVariation = 3;
// Cores of a two-socket server whose row gives none: two of 32.
constexpr int kServerCores = 64;

double mean_size(const design::Jobs& jobs) {
  WeightedMean<double> mean;
  for (std::size_t i = 0; i < jobs.sizes.size(); ++i) {
    mean.add(jobs.sizes[i], i < jobs.weights.size() ? jobs.weights[i] : 1.0 / jobs.sizes[i]);
  }
  return mean.value_or(1);
}

// Of jobs that ask for slices, the accelerators that one takes on average: their mix, packed.
double sliced_size(const machine::Machine& m, const machine::Fleet& fleet,
                   const design::Jobs& jobs) {
  std::vector<cluster::MigDemand> demand;
  double slices = 0;
  for (const design::MigSlices& s : jobs.mig) {
    demand.push_back({s.profile, s.count});
    slices += s.count;
  }
  const auto packed =
      pack_mig(demand, cluster::profiles_of(m.catalog().mig_profiles, fleet.accelerator()->id));
  return slices > 0 ? static_cast<double>(packed.gpus.size()) / slices : 1;
}

// Hosts of the fleet for a workload: as many as it asks for, else what others leave it; all where
// they leave none, and then a rule says that the fleet is over-booked.
int hosts_for(const machine::Machine& m, const machine::Ledger& ledger, const machine::Fleet& f,
              const design::Workload& w) {
  const int per_node = std::max(1, f.hosts / std::max(1, f.fleet->count));
  if (w.terms.nodes) return std::min(f.hosts, *w.terms.nodes * per_node);
  const machine::FleetBook& book = ledger.fleets[m.index_of(f)];
  const double left = std::floor((book.count - book.held_beside(w)) * per_node + 1e-9);
  return left >= 1 ? static_cast<int>(left) : f.hosts;
}

// Of the fleet's hosts, those that reservations keep from the workload, on average over time. A
// window that comes once weighs nothing.
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

// Jobs come at any time: it is looked at so often.
constexpr Seconds kComings = minutes(10);
// Users ask for twice the time in the middle of what is assumed of them (1 to 4 times,
// log-uniform).
constexpr double kUsersLimit = 2;

// Job times are log-normal, as in a run. By number most are short and can be moved; by energy the
// long ones count, of which hardly an hour is clean: so the mean over all of them, each by its
// work.
std::optional<CleanView> clean_jobs(const machine::Machine& m, const design::Workload& w,
                                    Seconds mean) {
  const auto clean = machine::clean_work(m, w);
  if (!clean) return std::nullopt;
  const double s2 = math::log(1 + kServiceVariation * kServiceVariation);
  WeightedMean<Seconds> held;
  GramsPerJoule with, without;
  for (double z = -3; z <= 5; z += 0.5) {
    const Seconds takes = mean * math::exp(std::sqrt(s2) * z - s2 / 2);
    const double share = math::exp(-z * z / 2);
    const facility::CleanEffect e =
        effect_of(clean->grid, clean->rule, kComings, {takes * kUsersLimit, takes});
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

JobsView jobs_view(const machine::Machine& m, const machine::Ledger& ledger,
                   const design::Workload& w, const design::Jobs& jobs) {
  JobsView v{.workload = &w,
             .jobs = &jobs,
             .label = label_of(m.design(), w),
             .path = machine::path_of(m.design(), w),
             .fleet = fleet_of(m.fleets, w)};
  v.from_trace = !jobs.trace.empty();
  v.mean_size = mean_size(jobs);
  v.largest = jobs.sizes.empty() ? 0 : *std::ranges::max_element(jobs.sizes);
  if (v.fleet == nullptr) return v;
  if (!jobs.mig.empty() && v.fleet->accelerator() != nullptr) {
    v.mean_size = sliced_size(m, *v.fleet, jobs);
    v.largest = 1;
  }
  const int per_host = std::max(1, v.fleet->accelerators_per_host);
  const int hosts = hosts_for(m, ledger, *v.fleet, w);
  const std::vector<int> free(static_cast<std::size_t>(hosts), per_host);
  v.largest_fits = cluster::place_gang({.nodes = (v.largest + per_host - 1) / per_host,
                                        .gpus_per_node = std::min(v.largest, per_host)},
                                       free, per_host)
                       .verdict;
  if (jobs.mean_duration) v.clean = clean_jobs(m, w, *jobs.mean_duration);
  if (jobs.rate && jobs.mean_duration && v.mean_size > 0) {
    v.work_units = *jobs.rate * *jobs.mean_duration * v.mean_size;
    const double there =
        std::min(static_cast<double>(hosts), v.fleet->hosts - reserved_hosts(m, *v.fleet, w));
    v.queue = cluster::estimate_wait({.servers = std::max(1.0, there * per_host / v.mean_size),
                                      .arrivals = *jobs.rate,
                                      .service = *jobs.mean_duration,
                                      .service_variation = kServiceVariation});
  }
  return v;
}

// Tasks that need more memory than their share of a host leave cores idle.
double usable_cores(const design::Batch& batch, const machine::Fleet& fleet, int hosts) {
  const double cores = fleet.node.cores.value_or(kServerCores);
  if (!batch.memory || !fleet.node.memory) return cores * hosts;
  const double by_memory = std::max(1.0, *fleet.node.memory / *batch.memory);
  return std::min(cores, by_memory) * hosts;
}

BatchView batch_view(const machine::Machine& m, const machine::Ledger& ledger,
                     const design::Workload& w, const design::Batch& batch) {
  BatchView v{.workload = &w,
              .batch = &batch,
              .label = label_of(m.design(), w),
              .path = machine::path_of(m.design(), w),
              .fleet = fleet_of(m.fleets, w)};
  if (v.fleet == nullptr) return v;
  v.on_cores = batch.core_hours.has_value();
  v.work = accelerator_work(m, batch, *v.fleet);
  const int tasks = v.on_cores ? batch.tasks : v.work.tasks;
  const double hours_of_work = v.on_cores ? *batch.core_hours : v.work.accelerator_hours;
  const int hosts = hosts_for(m, ledger, *v.fleet, w);
  const double there = v.on_cores ? usable_cores(batch, *v.fleet, hosts)
                                  : static_cast<double>(hosts) * v.fleet->accelerators_per_host;
  v.slots = std::max(1.0, std::min(there, static_cast<double>(tasks)));
  const double slots_per_host = there / std::max(1, hosts);
  v.nodes = v.slots / std::max(1.0, slots_per_host) * v.fleet->fleet->count / v.fleet->hosts;
  // Whole tasks: the last round may be half empty.
  const double rounds = std::max(1.0, static_cast<double>(tasks) / v.slots);
  const Seconds task = hours(hours_of_work / std::max(1, tasks));
  if (batch.inference) v.again = machine::work_again(task, m.failures_of(*v.fleet).rate);
  v.compute = task * std::max(rounds, 1.0) * v.again;
  v.tier = batch.dataset.tier.empty() ? nullptr : find_tier(m.tiers, batch.dataset.tier);
  if (v.tier && batch.dataset.size && v.tier->read > BytesPerSecond(0)) {
    v.read = *batch.dataset.size / v.tier->read;
  }
  if (v.tier && batch.output && v.tier->write > BytesPerSecond(0)) {
    v.write = *batch.output / v.tier->write;
  }
  v.duration = max(max(v.compute, v.read), v.write);
  v.clean = clean_batch(m, w, batch.repeat ? batch.repeat->every : Seconds(0), v.duration);
  if (batch.repeat) v.bound = batch.repeat->window.value_or(batch.repeat->every);
  if (batch.deadline) v.bound = v.bound ? min(*v.bound, *batch.deadline) : *batch.deadline;
  return v;
}

}  // namespace

std::vector<JobsView> view_jobs(const machine::Machine& m, const machine::Ledger& ledger) {
  std::vector<JobsView> views;
  for (const design::Workload& w : m.design().workloads) {
    if (const auto* jobs = std::get_if<design::Jobs>(&w.task)) {
      views.push_back(jobs_view(m, ledger, w, *jobs));
    }
  }
  return views;
}

std::vector<BatchView> view_batches(const machine::Machine& m, const machine::Ledger& ledger) {
  std::vector<BatchView> views;
  for (const design::Workload& w : m.design().workloads) {
    if (const auto* batch = std::get_if<design::Batch>(&w.task)) {
      views.push_back(batch_view(m, ledger, w, *batch));
    }
  }
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

}  // namespace orrery::plan
