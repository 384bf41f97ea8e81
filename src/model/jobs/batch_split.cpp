#include "model/jobs/batch_split.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "model/design_text/value_reader.h"

namespace orrery::jobs {
namespace {

// Returns the numbers of which the batch must be a multiple, one for each possible split of `gpus`.
std::vector<std::int64_t> divisors(const TrainJob& job, int gpus) {
  if (gpus <= 0) return {};
  if (job.model == nullptr) return {gpus};
  if (job.train->layout) {
    const design::Layout& l = *job.train->layout;
    const std::int64_t shards = std::int64_t{l.tp} * l.pp * l.cp;
    if (shards <= 0 || gpus % shards != 0) return {};
    const std::int64_t dp = gpus / shards;
    if (l.dp && *l.dp != dp) return {};
    return {dp * std::max(1, l.mbs)};
  }
  std::vector<std::int64_t> all;
  for (int tp = 1; tp <= 8; tp *= 2) {
    for (int pp = 1; pp <= 64; ++pp) {
      if (job.model->layers % pp == 0 && gpus % (tp * pp) == 0) all.push_back(gpus / (tp * pp));
    }
  }
  return all;
}

}  // namespace

int accelerators_for(const TrainJob& job) {
  const machine::Fleet& fleet = *job.fleet;
  const int per_node = fleet.node.part.accelerators;
  return job.workload->terms.nodes
             ? std::min(fleet.accelerators, *job.workload->terms.nodes * per_node)
             : fleet.accelerators;
}

bool batch_spreads(const TrainJob& job, int gpus) {
  return std::ranges::any_of(divisors(job, gpus),
                             [&](std::int64_t d) { return job.train->batch % d == 0; });
}

std::vector<int> counts_to_try(const TrainJob& job, int available) {
  const int per_host = std::max(1, job.fleet->accelerators_per_host);
  std::vector<int> counts;
  if (job.train->layout && job.train->layout->dp) {
    // A complete layout takes the accelerators that it names, and leaves the rest to other
    // workloads.
    const design::Layout& l = *job.train->layout;
    const std::int64_t gpus = std::int64_t{l.tp} * l.pp * l.cp * *l.dp;
    if (gpus <= available && batch_spreads(job, static_cast<int>(gpus))) {
      counts.push_back(static_cast<int>(gpus));
    }
    return counts;
  }
  const int least = static_cast<int>(available * kLeastShareUsed);
  for (int gpus = available; gpus >= std::max(1, least) && counts.size() < 2; gpus -= per_host) {
    if (batch_spreads(job, gpus)) counts.push_back(gpus);
  }
  // A model that needs few devices, on a fleet with less than a host's worth of them.
  if (counts.empty() && available <= per_host && batch_spreads(job, 1)) counts.push_back(1);
  return counts;
}

std::optional<int> nearest_batch(const TrainJob& job, int gpus) {
  const std::int64_t batch = job.train->batch;
  std::optional<int> best;
  const auto consider = [&](std::int64_t candidate) {
    if (candidate < 1 || candidate > design_text::kMostCount) return;
    if (best && std::abs(candidate - batch) > std::abs(*best - batch)) return;
    best = static_cast<int>(candidate);
  };
  for (const std::int64_t d : divisors(job, gpus)) {
    consider(batch / d * d);
    consider((batch + d - 1) / d * d);
  }
  return best;
}

}  // namespace orrery::jobs
