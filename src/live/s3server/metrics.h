// What the gateway has answered, counted for Prometheus and for `orrery store status`. Counters may
// be increased from any thread.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "live/s3server/names.h"

namespace orrery::s3server {

enum class RequestKind { get, put, list, remove, other };
inline constexpr std::array<std::string_view, 5> kRequestKindNames = {"get", "put", "list",
                                                                      "delete", "other"};
RequestKind request_kind_of(std::string_view action);

// Upper bounds of the latency buckets in seconds; one more bucket holds all longer times.
inline constexpr std::array<double, 9> kLatencyBounds = {0.001, 0.003, 0.01, 0.03, 0.1,
                                                         0.3,   1,     3,    10};

struct KindCounts {
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> refused = 0;  // 4xx
  std::atomic<std::uint64_t> faults = 0;   // 5xx
  std::atomic<std::uint64_t> bytes = 0;    // bytes sent, or received by a put
  std::atomic<std::uint64_t> micros = 0;
  std::array<std::atomic<std::uint64_t>, kLatencyBounds.size() + 1> within = {};
};

struct TierCounts {
  std::atomic<std::uint64_t> reads = 0;
  std::atomic<std::uint64_t> bytes = 0;
};

struct GatewayCounts {
  std::array<KindCounts, kRequestKindNames.size()> kinds = {};
  std::array<TierCounts, 4> tiers = {};          // reads by tier, in the order of kTierOrder
  std::atomic<std::uint64_t> slow_reads = 0;     // reads of objects that belong to a slower tier
  std::atomic<std::uint64_t> promoted_hits = 0;  // those of them that were served from the fast
                                                 // tier
  std::atomic<std::uint64_t> slowed = 0;         // requests answered with SlowDown

  void add(RequestKind kind, int status, std::uint64_t bytes, double seconds);
};

}  // namespace orrery::s3server
