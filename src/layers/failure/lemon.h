// Which nodes fail more often than their fleet: a score that forgets, and the odds it gives.
//
//   events    w(t) = sum over failures e^(-(t - t_i)/tau)            tau: how long a failure counts
//   exposure  E(t) = tau (1 - e^(-(t - t_0)/tau))                    t_0: when watching began
//   fleet     rate = (a + sum of the others' w) / (a/rate_0 + (n - 1) E)
//   odds      prior odds * m^w e^(-(m - 1) rate_base E)              failure/rates.h, lemon_odds
// Both sides forget at the same pace, so a repaired node is believed again after a few tau. The
// fleet's own rate leaves the judged node out and starts from a published one that weighs `a`
// failures. Wrong where a cause that is not the node's strikes it again and again (its leaf switch,
// a job that breaks nodes: failure/recovery.h looks for the latter).
#pragma once

#include "core/base/quantity.h"
#include "layers/failure/rates.h"

namespace orrery::failure {

// Failures with their weights faded to `at`.
struct FadingCount {
  double weight = 0;
  Seconds at;

  bool operator==(const FadingCount&) const = default;
};

struct LemonPrior {
  // Lemon nodes of one fleet: 1.5 % of the nodes with 13 % of the failures, hence ten times the
  // base rate (Kokolis et al., arXiv 2410.21680, as recalled; the multiplier is derived).
  LemonMix mix = {.share = 0.015, .multiplier = 10};
  PerSecond rate = per_1000_node_days(6.5);  // of the same fleet
  double rate_failures = 2;                  // a: failures that it weighs; an assumption
  Seconds memory = days(30);                 // tau; an assumption
  double odds_bound = 10;                    // above it a node is taken for a lemon
};

double faded(const FadingCount& count, Seconds now, Seconds memory);
FadingCount struck(const FadingCount& count, Seconds now, double weight, Seconds memory);

struct LemonEvidence {
  double node_weight = 0;   // of the node, faded to now
  double other_weight = 0;  // of all other nodes
  double other_nodes = 0;
  Seconds watched;  // since watching began
};

double lemon_odds(const LemonEvidence& evidence, const LemonPrior& prior);

// The fleet's own rate of one node, after `nodes` were watched for so long and their failures,
// faded to now, come to `weight`: the published rate at first, what was seen later.
PerSecond fleet_rate(double weight, double nodes, Seconds watched, const LemonPrior& prior);

}  // namespace orrery::failure
