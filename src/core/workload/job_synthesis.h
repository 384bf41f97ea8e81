// Synthetic batch jobs drawn from distributions of arrival rate, width and run time.
//
// Arrivals are Poisson with a mean rate that may swing over the day,
//   rate(t) = rate (1 + swing cos(2 pi (t - peak) / day))
// A job's class and width are drawn from tables of shares. Its run time is drawn from its class's
// quantiles; between them the logarithm of the time is linear. The time limit that the user gives
// is the run time times a factor drawn log-uniformly from [1, limit_factor]. Draws are independent:
// users do not differ in regularity, and days do not resemble each other more than chance.
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
  double share = 0;  // share of jobs that run at most this long
  Seconds run;
};

struct JobClass {
  std::vector<WidthShare> widths;   // their weights add up to the class's own
  std::vector<QuantilePoint> runs;  // rising, from share 0 to 1
};

struct JobMix {
  int jobs = 1000;
  Seconds span = days(1);  // period over which jobs arrive
  double day_swing = 0;    // 0 to 1
  std::vector<JobClass> classes;
  double limit_factor = 1;
  int users = 1;
};

JobTrace synthesize_jobs(const JobMix& mix, std::uint64_t seed);
// Returns the time at a share of the quantiles, log-linear between them.
Seconds quantile_of(std::span<const QuantilePoint> points, double share);

// The job mix of Microsoft's Philly clusters, from its counts: 82,247 jobs in 108.9 days, 93.2 %
// with one GPU, whose mean run time is 8,300 s and median 1,117 s. Jobs with 8 or more GPUs are
// 2.35 % of jobs and use 62 % of GPU time (counted in the trace as reduced by the Sia artifact).
JobMix philly_mix();

}  // namespace orrery::workload
