#include "study/rehearse/rewind.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/base/statistics.h"

namespace orrery::rehearse {
namespace {

using workload::JobRecord;

constexpr int kResamples = 400;
// Least jobs with a recorded wait per half: fewer are not enough.
constexpr int kLeastJobs = 20;
constexpr Seconds kBlock = days(1);

RewindHalf compare(std::span<const JobRecord> jobs, const std::vector<Seconds>& waits,
                   std::size_t from, std::size_t to, double delay_s) {
  RewindHalf half;
  double off = 0;
  for (std::size_t i = from; i < to; ++i) {
    if (!jobs[i].wait || waits[i] < Seconds()) continue;
    const double simulated = waits[i].base() + delay_s;
    half.recorded_s += jobs[i].wait->base();
    half.simulated_s += simulated;
    off += std::abs(simulated - jobs[i].wait->base());
    ++half.jobs;
  }
  half.error = half.recorded_s > 0 ? off / half.recorded_s : 0;
  if (half.jobs > 0) {
    half.recorded_s /= half.jobs;
    half.simulated_s /= half.jobs;
  }
  return half;
}

// Returns the wait of the jobs that started soonest: a prolog, a period of the scheduler.
double start_delay(std::span<const JobRecord> jobs, std::size_t to) {
  std::vector<double> waits;
  for (std::size_t i = 0; i < to; ++i) {
    if (jobs[i].wait) waits.push_back(jobs[i].wait->base());
  }
  return quantile(std::move(waits), 0.05, Between::lower);
}

// Recorded and simulated seconds for each day of the second half.
struct Block {
  double recorded = 0;
  double simulated = 0;
};

std::vector<Block> blocks_of(std::span<const JobRecord> jobs, const std::vector<Seconds>& waits,
                             std::size_t from, double delay_s) {
  std::vector<Block> blocks;
  const Seconds start = jobs[from].submit;
  for (std::size_t i = from; i < jobs.size(); ++i) {
    if (!jobs[i].wait || waits[i] < Seconds()) continue;
    const auto day = static_cast<std::size_t>((jobs[i].submit - start) / kBlock);
    if (blocks.size() <= day) blocks.resize(day + 1);
    blocks[day].recorded += jobs[i].wait->base();
    blocks[day].simulated += waits[i].base() + delay_s;
  }
  return blocks;
}

// Computes the factor's 10th and 90th percentiles over days drawn with replacement.
void resample(const std::vector<Block>& blocks, std::uint64_t seed, RewindResult& result) {
  RandomStream random(seed, "rewind/days");
  std::vector<double> factors;
  for (int r = 0; r < kResamples; ++r) {
    Block sum;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& drawn = blocks[random.below(blocks.size())];
      sum.recorded += drawn.recorded;
      sum.simulated += drawn.simulated;
    }
    if (sum.simulated > 0) factors.push_back(sum.recorded / sum.simulated);
  }
  result.factor_low = std::min(result.factor, quantile(factors, 0.1));
  result.factor_high = std::max(result.factor, quantile(factors, 0.9));
}

ReplayResult play(std::span<const JobRecord> jobs, const cluster::NodePool& pool,
                  ReplayOptions options, cluster::BackfillVariant policy) {
  options.queue.backfill = policy;
  return replay_jobs(jobs, pool, options);
}

std::vector<Seconds> calibrate(std::span<const JobRecord> jobs, const cluster::NodePool& pool,
                               const RewindOptions& options, std::size_t middle,
                               RewindResult& result) {
  std::vector<Seconds> best;
  for (const double share : options.shares) {
    const cluster::NodePool part = part_of(pool, share);
    for (const cluster::BackfillVariant policy : options.policies) {
      ReplayResult played = play(jobs, part, options.playing, policy);
      const RewindHalf half = compare(jobs, played.waits, 0, middle, result.start_delay_s);
      // A fleet that rejects jobs that did run cannot be the one that ran them.
      const bool is_possible = played.rejected == 0 || share == 1;
      if (!is_possible || (!best.empty() && half.error >= result.first.error)) continue;
      result.first = half;
      result.share = share;
      result.policy = policy;
      best = std::move(played.waits);
    }
  }
  return best;
}

}  // namespace

cluster::NodePool part_of(const cluster::NodePool& pool, double share) {
  if (share == 1) return pool;
  if (pool.is_plain()) {
    const int gpus = static_cast<int>(std::lround(pool.gpus() * share));
    return cluster::NodePool({std::max(1, gpus)});
  }
  cluster::NodePool part = pool;
  const int kept = std::max(1, static_cast<int>(std::lround(pool.nodes() * share)));
  for (int node = kept; node < pool.nodes(); ++node) part.set_up(node, false);
  return part;
}

Result<RewindResult> rewind(std::span<const JobRecord> jobs, const cluster::NodePool& pool,
                            const RewindOptions& options) {
  RewindResult result;
  const std::size_t middle = jobs.size() / 2;
  result.start_delay_s = start_delay(jobs, middle);
  const std::vector<Seconds> waits = calibrate(jobs, pool, options, middle, result);
  if (!waits.empty()) {
    result.second = compare(jobs, waits, middle, jobs.size(), result.start_delay_s);
  }
  if (result.first.jobs < kLeastJobs || result.second.jobs < kLeastJobs) {
    return fail({.code = "rewind.record",
                 .what = "too few jobs have a recorded wait to compare with",
                 .why = "each half of the trace needs 20",
                 .fix = "use sacct with Submit and Start, or a CSV with a column wait"});
  }
  const auto& second = result.second;
  result.factor = second.simulated_s > 0 ? second.recorded_s / second.simulated_s : 1;
  resample(blocks_of(jobs, waits, middle, result.start_delay_s), options.playing.seed, result);
  for (const WhatIf& what : options.what_ifs) {
    const ReplayResult played =
        play(jobs, part_of(what.pool, result.share), options.playing, what.policy);
    const double mean =
        compare(jobs, played.waits, middle, jobs.size(), result.start_delay_s).simulated_s;
    result.answers.push_back({.name = what.name,
                              .simulated_s = mean,
                              .mean_wait = {.value = mean * result.factor,
                                            .low = mean * result.factor_low,
                                            .high = mean * result.factor_high,
                                            .basis = Basis::fitted,
                                            .reference = "docs/models/cluster.md"}});
  }
  return result;
}

}  // namespace orrery::rehearse
