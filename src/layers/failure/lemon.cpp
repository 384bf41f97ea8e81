#include "layers/failure/lemon.h"

#include <algorithm>

#include "core/base/math.h"

namespace orrery::failure {

double faded(const FadingCount& count, Seconds now, Seconds memory) {
  // If the clock stepped back, a failure must not count more than it did.
  const double age = std::max(0.0, (now - count.at) / memory);
  return count.weight * math::exp(-age);
}

FadingCount struck(const FadingCount& count, Seconds now, double weight, Seconds memory) {
  return {.weight = faded(count, now, memory) + weight, .at = max(now, count.at)};
}

namespace {

Seconds exposure_of(Seconds watched, const LemonPrior& prior) {
  const double age = std::max(0.0, watched / prior.memory);
  return prior.memory * -math::expm1(-age);
}

}  // namespace

PerSecond fleet_rate(double weight, double nodes, Seconds watched, const LemonPrior& prior) {
  const Seconds fleet_exposure =
      prior.rate_failures / prior.rate + std::max(0.0, nodes) * exposure_of(watched, prior);
  return (prior.rate_failures + weight) / fleet_exposure;
}

double lemon_odds(const LemonEvidence& evidence, const LemonPrior& prior) {
  const PerSecond rate =
      fleet_rate(evidence.other_weight, evidence.other_nodes, evidence.watched, prior);
  return lemon_odds(prior.mix, base_node_rate(rate, prior.mix), evidence.node_weight,
                    exposure_of(evidence.watched, prior));
}

}  // namespace orrery::failure
