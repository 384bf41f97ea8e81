// TensorRT-LLM's two schedulers in a row (its batch manager): who may be in the machine, and how
// many tokens each computes now. Prompts and decodes share an iteration.
//
//   no evict          a request joins if the blocks of its prompt and its whole output are free
//                     after all that the running ones will still take; the first that does not fit
//                     ends the search
//   max utilisation   a request joins if the blocks of its next step fit; where a running one does
//                     not fit, the last started one is paused and begins anew later
//   tokens            running requests first, then prompts in order while the token limit lasts;
//                     with chunking the last prompt is cut at a multiple of chunk_unit
// A prompt takes the blocks of all of it with its first chunk. With block reuse a request waits
// that could share the first block which an earlier one of the same iteration computes. Adapters:
// one whose pages do not fit beside those of all chosen is passed by without eviction, and ends the
// search where utilisation is what counts. Left out: beams, encoders, several micro-batches in
// flight, adapters of different sizes.
#pragma once

#include "layers/engines/scheduler.h"

namespace orrery::engines {

class TrtllmScheduler : public Scheduler {
 public:
  explicit TrtllmScheduler(const EnginePolicy& policy) : Scheduler(policy) {}
  const Batch& plan() override;
  int steady() const override;

 private:
  void choose_no_evict();
  void choose_max_utilisation();
  bool admit_no_evict(int id, int& free);
  void choose(int id);
  bool better_later(int id, std::vector<int>& leaders) const;
  int next_blocks(const Sequence& s) const;
  void give_tokens();
  void start(int id);

  std::vector<int> chosen_;  // in order; the running ones first
  bool blocked_ = true;
};

}  // namespace orrery::engines
