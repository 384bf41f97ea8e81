// The hit rate of a cache when epochs read a data set larger than it.
//
// c is the cache's share of the data set; every item is read once per epoch.
//   pin, Belady        c                 no policy can do better: an item hit in this epoch was in
//                                        the cache when the epoch began, and only c of them fit
//   LRU, shuffled      c + (1 - c) ln(1 - c)               reuse distance 1 - x + xy
//   LRU, fixed order   0 below full size
//   random, shuffled   1 - c ln(c + (1 - c) e^(1/c))       from u' = (u - A)/c, u = e^(M/c): A = c
//   random, fixed      h = e^(-(1 - h)/c)
// The first lines are textbook results; the two for random eviction are derived in
// docs/models/cache.md. All agree with the simulated rates of
// data/validation/cache_policy_hit_rates.csv within 0.005, the error of that simulation. They hold
// in the limit of many items; wrong for a first, cold epoch.
#pragma once

#include "core/catalog/vocabulary.h"

namespace orrery::storage {

enum class EpochOrder { shuffled, fixed };

// Returns the hit rate in a warm epoch; `cache_share` is clamped to [0, 1].
double hit_rate(catalog::EvictionPolicy policy, EpochOrder order, double cache_share);

// Returns the mean over `epochs`, of which the first has no hits.
double mean_hit_rate(double warm_hit_rate, double epochs);

}  // namespace orrery::storage
