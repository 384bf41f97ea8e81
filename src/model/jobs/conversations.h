// Conversations: how long a turn's history is, and what of it a replica's prefix cache still has.
//
// What is found and what a replica then carries depend on each other; a few rounds settle both.
#pragma once

#include <optional>

#include "layers/serving/steady_state.h"
#include "layers/traffic/talks.h"
#include "model/design/design.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {

// Adds the history of a mean turn to a request, all of it found in the prefix cache if the service
// has one. Leaves requests that are no turns as they are.
void add_history(serving::RequestShape& request, const design::Serve& serve);

struct TalkAsk {
  serving::ServingTarget target;
  PerSecond peak;
  std::optional<double> replicas;                    // none: as many as the peak needs
  double load = figures::assumptions::kReplicaLoad;  // share of what a replica carries
};
// Sets the share of each prompt that a replica's cache still has of its conversation.
void settle_talks(serving::RequestShape& request, const design::Serve& serve,
                  const serving::Replica& replica, const serving::ServingCosts& costs,
                  const TalkAsk& ask);

}  // namespace orrery::jobs
