// vLLM's scheduler, version 1 (0.15 and newer; as read in 0.24): no phases, a budget of tokens per
// step.
//
//   1. running requests, in order, take the tokens they lack, up to the remaining budget; if no
//      block is free, the last of them (or the one of worst priority) gives all of its blocks
//      back, loses what it computed and goes to the head of the queue
//   2. only if none was preempted, waiting requests join while budget and places last: cached
//      blocks first, the rest in a chunk; the first that does not fit ends the step
//   3. a waiting request whose adapter gets no slot in the step (max_loras distinct ones among
//      running and joined requests) is skipped and keeps its place; a request preempted later
//      queues behind those skipped
// One of the blocks that vLLM reports is its null block and is never allocated. Left out: encoders,
// connectors, and that asynchronous scheduling frees a finished request's blocks one step later.
#pragma once

#include "layers/engines/scheduler.h"

namespace orrery::engines {

class VllmScheduler : public Scheduler {
 public:
  explicit VllmScheduler(const EnginePolicy& policy);
  const Batch& plan() override;
  int steady() const override;

 private:
  int plan_running(int budget);
  void plan_waiting(int budget);
  bool make_room(int id, int tokens, std::size_t& place, int& budget);

  bool blocked_ = true;  // no waiting request could join, whatever the budget
};

}  // namespace orrery::engines
