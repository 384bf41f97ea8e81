#include <gtest/gtest.h>

#include "layers/storage/cache_replay_fixture.h"

namespace orrery::storage {
namespace {

TEST(CacheReplay, SameSeedSameRate) {
  const ReplayOptions o{.policy = catalog::EvictionPolicy::random, .items = 500, .capacity = 200};
  EXPECT_EQ(replay_hit_rate(o), replay_hit_rate(o));
  ReplayOptions other = o;
  other.seed = 2;
  EXPECT_NE(replay_hit_rate(o), replay_hit_rate(other));
}

// Worked by hand: 3 items in fixed order, room for 2. LRU always drops the one that comes next;
// Belady keeps one of the two it will need soonest: 2 hits in each epoch of 3 reads would need all.
TEST(CacheReplay, ThreeItemsInOrder) {
  ReplayOptions o{.items = 3, .capacity = 2, .warm_epochs = 4, .cold_epochs = 2};
  o.shuffle_buffer = 0;
  o.policy = catalog::EvictionPolicy::lru;
  EXPECT_EQ(replay_hit_rate(o), 0);
  o.policy = catalog::EvictionPolicy::pin;
  EXPECT_NEAR(replay_hit_rate(o), 2.0 / 3, 1e-12);
}

TEST(CacheReplay, AFullCacheAlwaysHits) {
  for (const catalog::EvictionPolicy p :
       {catalog::EvictionPolicy::lru, catalog::EvictionPolicy::random, catalog::EvictionPolicy::pin,
        catalog::EvictionPolicy::belady}) {
    EXPECT_EQ(replay_hit_rate({.policy = p, .items = 100, .capacity = 100}), 1);
    EXPECT_EQ(replay_hit_rate({.policy = p, .items = 100, .capacity = 0}), 0);
  }
}

// A shuffle buffer is between a fixed order and a full shuffle, and LRU hits grow with it.
TEST(CacheReplay, ShuffleBufferLiesBetween) {
  ReplayOptions o{.policy = catalog::EvictionPolicy::lru, .items = 1000, .capacity = 500};
  double before = -1;
  for (const int buffer : {0, 100, 1000}) {
    o.shuffle_buffer = buffer;
    const double h = replay_hit_rate(o);
    EXPECT_GE(h, before);
    before = h;
  }
  EXPECT_GT(before, 0.13);
}

}  // namespace
}  // namespace orrery::storage
