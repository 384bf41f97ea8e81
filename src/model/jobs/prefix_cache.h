// The share of a prompt that a replica finds in its prefix cache, where requests share a prefix.
//
// Without adapters all of the shared prefix is found. With adapters (LoRA) a prefix is shared within
// one of them only, and what the cache still has of it depends on what a replica carries, which
// depends on what it finds; a few rounds settle both. Conversations find their own history instead
// (conversations.h).
#pragma once

#include "layers/serving/steady_state.h"
#include "model/design/design.h"

namespace orrery::jobs {

// Sets the share of each prompt that the cache of a replica at its capacity still has.
void settle_prefixes(serving::RequestShape& request, const design::Serve& serve,
                     const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::ServingTarget& target);

}  // namespace orrery::jobs
