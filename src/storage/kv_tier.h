// Keeping KV caches on storage instead of computing them again.
//
//   fetch beats recompute when  bytes/B + latency < tokens / prefill rate
//   break-even bandwidth        bytes_per_token / (1/prefill - latency/tokens)
// bytes a token come as a value (workload's kv_bytes_per_token: 131,072 B for Llama 3.1 8B in
// 16 bits). The tier's capacity is what live sessions leave behind within their time to live.
#pragma once

#include "base/quantity.h"
#include "storage/tier_sizing.h"

namespace orrery::storage {

struct KvFetch {
  double tokens = 0;  // of the prefix
  Bytes per_token;
  BytesPerSecond rate;  // of storage, for this request
  Seconds latency;
  PerSecond prefill;  // tokens a second that recomputing runs at
};
struct KvVerdict {
  Seconds fetch;
  Seconds recompute;
  bool fetch_wins = false;
  // The storage rate at which both take as long; 0 where the latency alone is longer than
  // recomputing, so that no rate is enough.
  BytesPerSecond break_even;
};
KvVerdict compare_kv(const KvFetch& f);

struct KvSessions {
  PerSecond arrivals;    // of requests
  double hit_share = 0;  // of requests that find their prefix
  double tokens = 0;     // mean prefix
  Bytes per_token;
  Seconds keep;  // time to live of a prefix
};
// A request that misses leaves its prefix behind; one that hits reads it.
TierDemand kv_demand(const KvSessions& s);

}  // namespace orrery::storage
