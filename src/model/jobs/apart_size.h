// Prefill and decode on replicas of their own: as many of each as the peak needs at a share of what
// one can, or the prefill replicas that the design gives.
#pragma once

#include <optional>
#include <string>

#include "layers/serving/disaggregated.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {

struct ApartSize {
  double prefill = 0;      // replicas
  double decode = 0;       // replicas
  PerSecond prefill_rate;  // prompts of one replica
  PerSecond decode_rate;   // requests of one replica
  double running = 0;      // requests of a decode replica, at most
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
