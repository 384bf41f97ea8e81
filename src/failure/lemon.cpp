#include "failure/lemon.h"

#include <algorithm>

#include "base/math.h"

namespace orrery::failure {

double faded(const FadingCount& count, Seconds now, Seconds memory) {
  // A clock that stepped back must not make a failure weigh more than it did.
  const double age = std::max(0.0, (now - count.at) / memory);
  return count.weight * math::exp(-age);
}

FadingCount struck(const FadingCount& count, Seconds now, double weight, Seconds memory) {
  return {.weight = faded(count, now, memory) + weight, .at = max(now, count.at)};
}

double lemon_odds(const LemonEvidence& evidence, const LemonPrior& prior) {
  const double age = std::max(0.0, evidence.watched / prior.memory);
  const Seconds exposure = prior.memory * -math::expm1(-age);
  const Seconds fleet_exposure =
      prior.rate_failures / prior.rate + std::max(0.0, evidence.other_nodes) * exposure;
  const PerSecond rate = (prior.rate_failures + evidence.other_weight) / fleet_exposure;
  return lemon_odds(prior.mix, base_node_rate(rate, prior.mix), evidence.node_weight, exposure);
}

}  // namespace orrery::failure
