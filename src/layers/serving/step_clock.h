// The time of an iteration from its sums, fast enough to be asked for every one of millions.
//
//   t = settle(F(T) + D(d) + P(q) + S(s) + A_dec(d, keys) + A_pre(p, q, pairs)) + messages(T) +
//   host
// F, D, P and S are the products and passes whose size follows all tokens T, the decoding requests
// d, the tokens of prompts q and the sampled tokens s: each is a table that fills as it is asked.
// Attention is computed anew each time, for d requests of the mean context and for p chunks of the
// mean length whose query-key pairs add up to the true sum. Nothing is allocated once a size was
// seen. step_time() of the same sums gives the same value; a test holds the two together.
// Wrong where contexts are very unequal: the longest then ends a kernel later than the mean says.
//
// A tuning says how an engine's kernels on a device differ from the device's own: factors on the
// kinds of work, and times that no kernel model has (small kernels of a layer, launches, the host).
#pragma once

#include <vector>

#include "layers/engines/scheduler.h"
#include "layers/serving/steady_state.h"

namespace orrery::serving {

class StepClock {
 public:
  StepClock(const Replica& replica, const ServingCosts& costs, double tokens_per_step = 1);

  // All pipeline stages and the host; zero for an empty step.
  Seconds time(const engines::StepSums& sums);
  StepTime split(const engines::StepSums& sums);
  const Replica& replica() const { return replica_; }

 private:
  struct Cost {
    ServingOpCost kernels;
    double messages = -1;  // seconds; below zero: not asked yet
  };
  struct Attention {
    workload::Attention kernel;
    double repeats = 0;
    bool decode = false;
  };

  const Cost& table(std::vector<Cost>& costs, WorkPart part, int size);
  Cost cost_of(WorkPart part, int size) const;
  Iteration sized(WorkPart part, int size) const;
  ServingOpCost attention(const engines::StepSums& sums) const;

  Replica replica_;
  ServingCosts costs_;
  double tokens_per_step_;
  std::vector<Cost> tokens_, decode_, prefill_, sampled_;
  std::vector<Attention> attention_;
};

}  // namespace orrery::serving
