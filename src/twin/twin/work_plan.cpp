#include "twin/twin/work_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/machine/serve_job.h"

namespace orrery::twin {
namespace {

// Cores of a two-socket server whose row gives none: two of 32.
constexpr int kServerCores = 64;
// An array of more elements than this is told in larger ones.
constexpr int kMostElements = 4096;

// Of the sizes, the share of jobs no wider than each.
void fill_sizes(StreamPlan& p) {
  p.sizes = p.jobs->sizes;
  double sum = 0;
  for (std::size_t i = 0; i < p.sizes.size(); ++i) {
    sum += i < p.jobs->weights.size() ? p.jobs->weights[i] : 1.0 / p.sizes[i];
    p.shares.push_back(sum);
  }
  for (double& s : p.shares) s = sum > 0 ? s / sum : 1;
}

void read_trace(StreamPlan& p, const catalog::ReadFile& read) {
  if (!read) {
    p.infeasible = "its trace " + p.jobs->trace + " cannot be read here";
    return;
  }
  const auto text = read(p.jobs->trace);
  if (!text) {
    p.infeasible = "its trace " + p.jobs->trace + " cannot be read";
    return;
  }
  auto trace = workload::read_jobs(*text, p.jobs->trace);
  if (!trace) {
    p.infeasible = trace.error().empty() ? "its trace has faults" : trace.error().front().what;
    return;
  }
  p.trace = std::move(trace->jobs);
}

// Tasks that run on one host at once.
int tasks_on_host(const design::Batch& batch, const machine::Fleet& fleet) {
  if (!batch.core_hours) return std::max(1, fleet.accelerators_per_host);
  const double cores = fleet.node.cores.value_or(kServerCores);
  if (!batch.memory || !fleet.node.memory) return static_cast<int>(cores);
  return static_cast<int>(std::min(cores, std::max(1.0, *fleet.node.memory / *batch.memory)));
}

// Of all hosts that work at once, one has an even part of the tier.
Seconds shared(std::optional<Bytes> bytes, BytesPerSecond rate, double elements, double at_once) {
  if (!bytes || rate <= BytesPerSecond(0)) return Seconds(0);
  return *bytes / rate * (at_once / elements);
}

}  // namespace

StreamPlan stream_plan(const machine::Machine& m, const design::Workload& w,
                       const catalog::ReadFile& read) {
  StreamPlan p{
      .workload = &w, .jobs = &std::get<design::Jobs>(w.task), .label = label_of(m.design(), w)};
  const machine::Fleet* fleet = fleet_of(m.fleets, w);
  if (fleet == nullptr) {
    p.infeasible = "no fleet to run on";
    return p;
  }
  p.fleet = m.index_of(*fleet);
  if (!p.jobs->trace.empty()) {
    read_trace(p, read);
    return p;
  }
  fill_sizes(p);
  if (!p.jobs->rate || !p.jobs->mean_duration || p.sizes.empty()) {
    p.infeasible = "a stream needs `rate` and `mean_duration`, or a trace";
    return p;
  }
  p.rate = *p.jobs->rate;
  p.mean_run = *p.jobs->mean_duration;
  return p;
}

SlicePlan slice_plan(const machine::Machine& m, const design::Workload& w) {
  const auto& jobs = std::get<design::Jobs>(w.task);
  SlicePlan p{.workload = &w, .label = label_of(m.design(), w)};
  const machine::Fleet* fleet = fleet_of(m.fleets, w);
  if (fleet == nullptr || fleet->accelerator() == nullptr) {
    p.infeasible = "no fleet with accelerators to run on";
    return p;
  }
  p.fleet = m.index_of(*fleet);
  p.profiles = cluster::profiles_of(m.catalog().mig_profiles, fleet->accelerator()->id);
  const auto index_of = [&](const std::string& profile) {
    const auto at = std::ranges::find(p.profiles, profile, &catalog::MigProfile::profile);
    return static_cast<int>(at - p.profiles.begin());
  };
  double sum = 0;
  for (const design::MigSlices& slices : jobs.mig) {
    p.wanted.push_back(index_of(slices.profile));
    p.shares.push_back(sum += slices.count);
  }
  for (double& s : p.shares) s /= sum;
  std::vector<int> cut;
  for (const design::MigSlices& slices : fleet->fleet->mig) {
    cut.insert(cut.end(), static_cast<std::size_t>(slices.count), index_of(slices.profile));
  }
  if (!cut.empty() && !fits_one_gpu(cut, p.profiles, &p.fixed)) {
    p.infeasible = "the fleet's `mig` slices do not fit one accelerator";
  }
  const auto is_cut = [&](int profile) { return std::ranges::find(cut, profile) != cut.end(); };
  if (!cut.empty() && !std::ranges::all_of(p.wanted, is_cut)) {
    p.infeasible = "its jobs ask for a slice that the fleet's `mig` does not cut";
  }
  if (!jobs.rate || !jobs.mean_duration || !(sum > 0)) {
    p.infeasible = "jobs of slices need `rate` and `mean_duration`";
    return p;
  }
  p.rate = *jobs.rate;
  p.mean_run = *jobs.mean_duration;
  return p;
}

BatchPlan batch_plan(const machine::Machine& m, const design::Workload& w) {
  BatchPlan p{
      .workload = &w, .batch = &std::get<design::Batch>(w.task), .label = label_of(m.design(), w)};
  const machine::Fleet* fleet = fleet_of(m.fleets, w);
  if (fleet == nullptr) {
    p.infeasible = "no fleet to run on";
    return p;
  }
  p.fleet = m.index_of(*fleet);
  const design::Batch& b = *p.batch;
  if (!b.core_hours && fleet->accelerators_per_host == 0) {
    p.infeasible = "accelerator hours on a fleet without accelerators";
    return p;
  }
  const machine::BatchWork on_accelerators = accelerator_work(m, b, *fleet);
  if (!on_accelerators.infeasible.empty()) {
    p.infeasible = on_accelerators.infeasible;
    return p;
  }
  const int tasks = std::max(1, b.core_hours ? b.tasks : on_accelerators.tasks);
  const int at_once = std::min(tasks, tasks_on_host(b, *fleet));
  const int arrays = (tasks + at_once - 1) / at_once;
  const int rounds = (arrays + kMostElements - 1) / kMostElements;
  p.elements = (arrays + rounds - 1) / rounds;
  // Work on cores takes the host; work on accelerators takes as many as it has tasks.
  p.slots = b.core_hours ? std::max(1, fleet->accelerators_per_host) : at_once;
  const double work = b.core_hours ? *b.core_hours : on_accelerators.accelerator_hours;
  p.compute = hours(work / tasks) * rounds;
  const int hosts =
      w.terms.nodes
          ? std::min(fleet->hosts,
                     *w.terms.nodes * std::max(1, fleet->hosts / std::max(1, fleet->fleet->count)))
          : fleet->hosts;
  const double working = std::min(p.elements, std::max(1, hosts));
  p.element = p.compute;
  if (const machine::Tier* tier =
          b.dataset.tier.empty() ? nullptr : find_tier(m.tiers, b.dataset.tier)) {
    const double parts = p.elements;
    p.element = max(p.element, shared(b.dataset.size, tier->read, parts, working));
    p.element = max(p.element, shared(b.output, tier->write, parts, working));
  }
  if (b.repeat) p.bound = b.repeat->window.value_or(b.repeat->every);
  if (b.deadline) p.bound = p.bound ? min(*p.bound, *b.deadline) : *b.deadline;
  return p;
}

}  // namespace orrery::twin
