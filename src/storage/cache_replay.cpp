#include "storage/cache_replay.h"

#include "storage/node_cache.h"

namespace orrery::storage {

double replay_hit_rate(const ReplayOptions& o) {
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
