// Prefill and decode on separate replicas: either as many of each as the peak needs at a share of
// what one can carry, or the number of prefill replicas that the design gives.
#pragma once

#include <optional>
#include <string>

#include "layers/serving/disaggregated.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {

struct ApartSize {
  double prefill = 0;      // replicas
  double decode = 0;       // replicas
  PerSecond prefill_rate;  // prompts per replica
  PerSecond decode_rate;   // requests per replica
  double running = 0;      // most requests on one decode replica
  std::string infeasible;

  PerSecond per_replica() const {
    return min(prefill_rate * prefill, decode_rate * decode) / (prefill + decode);
  }
};
struct ApartAsk {
  PerSecond peak;
  std::optional<int> prefill;
  double load = figures::assumptions::kReplicaLoad;
};
ApartSize apart_size(const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::RequestShape& request, const serving::ServingTarget& target,
                     BytesPerSecond link, const ApartAsk& ask);

}  // namespace orrery::jobs
