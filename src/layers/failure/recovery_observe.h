// The first half of the recovery policy: turns what a look shows and the memory does not know yet
// into events. The second half (recovery.cpp) turns view and memory into actions.
#pragma once

#include "layers/failure/recovery.h"

namespace orrery::failure {

// Applies every event it finds to `memory` and returns them in order.
std::vector<RecoveryEvent> observe(const ClusterLook& view, RecoveryMemory& memory,
                                   const RecoveryPolicy& policy);

// Returns the key of the node's fencing in this episode.
std::string fence_key(const std::string& node, const NodeMemory& memory);

// Returns the odds that a node is a lemon, from what is remembered of it and of its fleet.
double lemon_odds_of(const std::string& node, const ClusterLook& view, const RecoveryMemory& memory,
                     const RecoveryPolicy& policy);

}  // namespace orrery::failure
