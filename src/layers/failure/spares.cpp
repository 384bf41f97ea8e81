#include "layers/failure/spares.h"

#include <algorithm>
#include <cstdint>

#include "core/base/probability.h"

namespace orrery::failure {
namespace {

// An upper bound on fleet size that keeps the count within an int.
constexpr double kMostNodes = 1e9;

}  // namespace

Spares size_spares(const SpareProblem& problem) {
  const double mean = problem.nodes * (problem.node_rate * problem.repair);
  // The tail falls with every spare, so bisection finds the smallest count. No more spares than
  // nodes can be in repair, which also ends the search for a hopeless rate.
  std::int64_t low = -1;
  auto high = static_cast<std::int64_t>(std::clamp(problem.nodes, 0.0, kMostNodes));
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (poisson_above(middle, mean) < problem.shortfall ? high : low) = middle;
  }
  return {.count = static_cast<int>(high),
          .mean_in_repair = mean,
          .shortfall = poisson_above(high, mean)};
}

Seconds mean_repair(const RepairPipeline& pipeline) {
  return pipeline.reset + pipeline.hands * pipeline.hands_share;
}

}  // namespace orrery::failure
