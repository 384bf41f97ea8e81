// Conversations: how long a turn's history is, and how much of it a replica's prefix cache still
// holds.
//
// The share that is found and the load of a replica depend on each other; a few rounds settle both.
#pragma once

#include <optional>

#include "layers/serving/steady_state.h"
#include "layers/traffic/talks.h"
#include "model/design/design.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {

// Adds the history of an average turn to a request, all of it found in the prefix cache if the
// service has one. Does nothing for requests that are not turns.
void add_history(serving::RequestShape& request, const design::Serve& serve);

struct ConversationAsk {
  serving::ServingTarget target;
  PerSecond peak;
  std::optional<double> replicas;                    // none: as many as the peak needs
  double load = figures::assumptions::kReplicaLoad;  // share of a replica's capacity
};
// Sets the share of each prompt that a replica's cache still holds from its conversation.
void settle_conversations(serving::RequestShape& request, const design::Serve& serve,
                          const serving::Replica& replica, const serving::ServingCosts& costs,
                          const ConversationAsk& ask);

}  // namespace orrery::jobs
