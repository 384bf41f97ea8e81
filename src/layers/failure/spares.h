// How many spare nodes keep a job running while broken ones are repaired.
//
//   smallest k with P(Poisson(N lambda T_repair) > k) < eps
// The number in repair of an unlimited pool is Poisson whatever the distribution of the repair time
// (Palm's theorem), so only its mean enters. Wrong when one cause takes several nodes at once.
#pragma once

#include "core/base/quantity.h"

namespace orrery::failure {

struct SpareProblem {
  double nodes = 0;
  PerSecond node_rate;
  Seconds repair;           // mean time from failure until the node is back
  double shortfall = 0.01;  // eps: share of time for which too few may be left
};

struct Spares {
  int count = 0;
  double mean_in_repair = 0;
  double shortfall = 0;  // what `count` leaves
};

Spares size_spares(const SpareProblem& problem);

// A repair pipeline of two stages: a reset for all, and a share that goes on to a person. Four in
// five come back after a reset within half an hour, the rest wait a day for hands: assumed.
struct RepairPipeline {
  Seconds reset = minutes(30);
  Seconds hands = days(1);
  double hands_share = 0.2;
};
Seconds mean_repair(const RepairPipeline& pipeline);

}  // namespace orrery::failure
