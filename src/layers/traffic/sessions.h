// Users who talk in turns, as a load: each sends a prompt, reads the answer, thinks, and sends the
// next one with all that was said before it; after some turns another takes the place.
//
//   prompt of turn k = what turns 1 to k - 1 said and were answered + new tokens
// Every token of a session has the session's name, so that a prefix cache finds the history of a
// turn, answers included, where it still lies (engines/block_pool.h), or a tier brings it back
// (engines/kv_tier.h). Time between an answer and the next prompt is exponential. A history that
// no replica holds beside its answer ends the session. Wrong for: clients that edit what was said.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/traffic/load.h"

namespace orrery::traffic {

struct SessionLoad {
  int users = 1;
  int turns = 4;      // of a session
  double think = 30;  // seconds, mean
  LengthLaw prompt;   // new tokens of a turn
  LengthLaw output;
  int requests = 1000;  // of all users
  std::uint64_t seed = 1;
};

struct SessionRun {
  std::vector<RequestRecord> records;  // in order of their ends
  double history_tokens = 0;           // of all prompts: what was said before
  double found_tokens = 0;             // of prompts, on the device
  double fetched_tokens = 0;           // out of the tier
};

// The first requests fill an empty cache: those of the first third count in no figure.
SessionRun run_sessions(ReplicaSim& replica, const SessionLoad& load);

}  // namespace orrery::traffic
