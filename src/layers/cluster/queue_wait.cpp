#include "layers/cluster/queue_wait.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::cluster {
namespace {

// More servers than this indicate a wrong unit, not a cluster.
constexpr int kMostServers = 1'000'000;

}  // namespace

double erlang_b(double servers, double offered) {
  double b = 1;
  const int count = static_cast<int>(std::min<double>(servers, kMostServers));
  for (int i = 1; i <= count; ++i) b = offered * b / (i + offered * b);
  return b;
}

double erlang_c(double servers, double offered) {
  if (offered >= servers) return 1;
  const double b = erlang_b(servers, offered);
  return b / (1 - offered / servers * (1 - b));
}

QueueWait estimate_wait(const QueueProblem& problem) {
  const double offered = problem.arrivals * problem.service;
  QueueWait w;
  w.load = offered / problem.servers;
  w.stable = w.load < 1;
  w.wait_chance = erlang_c(problem.servers, offered);
  if (!w.stable) {
    w.mean_wait = w.mean_wait_of_waiting = Seconds(std::numeric_limits<double>::infinity());
    w.mean_queue = std::numeric_limits<double>::infinity();
    return w;
  }
  const double variation = (problem.arrival_variation * problem.arrival_variation +
                            problem.service_variation * problem.service_variation) /
                           2;
  w.mean_wait_of_waiting = problem.service / (problem.servers - offered) * variation;
  w.mean_wait = w.mean_wait_of_waiting * w.wait_chance;
  w.mean_queue = problem.arrivals * w.mean_wait;
  return w;
}

}  // namespace orrery::cluster
