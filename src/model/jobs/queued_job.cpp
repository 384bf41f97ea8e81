#include "model/jobs/queued_job.h"

#include <algorithm>

#include "core/base/statistics.h"

namespace orrery::jobs {
namespace {

void fill_head(QueuedJob& job, const machine::Machine& m, const design::Workload& w) {
  const auto& jobs = std::get<design::Jobs>(w.task);
  static_cast<JobHead&>(job) = job_head(m, w);
  job.jobs = &jobs;
  job.from_trace = !jobs.trace.empty();
  job.rate = jobs.rate.value_or(PerSecond(0));
  job.mean_run = jobs.mean_duration.value_or(Seconds(0));
}

bool has_rate(const QueuedJob& job) {
  return job.jobs->rate.has_value() && job.jobs->mean_duration.has_value();
}

// Without weights in the design, the frequency of a size is inversely proportional to it.
double weight_of(const design::Jobs& jobs, std::size_t size) {
  return size < jobs.weights.size() ? jobs.weights[size] : 1.0 / jobs.sizes[size];
}

void fill_sizes(StreamJob& job) {
  job.sizes = job.jobs->sizes;
  WeightedMean<double> mean;
  double sum = 0;
  for (std::size_t i = 0; i < job.sizes.size(); ++i) {
    const double weight = weight_of(*job.jobs, i);
    mean.add(job.sizes[i], weight);
    job.shares.push_back(sum += weight);
  }
  for (double& s : job.shares) s = sum > 0 ? s / sum : 1;
  job.mean_size = mean.value_or(1);
  job.largest = job.sizes.empty() ? 0 : *std::ranges::max_element(job.sizes);
}

// Returns the accelerators that a job takes on average when the mix is packed.
double packed_size(const SliceJob& job) {
  std::vector<cluster::MigDemand> demand;
  double slices = 0;
  for (const design::MigSlices& s : job.jobs->mig) {
    demand.push_back({s.profile, s.count});
    slices += s.count;
  }
  const auto packed = pack_mig(demand, job.profiles);
  return slices > 0 ? static_cast<double>(packed.gpus.size()) / slices : 1;
}

int profile_index(const SliceJob& job, const std::string& profile) {
  const auto at = std::ranges::find(job.profiles, profile, &catalog::MigProfile::profile);
  return static_cast<int>(at - job.profiles.begin());
}

void fill_mix(SliceJob& job) {
  double sum = 0;
  for (const design::MigSlices& slices : job.jobs->mig) {
    job.wanted.push_back(profile_index(job, slices.profile));
    job.shares.push_back(sum += slices.count);
  }
  for (double& s : job.shares) s /= sum;
}

// Fills in how the fleet's accelerators are permanently cut, if they are.
void fill_cut(SliceJob& job) {
  std::vector<int> cut;
  for (const design::MigSlices& slices : job.fleet->fleet->mig) {
    cut.insert(cut.end(), static_cast<std::size_t>(slices.count),
               profile_index(job, slices.profile));
  }
  if (cut.empty()) return;
  if (!fits_one_gpu(cut, job.profiles, &job.fixed)) {
    job.infeasible = "the fleet's `mig` slices do not fit on one accelerator";
  }
  const auto is_cut = [&](int profile) { return std::ranges::find(cut, profile) != cut.end(); };
  if (!std::ranges::all_of(job.wanted, is_cut)) {
    job.infeasible = "its jobs ask for a slice that the fleet's `mig` does not provide";
  }
}

}  // namespace

StreamJob stream_job(const machine::Machine& m, const design::Workload& w) {
  StreamJob job;
  fill_head(job, m, w);
  fill_sizes(job);
  if (job.fleet == nullptr) {
    job.infeasible = "there is no fleet to run on";
  } else if (!job.from_trace && (!has_rate(job) || job.sizes.empty())) {
    job.infeasible = "a queue of jobs needs `rate` and `mean_duration`, or a trace";
  }
  return job;
}

SliceJob slice_job(const machine::Machine& m, const design::Workload& w) {
  SliceJob job;
  fill_head(job, m, w);
  if (job.fleet == nullptr || job.fleet->accelerator() == nullptr) {
    job.infeasible = "there is no fleet with accelerators to run on";
    return job;
  }
  job.profiles = cluster::profiles_of(m.catalog().mig_profiles, job.fleet->accelerator()->id);
  job.mean_size = packed_size(job);
  job.largest = 1;
  fill_mix(job);
  fill_cut(job);
  if (!has_rate(job) || job.shares.empty() || !(job.shares.back() > 0)) {
    job.infeasible = "jobs that ask for slices need `rate` and `mean_duration`";
  }
  return job;
}

}  // namespace orrery::jobs
