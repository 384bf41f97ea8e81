#include "failure/spares.h"

#include "base/probability.h"

namespace orrery {

Spares size_spares(const SpareProblem& problem) {
  const double mean = problem.nodes * (problem.node_rate * problem.repair);
  Spares spares{.count = 0, .mean_in_repair = mean, .shortfall = poisson_above(0, mean)};
  // More spares than nodes cannot be in repair, which also ends the search for a hopeless rate.
  while (spares.shortfall >= problem.shortfall && spares.count < problem.nodes) {
    ++spares.count;
    spares.shortfall = poisson_above(spares.count, mean);
  }
  return spares;
}

Seconds mean_repair(Seconds automatic, Seconds manual, double manual_share) {
  return automatic + manual * manual_share;
}

}  // namespace orrery
