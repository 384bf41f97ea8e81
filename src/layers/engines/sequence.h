// A request as an engine holds it, and the identity of its tokens without the tokens themselves.
//
// Lengths are whole tokens. Names say what a prefix cache may share: the first `shared_tokens` of
// the prompt belong to `shared` (a system prompt), the rest to `content`; two requests with equal
// names have equal tokens there. Name 0 is shared with no other request. Tokens that a request
// generates are its own, unless `shared_tokens` extends into them or `content` names the
// conversation they belong to. A different adapter gives different keys for the same tokens. Wrong
// for: prompts that begin alike under different names.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::engines {

struct RequestSpec {
  int prompt = 1;
  int output = 1;    // tokens until it stops, including the first
  int priority = 0;  // lower is served first, if the engine uses priorities
  // Prefilled by another replica; keys, values and first token are transferred.
  bool transferred = false;
  std::uint64_t shared = 0;
  int shared_tokens = 0;
  std::uint64_t content = 0;
  bool talks = false;  // the answer belongs to `content` too: the next turn sends it again
  // The conversation it belongs to, for routers; 0: identified by its prefix.
  std::uint64_t session = 0;
  int adapter = 0;  // the LoRA adapter that answers it; 0: the model itself
};

enum class SequenceState : std::uint8_t { waiting, running, preempted, finished };

struct Sequence {
  RequestSpec spec;
  double arrived = 0;
  int computed = 0;   // tokens whose keys and values are in the cache
  int generated = 0;  // tokens that the client has received
  int cached = 0;     // prompt tokens found in the cache when it was first admitted
  int fetched = 0;    // prompt tokens fetched from a tier at that time
  int blocks = 0;     // held
  int preemptions = 0;
  SequenceState state = SequenceState::waiting;
  std::vector<int> block_ids;  // only if blocks are shared

  // Returns the tokens that must be computed before the next one is sampled.
  int known() const { return spec.prompt + generated; }
  bool done() const { return generated >= spec.output; }
};

}  // namespace orrery::engines
