// Which nodes fail more often than their fleet: a score that decays, and the odds derived from it.
//
//   events    w(t) = sum over failures e^(-(t - t_i)/tau)            tau: how long a failure counts
//   exposure  E(t) = tau (1 - e^(-(t - t_0)/tau))                    t_0: start of observation
//   fleet     rate = (a + sum of the others' w) / (a/rate_0 + (n - 1) E)
//   odds      prior odds * m^w e^(-(m - 1) rate_base E)              failure/rates.h, lemon_odds
// Events and exposure decay at the same pace, so a repaired node is trusted again after a few tau.
// The fleet's own rate excludes the judged node and starts from a published rate that counts as `a`
// failures. Wrong if an external cause strikes the node again and again (its leaf switch, or a job
// that breaks nodes; failure/recovery.h looks for the latter).
#pragma once

#include "core/base/quantity.h"
#include "layers/failure/rates.h"

namespace orrery::failure {

// A sum of failures whose weights have decayed up to `at`.
struct FadingCount {
  double weight = 0;
  Seconds at;

  bool operator==(const FadingCount&) const = default;
};

struct LemonPrior {
  // Lemon nodes of one fleet: 1.5 % of the nodes cause 13 % of the failures, hence about ten times
  // the base rate (Kokolis et al., arXiv 2410.21680, as recalled; the multiplier is derived).
  LemonMix mix = {.share = 0.015, .multiplier = 10};
  PerSecond rate = per_1000_node_days(6.5);  // published rate of the same fleet
  // A: how many failures the prior rate counts as; an assumption.
  double rate_failures = 2;
  Seconds memory = days(30);  // tau; an assumption
  double odds_bound = 10;     // above these odds a node counts as a lemon
};

double faded(const FadingCount& count, Seconds now, Seconds memory);
FadingCount struck(const FadingCount& count, Seconds now, double weight, Seconds memory);

struct LemonEvidence {
  double node_weight = 0;   // the node's failures, decayed to now
  double other_weight = 0;  // all other nodes' failures
  double other_nodes = 0;
  Seconds watched;  // time since observation began
};

double lemon_odds(const LemonEvidence& evidence, const LemonPrior& prior);

// Returns the fleet's own failure rate per node, given `nodes` observed for `watched` whose
// failures, decayed to now, sum to `weight`: at first the published rate, later the observed one.
PerSecond fleet_rate(double weight, double nodes, Seconds watched, const LemonPrior& prior);

}  // namespace orrery::failure
