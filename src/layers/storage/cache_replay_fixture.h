// For tests: replays a cache item by item. It checks the closed forms of cache.h, and covers cases
// that have none (a shuffle buffer, a data set of a few hundred shards, a cold start).
//
// Deterministic: the order of an epoch and random evictions come from named streams of the seed.
// The cost is items x epochs x log(items); a few thousand items give a rate to about 0.01.
#pragma once

#include <cstdint>

#include "layers/storage/cache.h"
#include "layers/storage/node_cache.h"

namespace orrery::storage {

struct ReplayOptions {
  catalog::EvictionPolicy policy = catalog::EvictionPolicy::lru;
  int items = 2000;
  int capacity = 1000;
  int warm_epochs = 5;  // counted epochs, after the warm-up
  int cold_epochs = 8;  // epochs that run first and are not counted
  // How far an item may move from its position in the file order: 0 is a fixed order, `items` or
  // more a full shuffle, and values between them the shuffle buffer of streaming loaders.
  int shuffle_buffer = 2000;
  std::uint64_t seed = 1;
};

inline double replay_hit_rate(const ReplayOptions& o) {
  EpochReader reader({.items = o.items, .shuffle_buffer = o.shuffle_buffer, .seed = o.seed});
  NodeCache cache(o.policy, o.items, o.capacity, o.seed);
  const std::int64_t cold = std::int64_t{o.cold_epochs} * o.items;
  const std::int64_t warm = std::int64_t{o.warm_epochs} * o.items;
  std::int64_t hits = 0;
  for (std::int64_t at = 0; at < cold + warm; ++at) {
    const bool hit = cache.read(reader.next());
    if (hit && at >= cold) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(warm);
}

}  // namespace orrery::storage
