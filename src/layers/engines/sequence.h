// A request as an engine holds it, and the identity of its tokens without the tokens.
//
// Lengths are whole tokens. What a prefix cache may share is said by names: the first
// `shared_tokens` of the prompt belong to `shared` (a system prompt), the rest to `content`; two
// requests with equal names have equal tokens there. Name 0 is nobody else's. Tokens that a request
// generates are its own, unless `shared_tokens` reaches into them or `content` names the talk that
// they are said in. Another adapter makes other keys of the same tokens. Wrong for: prompts that
// begin alike under different names.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::engines {

struct RequestSpec {
  int prompt = 1;
  int output = 1;            // tokens until it stops, the first included
  int priority = 0;          // lower is served first, where the engine looks at it
  bool transferred = false;  // another replica has prefilled it: keys and first token come with it
  std::uint64_t shared = 0;
  int shared_tokens = 0;
  std::uint64_t content = 0;
  bool talks = false;         // the answer is of `content` too: the next turn brings it back
  std::uint64_t session = 0;  // whose request it is, for routers; 0: as its prefix is
  int adapter = 0;            // that answers it (LoRA); 0: the model itself
};

enum class SequenceState : std::uint8_t { waiting, running, preempted, finished };

struct Sequence {
  RequestSpec spec;
  double arrived = 0;
  int computed = 0;   // tokens whose keys and values are in the cache
  int generated = 0;  // tokens that the client has
  int cached = 0;     // of the prompt, found in the cache when it was first admitted
  int fetched = 0;    // of the prompt, brought back from a tier then
  int blocks = 0;     // held
  int preemptions = 0;
  SequenceState state = SequenceState::waiting;
  std::vector<int> block_ids;  // only where blocks are shared

  // Tokens that must be computed before the next one is sampled.
  int known() const { return spec.prompt + generated; }
  bool done() const { return generated >= spec.output; }
};

}  // namespace orrery::engines
