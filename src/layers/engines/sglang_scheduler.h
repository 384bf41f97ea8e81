// SGLang's scheduler (0.5): an iteration either extends prompts or decodes, prompts first.
//
//   extend  waiting requests, longest cached prefix first (in order of arrival if more than 128
//           wait), join while their tokens and a share of all future outputs fit the cache; at
//           most chunked_prefill_size tokens; a prompt cut at that size continues first next time
//   decode  all running requests; if the cache cannot hold one more token for each, those with the
//           fewest generated tokens (then the longest prompts) are retracted to the queue
// The share (new_token_ratio) falls step by step and jumps up after a retraction. With no prefix
// cache and known lengths, admission instead follows the cache through every future end. Adapters:
// a request that would bring the distinct adapters of all running and extending requests above
// max_loras_per_batch stays in the queue, and others are tried; the bare model counts as one.
// SGLang's drainer, which holds back adapters that run on and on, is off by default and not
// modelled. Differences: the cache is shared in pages of block_tokens and evicted by last use,
// while SGLang evicts leaves of a radix tree; equal prefixes within a batch are not held back.
#pragma once

#include "layers/engines/scheduler.h"

namespace orrery::engines {

class SglangScheduler : public Scheduler {
 public:
  explicit SglangScheduler(const EnginePolicy& policy);
  const Batch& plan() override;
  int steady() const override;
  void done(int times = 1) override;

 private:
  struct Budget {
    double promised = 0;  // tokens that future outputs will take
    int chunk = 0;        // prompt tokens left in this iteration
  };
  enum class Added { more, no_room, full };

  void plan_extend();
  void join_waiting(Budget& budget);
  void plan_decode();
  void order_waiting();
  Added add_one(int id, Budget& budget);
  bool fits_to_the_end(int id, int fresh);
  bool extend(int id, int tokens, const Found& have);
  void retract();
  double room() const;

  double ratio_;
  double ratio_step_;
  bool full_ = false;
  bool no_slot_ = false;  // every waiting request lacks an adapter slot
  int chunked_ = -1;
  bool decoding_ = false;
  std::vector<std::pair<double, double>> ends_;  // (tokens left, tokens held)
};

}  // namespace orrery::engines
