// The time of an iteration from its sums, fast enough to be computed for millions of iterations.
//
//   t = settle(F(T) + D(d) + P(q) + S(s) + A_dec(d, keys) + A_pre(p, q, pairs))
//       + messages(T) + host
// F, D, P and S are the products and passes whose size depends on all tokens T, the decoding
// requests d, the prompt tokens q and the sampled tokens s; each is a table that is filled on
// demand. Attention is computed every time, for d requests of the mean context and for p chunks of
// the mean length whose query-key pairs add up to the true sum. Nothing is allocated for a size
// seen before. step_time() of the same sums gives the same value, which a test verifies. Wrong if
// contexts are very unequal: the longest then ends a kernel later than the mean does.
//
// A tuning says how an engine's kernels on a device differ from the device's own: factors per kind
// of work, and times that no kernel model covers (small kernels of a layer, launches, the host).
#pragma once

#include <vector>

#include "layers/engines/scheduler.h"
#include "layers/serving/steady_state.h"

namespace orrery::serving {

class StepClock {
 public:
  StepClock(const Replica& replica, const ServingCosts& costs, double tokens_per_step = 1);

  // Returns the time over all pipeline stages and the host; zero for an empty step.
  Seconds time(const engines::StepSums& sums);
  StepTime split(const engines::StepSums& sums);
  const Replica& replica() const { return replica_; }

 private:
  struct Cost {
    ServingOpCost kernels;
    double messages = -1;  // seconds; negative: not computed yet
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
