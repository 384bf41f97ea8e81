// How long a job waits: many servers, one queue, in closed form.
//
//   W = C(c, a) / (c/S - lambda) x (ca^2 + cs^2)/2        Allen and Cunneen's M/G/c from Erlang's C
// S mean service, a = lambda S offered load, ca and cs the coefficients of variation of arrivals
// and service. Exact for M/M/c and for M/G/1. For M/D/c and M/G/c below 70 % load within about 15
// %, worse where cs is large (job times: cs of 3 and more) and c is small; backfill shortens it,
// gangs lengthen it. A server is what one job takes (a node, a gang of nodes), so jobs of mixed
// sizes are only covered by size class. The replay of a trace is the answer where this is too
// coarse.
#pragma once

#include "core/base/quantity.h"

namespace orrery::cluster {

struct QueueProblem {
  double servers = 1;
  PerSecond arrivals;
  Seconds service;               // mean
  double arrival_variation = 1;  // coefficient of variation of the times between arrivals
  double service_variation = 1;
};

struct QueueWait {
  double load = 0;  // of the servers; at 1 or above the queue has no end
  bool stable = false;
  double wait_chance = 0;  // Erlang's C
  Seconds mean_wait;       // over all jobs
  Seconds mean_wait_of_waiting;
  double mean_queue = 0;  // jobs
};
QueueWait estimate_wait(const QueueProblem& problem);

// P(all servers busy), Erlang's C, and P(lost) without a queue, Erlang's B.
double erlang_b(double servers, double offered);
double erlang_c(double servers, double offered);

}  // namespace orrery::cluster
