#include "storage/kv_tier.h"

namespace orrery::storage {

KvVerdict compare_kv(const KvFetch& f) {
  const Bytes prefix = f.per_token * f.tokens;
  KvVerdict v;
  v.fetch = prefix / f.rate + f.latency;
  v.recompute = f.tokens / f.prefill;
  v.fetch_wins = v.fetch < v.recompute;
  const Seconds left = v.recompute - f.latency;
  v.break_even = left.base() > 0 ? prefix / left : BytesPerSecond(0);
  return v;
}

TierDemand kv_demand(const KvSessions& s) {
  const Bytes prefix = s.per_token * s.tokens;
  const PerSecond misses = s.arrivals * (1 - s.hit_share);
  return {.capacity = prefix * (misses * s.keep),
          .read = prefix * (s.arrivals * s.hit_share),
          .write = prefix * misses,
          .requests = s.arrivals};
}

}  // namespace orrery::storage
