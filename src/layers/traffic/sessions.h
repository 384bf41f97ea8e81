// A load of users in conversations: each sends a prompt, reads the answer, thinks, and sends the
// next prompt with the whole history; after some turns another user takes the place.
//
//   prompt of turn k = prompts and answers of turns 1 to k - 1 + new tokens
// Every token of a conversation carries its name, so a prefix cache finds the history of a turn,
// answers included, if it is still there (engines/block_pool.h), or a tier brings it back
// (engines/kv_tier.h). Time between an answer and the next prompt is exponential. A conversation
// ends if its history and answer no longer fit in a replica. Wrong for: clients that edit the
// history.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/traffic/load.h"

namespace orrery::traffic {

struct SessionLoad {
  int users = 1;
  int turns = 4;      // per conversation
  double think = 30;  // mean seconds
  LengthLaw prompt;   // new tokens per turn
  LengthLaw output;
  int requests = 1000;  // total over all users
  std::uint64_t seed = 1;
};

struct SessionRun {
  std::vector<RequestRecord> records;  // in the order of their ends
  double history_tokens = 0;           // history tokens in all prompts
  double found_tokens = 0;             // prompt tokens found on the device
  double fetched_tokens = 0;           // prompt tokens fetched from the tier
};

// The first requests fill an empty cache, so the first third counts in no figure.
SessionRun run_sessions(ReplicaSim& replica, const SessionLoad& load);

}  // namespace orrery::traffic
