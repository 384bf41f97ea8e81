#include "model/jobs/prefix_cache.h"

#include "layers/serving/adapters.h"

namespace orrery::jobs {
namespace {

constexpr int kPrefixRounds = 4;  // rounds in which cache hits and replica load converge

}  // namespace

void settle_prefixes(serving::RequestShape& r, const design::Serve& serve,
                     const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::ServingTarget& target) {
  // In conversations the history counts, and it always has the same adapter.
  if (!replica.adapters.any() || serve.arrivals.visits() > 1 || r.cached_share <= 0) return;
  const double shared = r.cached_share;
  const double own = r.input * (1 - shared);
  for (int round = 0; round < kPrefixRounds; ++round) {
    const serving::ServingPoint most = capacity(replica, r, target, costs);
    if (most.concurrency < 1) return;
    const double held = most.running * (own + r.output / 2);
    r.cached_share =
        shared * prefix_found(replica.adapters, {.prefix = r.input * shared,
                                                 .fresh = own + r.output,
                                                 .room = replica.memory.kv_tokens - held,
                                                 .running = most.running});
  }
}

}  // namespace orrery::jobs
