// How many spare nodes keep a job running while broken ones are repaired.
//
//   smallest k with P(Poisson(N lambda T_repair) > k) < eps
// The number of nodes in repair is Poisson for any distribution of the repair time if the pool is
// unlimited (Palm's theorem), so only its mean matters. Wrong if one cause takes several nodes at
// once.
#pragma once

#include "core/base/quantity.h"

namespace orrery::failure {

struct SpareProblem {
  double nodes = 0;
  PerSecond node_rate;
  Seconds repair;           // mean time from failure until the node is back in service
  double shortfall = 0.01;  // eps: share of time with too few nodes
};

struct Spares {
  int count = 0;
  double mean_in_repair = 0;
  double shortfall = 0;  // share of time with too few nodes, given `count` spares
};

Spares size_spares(const SpareProblem& problem);

// A repair process of two stages: a reset for every node, and manual repair for a share. Assumed:
// four in five come back after a reset within half an hour; the rest wait a day for a technician.
struct RepairPipeline {
  Seconds reset = minutes(30);
  Seconds hands = days(1);
  double hands_share = 0.2;
};
Seconds mean_repair(const RepairPipeline& pipeline);

}  // namespace orrery::failure
