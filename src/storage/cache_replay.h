// A cache replayed item by item: the check on the closed forms of cache.h, and the answer where
// there is none (a shuffle buffer, a data set of a few hundred shards, a cold start).
//
// Deterministic: the order of an epoch and random evictions come from named streams of the seed.
// Cost is items x epochs x log(items); a few thousand items give a rate to about 0.01.
#pragma once

#include <cstdint>

#include "storage/cache.h"

namespace orrery::storage {

struct ReplayOptions {
  catalog::EvictionPolicy policy = catalog::EvictionPolicy::lru;
  int items = 2000;
  int capacity = 1000;
  int warm_epochs = 5;  // counted, after the warm-up
  int cold_epochs = 8;  // played first and not counted
  // How far an item may move from its place in the file order: 0 a fixed order, items or more a
  // full shuffle, between them the shuffle buffer of streaming loaders.
  int shuffle_buffer = 2000;
  std::uint64_t seed = 1;
};

double replay_hit_rate(const ReplayOptions& options);

}  // namespace orrery::storage
