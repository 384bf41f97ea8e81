// Batch jobs made up from distributions: how often, how wide, how long.
//
// Arrivals are Poisson with a mean rate that may swing over the day,
//   rate(t) = rate (1 + swing cos(2 pi (t - peak) / day))
// a job's class and its width are drawn from tables of shares, its run time from its class's
// quantiles, between which the logarithm of the time is linear. The limit a user gives is the run
// time times a factor drawn log-uniformly from [1, limit_factor]. Draws are independent: no user is
// steadier than another, and a day's jobs do not resemble each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/workload/job_trace.h"

namespace orrery::workload {

struct WidthShare {
  int gpus = 1;
  double weight = 1;
};

struct QuantilePoint {
  double share = 0;  // of jobs that run no longer
  Seconds run;
};

struct JobClass {
  std::vector<WidthShare> widths;   // their weights add up to the class's own
  std::vector<QuantilePoint> runs;  // rising, from share 0 to 1
};

struct JobMix {
  int jobs = 1000;
  Seconds span = days(1);  // over which they come
  double day_swing = 0;    // 0 to 1
  std::vector<JobClass> classes;
  double limit_factor = 1;
  int users = 1;
};

JobTrace synthesize_jobs(const JobMix& mix, std::uint64_t seed);
// Time at a share of the quantiles, log-linear between them.
Seconds quantile_of(std::span<const QuantilePoint> points, double share);

// The stream of Microsoft's Philly clusters by its counts: 82,247 jobs in 108.9 days, 93.2 % with
// one GPU, whose mean run time is 8,300 s and median 1,117 s; those with 8 and more are 2.35 % of
// jobs and hold 62 % of GPU time (counted from the trace as the Sia artifact reduced it).
JobMix philly_mix();

}  // namespace orrery::workload
