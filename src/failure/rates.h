// How often a job is struck: node failure rates summed over the nodes it runs on.
//
//   lambda_job = sum of node rates = N lambda ((1 - p) + p m)     p lemons at m times the base rate
//   MTBF       = 1 / lambda_job
//   hazard(t)  = (k/eta) (t/eta)^(k-1)                            Weibull; k < 1 is burn-in
// Base rates are published failures per 1000 node-days of 8-GPU nodes, in
// data/calibration/node_failure_rates.csv with their sources (Llama 3, arXiv 2407.21783: 3.79; Meta
// RSC, arXiv 2410.21680: 6.50 and 2.34). Fleets differ by 3x and one fleet's own rows by more, so a
// rate carries its range. Wrong for correlated failures (a rack, a cooling loop, a software push).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/diagnostic.h"
#include "base/quantity.h"

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
  std::string source;
  std::string confidence;  // "high", "medium", "low"
};

Result<std::vector<NodeFailureRate>> read_node_failure_rates(const CsvTable& table);
const NodeFailureRate* find_rate(const std::vector<NodeFailureRate>& all, std::string_view id);

// A share of nodes that fail m times as often as the rest. share 0 is a uniform fleet.
struct LemonMix {
  double share = 0;
  double multiplier = 1;
};

// The mean rate of a node drawn from the mix, and the base rate that gives an observed mean.
PerSecond mean_node_rate(PerSecond base, const LemonMix& mix);
PerSecond base_node_rate(PerSecond observed_mean, const LemonMix& mix);
// The share of all failures that lemons cause: what excluding them can win.
double lemon_share_of_failures(const LemonMix& mix);

PerSecond job_failure_rate(double nodes, PerSecond per_node);
Seconds job_mtbf(double nodes, PerSecond per_node);
// Nodes scaled by accelerators: a 4-GPU host counts half of an 8-GPU node's GPU-caused failures.
PerSecond scaled_to_host(const NodeFailureRate& rate, int gpus_per_host);

struct Weibull {
  double shape = 1;
  Seconds scale;
};
PerSecond hazard(const Weibull& w, Seconds age);
// Mean rate over the first `age` of a node's life: (age/eta)^k / age.
PerSecond mean_hazard(const Weibull& w, Seconds age);

// Odds that a node is a lemon after `failures` in `node_time`: prior odds times the Poisson
// likelihood ratio m^failures e^(-(m-1) lambda t).
double lemon_odds(const LemonMix& mix, PerSecond base, double failures, Seconds node_time);

}  // namespace orrery::failure
