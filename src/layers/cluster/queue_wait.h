// How long a job waits: many servers, one queue, in closed form.
//
//   W = C(c, a) / (c/S - lambda) x (ca^2 + cs^2)/2      M/G/c by Allen and Cunneen, from Erlang's C
// S is the mean service time, a = lambda S the offered load, ca and cs the coefficients of
// variation of interarrival and service times. Exact for M/M/c and for M/G/1. For M/D/c and M/G/c
// below 70 % load the error is within about 15 %; it is worse if cs is large (job times: 3 and
// more) and c is small. Backfill shortens the wait, gangs lengthen it. A server is what one job
// takes (a node, a gang of nodes), so mixed job sizes are covered only one size class at a time. If
// this is too coarse, replay a trace.
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
  double load = 0;  // load per server; at 1 or above the queue grows without bound
  bool stable = false;
  double wait_chance = 0;  // probability of waiting, Erlang's C
  Seconds mean_wait;       // mean over all jobs, including those that do not wait
  Seconds mean_wait_of_waiting;
  double mean_queue = 0;  // jobs
};
QueueWait estimate_wait(const QueueProblem& problem);

// Erlang's C is P(all servers busy); Erlang's B is P(lost) without a queue.
double erlang_b(double servers, double offered);
double erlang_c(double servers, double offered);

}  // namespace orrery::cluster
