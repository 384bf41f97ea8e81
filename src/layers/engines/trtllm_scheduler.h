// TensorRT-LLM's two schedulers in sequence (its batch manager): the first admits requests, the
// second decides how many tokens each computes now. Prompts and decodes share an iteration.
//
//   no evict          a request joins if the blocks of its prompt and its whole output are free
//                     after everything that running requests will still take; the first that does
//                     not fit ends the search
//   max utilisation   a request joins if the blocks of its next step fit; if a running request does
//                     not fit, the last started one is paused and restarts later
//   tokens            running requests first, then prompts in order until the token limit;
//                     with chunking the last prompt is cut at a multiple of chunk_unit
// A prompt takes all of its blocks with its first chunk. With block reuse, a request waits if it
// could share the first block that an earlier request of the same iteration computes. Adapters: a
// request whose adapter does not fit beside those chosen is skipped under "no evict", and ends the
// search under "max utilisation". Left out: beams, encoders, several micro-batches in flight,
// adapters of different sizes.
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

  std::vector<int> chosen_;  // chosen requests in order, running ones first
  bool blocked_ = true;
};

}  // namespace orrery::engines
