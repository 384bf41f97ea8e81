// How often failures strike a job: node failure rates summed over the nodes that it runs on.
//
//   lambda_job = sum of node rates = N lambda ((1 - p) + p m)     p lemons at m times the base rate
//   MTBF       = 1 / lambda_job
//   hazard(t)  = (k/eta) (t/eta)^(k-1)                            Weibull; k < 1 is burn-in
// Base rates are published failures per 1000 node-days of 8-GPU nodes, in
// data/calibration/node_failure_rates.csv with their sources (Llama 3, arXiv 2407.21783: 3.79; Meta
// RSC, arXiv 2410.21680: 23.7 for jobs of 1,024 GPUs, of which hardware is 6.5). Runs on many nodes
// are only made on nodes that are burnt in and monitored, so the published rate per node falls with
// the size of the run:
//   ln rate = a + b ln(nodes), nodes within 128 .. 2048; least squares over the published runs
//   80 % interval: rate / f .. rate f,  ln f = t s sqrt(1 + 1/n + (x - mean x)^2 / Sxx)
// Wrong for correlated failures (a rack, a cooling loop, a software rollout), and for a fleet
// unlike the published ones, whose own rate is a better guide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/quantity.h"

namespace orrery::failure {

constexpr PerSecond per_1000_node_days(double failures) {
  return PerSecond(failures / (1000.0 * 86400.0));
}

struct NodeFailureRate {
  std::string id;  // "llama3", "meta-rsc-1"
  int gpus_per_node = 8;
  PerSecond per_node;
  PerSecond low;  // 80 % interval
  PerSecond high;
  double nodes = 1;  // size of the run in which it was counted
  // All interruptions of a run; otherwise hardware failures alone, or assumed.
  bool interruptions = false;
  std::string source;
  std::string confidence;  // "high", "medium", "low"
};

Result<std::vector<NodeFailureRate>> read_node_failure_rates(const CsvTable& table);
const NodeFailureRate* find_rate(const std::vector<NodeFailureRate>& all, std::string_view id);

// What the published runs imply for a run on this many nodes of eight accelerators.
struct PublishedRate {
  PerSecond per_node;
  double factor = 1;  // divides and multiplies the rate: the 80 % interval
  double fleets = 0;  // number of runs behind it
  double apart = 1;   // highest published rate divided by the lowest
};
// Returns zero if fewer than four runs are known.
PublishedRate published_rate(const std::vector<NodeFailureRate>& all, double nodes);

// Returns the factor of the 80 % interval for a rate that a fleet has counted itself: Poisson over
// the failures counted, and the variation from one season to the next. Without a count it is 1.5.
double own_rate_factor(double observed);

// A share of nodes that fail m times as often as the rest. A share of 0 is a uniform fleet.
struct LemonMix {
  double share = 0;
  double multiplier = 1;
};

// Returns the mean rate of a node drawn from the mix; the inverse gives the base rate for an
// observed mean.
PerSecond mean_node_rate(PerSecond base, const LemonMix& mix);
PerSecond base_node_rate(PerSecond observed_mean, const LemonMix& mix);

PerSecond job_failure_rate(double nodes, PerSecond per_node);
Seconds job_mtbf(double nodes, PerSecond per_node);
// Scales the rate by accelerators: a 4-GPU host has half of an 8-GPU node's GPU-caused failures.
PerSecond scaled_to_host(const NodeFailureRate& rate, int gpus_per_host);

struct Weibull {
  double shape = 1;
  Seconds scale;
};
PerSecond hazard(const Weibull& w, Seconds age);

// Returns the odds that a node is a lemon after `failures` in `node_time`: prior odds times the
// Poisson likelihood ratio m^failures e^(-(m-1) lambda t).
double lemon_odds(const LemonMix& mix, PerSecond base, double failures, Seconds node_time);

}  // namespace orrery::failure
