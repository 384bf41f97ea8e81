// vLLM's scheduler, version 1 (0.15 and newer; read in 0.24): no phases, a budget of tokens.
//
//   1. running requests in order take what they lack, at most the budget that is left; where no
//      block is free the last of them (or the one of worst priority) gives all of its blocks back,
//      loses what it computed and goes to the head of the queue
//   2. only if nobody was put off, waiting requests join while budget and places last: found blocks
//      first, the rest in a chunk; the first that does not fit ends the step
//   3. whoever waits with an adapter for which the step has no slot left (max_loras distinct ones
//      of running and joined requests) is passed by and keeps its place; who gives way later
//      queues behind those passed by
// One block of the count that vLLM prints is its null block and never handed out. Left out:
// encoders, connectors, and that asynchronous scheduling frees the blocks of a finished request
// one step later.
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

  bool blocked_ = true;  // nobody who waits could join, whatever the budget
};

}  // namespace orrery::engines
