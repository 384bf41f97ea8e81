// A cache read by read and the order of an epoch draw by draw: what each policy holds, worked out
// by hand, and the random draws that decide the rest.
#include "layers/storage/node_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "layers/storage/guidance.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

using catalog::EvictionPolicy;
using testing::ElementsAre;

// Returns which reads of these items hit; the next use of each is looked up, and "never again" is
// last.
std::string hits_of(EvictionPolicy policy, const std::vector<int>& items, int capacity) {
  NodeCache cache(policy, 10, capacity, 3);
  std::string hits;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto next =
        std::find(items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end(), items[i]);
    const std::int64_t use = next == items.end() ? 1000 + items[i] : next - items.begin();
    const bool hit =
        cache.read({.item = items[i], .number = static_cast<std::int64_t>(i), .next_use = use});
    hits += hit ? 'h' : '-';
  }
  return hits;
}

// Room for two. LRU: 0 1 | hit 0, so 1 is older and is evicted for 2; then 1 misses and 0 is
// evicted.
TEST(NodeCaches, least_recently_read_goes_first) {
  EXPECT_EQ(hits_of(EvictionPolicy::lru, {0, 1, 0, 2, 1, 0, 0, 2}, 2), "--h---h-");
  EXPECT_EQ(hits_of(EvictionPolicy::lru, {0, 1, 2, 0, 1, 2, 2}, 3), "---hhhh");
  EXPECT_EQ(hits_of(EvictionPolicy::lru, {4, 4, 5, 4}, 1), "-h--");
}

// The item whose next use is latest is evicted, even if it was just read: 0 and 1 are held; of {0
// at 5, 1 at 2, 2 at 6} item 2 is not kept.
TEST(NodeCaches, belady_drops_what_is_used_last) {
  EXPECT_EQ(hits_of(EvictionPolicy::belady, {0, 1, 1, 2, 0, 1, 2, 2}, 2), "--h-hh-h");
  EXPECT_EQ(hits_of(EvictionPolicy::belady, {0, 1, 2, 0, 1, 2}, 2), "---hh-");
}

TEST(NodeCaches, pinned_items_stay_and_nothing_joins_them) {
  EXPECT_EQ(hits_of(EvictionPolicy::pin, {3, 1, 2, 2, 3, 1, 2}, 2), "----hh-");
  EXPECT_EQ(hits_of(EvictionPolicy::pin, {3, 3, 3}, 1), "-hh");
}

TEST(NodeCaches, no_room_is_never_a_hit) {
  for (const EvictionPolicy p :
       {EvictionPolicy::lru, EvictionPolicy::belady, EvictionPolicy::pin, EvictionPolicy::random}) {
    EXPECT_EQ(hits_of(p, {1, 1, 1}, 0), "---");
    EXPECT_EQ(hits_of(p, {1, 1, 1}, -5), "---");
  }
}

// Three entries: the fourth item replaces the one drawn, and only a miss draws.
TEST(NodeCaches, random_place_is_drawn_at_each_eviction) {
  RandomStream draws(3, "storage/eviction");
  std::vector<int> places = {0, 1, 2};
  NodeCache cache(EvictionPolicy::random, 10, 3, 3);
  for (const int item : places) EXPECT_FALSE(cache.read({.item = item}));
  for (int i = 0; i < 200; ++i) {
    const int item = (i * 7 + i / 3) % 10;
    const bool held = std::ranges::find(places, item) != places.end();
    EXPECT_EQ(cache.read({.item = item}), held) << i;
    if (!held) places[static_cast<std::size_t>(draws.below(3))] = item;
  }
}

TEST(EpochOrders, no_buffer_keeps_file_order) {
  EXPECT_THAT(epoch_order({.items = 5, .shuffle_buffer = 0}, 7), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(epoch_order({.items = 5, .shuffle_buffer = 1}, 7), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(epoch_order({.items = 1, .shuffle_buffer = 1}, 0), ElementsAre(0));
}

// From the last position to the second, each is swapped with a position up to its own.
TEST(EpochOrders, full_shuffle_draws_from_the_end) {
  for (const int buffer : {12, 13, 100}) {
    RandomStream draws(9, "storage/epoch/4");
    std::vector<int> expected;
    for (int i = 0; i < 12; ++i) expected.push_back(i);
    for (std::size_t i = 11; i > 0; --i) std::swap(expected[i], expected[draws.below(i + 1)]);
    EXPECT_EQ(epoch_order({.items = 12, .shuffle_buffer = buffer, .seed = 9}, 4), expected);
  }
}

// The next item of the file fills the entry that was read; at the end the buffer's last entry moves
// there.
TEST(EpochOrders, buffer_refills_the_place_it_read) {
  RandomStream draws(9, "storage/epoch/2");
  std::vector<int> held = {0, 1, 2, 3};
  std::vector<int> expected;
  for (int next = 4; !held.empty(); ++next) {
    const auto at = static_cast<std::size_t>(draws.below(held.size()));
    expected.push_back(held[at]);
    if (next < 12) {
      held[at] = next;
    } else {
      held[at] = held.back();
      held.pop_back();
    }
  }
  EXPECT_EQ(epoch_order({.items = 12, .shuffle_buffer = 4, .seed = 9}, 2), expected);
}

// Three epochs of six: reads are numbered consecutively, and the next use is in the next epoch.
TEST(EpochOrders, reader_knows_when_an_item_is_next_read) {
  const EpochOptions o{.items = 6, .shuffle_buffer = 6, .seed = 11};
  EpochReader reader(o);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::vector<int> now = epoch_order(o, epoch), next = epoch_order(o, epoch + 1);
    for (int i = 0; i < 6; ++i) {
      const EpochRead r = reader.next();
      EXPECT_EQ(r.item, now[static_cast<std::size_t>(i)]);
      EXPECT_EQ(r.number, 6 * epoch + i);
      EXPECT_EQ(r.next_use, 6 * (epoch + 1) + (std::ranges::find(next, r.item) - next.begin()));
    }
  }
}

TEST(NodeCache, cache_of_one_item_keeps_the_last) {
  for (const auto policy : {catalog::EvictionPolicy::random, catalog::EvictionPolicy::lru}) {
    NodeCache cache(policy, 2, 1, 5);
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_FALSE(cache.read({.item = static_cast<int>(i % 2), .number = i}));
    }
    EXPECT_TRUE(cache.read({.item = 1, .number = 6}));
    NodeCache none(policy, 2, 0, 5);
    EXPECT_FALSE(none.read({.item = 1, .number = 0}));
    EXPECT_FALSE(none.read({.item = 1, .number = 1}));
  }
}

// An item is read at most the buffer's size before its own position, because the buffer is filled
// in file order.
TEST(NodeCache, shuffle_buffer_moves_items_a_little) {
  const std::vector<int> order = epoch_order({.items = 60, .shuffle_buffer = 4}, 0);
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  int moved = 0;
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
    EXPECT_LE(order[static_cast<std::size_t>(i)], i + 3);
    moved += order[static_cast<std::size_t>(i)] != i ? 1 : 0;
  }
  EXPECT_GT(moved, 20);
  EXPECT_NE(epoch_order({.items = 60, .shuffle_buffer = 4}, 1), order);
  for (const int buffer : {0, 1}) {
    const std::vector<int> fixed = epoch_order({.items = 5, .shuffle_buffer = buffer}, 3);
    EXPECT_EQ(fixed, (std::vector<int>{0, 1, 2, 3, 4}));
  }
}

TEST(NodeCache, epoch_reads_every_item_once) {
  for (const int buffer : {0, 1, 5, 30, 100}) {
    const EpochOptions options{.items = 30, .shuffle_buffer = buffer, .seed = 5};
    EpochReader reader(options);
    std::vector<std::int64_t> next(30, -1);
    for (int epoch = 0; epoch < 4; ++epoch) {
      const std::vector<int> order = epoch_order(options, epoch);
      std::vector<bool> seen(30, false);
      for (int at = 0; at < 30; ++at) {
        const EpochRead read = reader.next();
        EXPECT_EQ(read.item, order[static_cast<std::size_t>(at)]) << "a resumed run reads the same";
        EXPECT_EQ(read.number, 30 * epoch + at);
        EXPECT_FALSE(seen[static_cast<std::size_t>(read.item)]);
        seen[static_cast<std::size_t>(read.item)] = true;
        if (epoch > 0) {
          EXPECT_EQ(next[static_cast<std::size_t>(read.item)], read.number) << "as it was said";
        }
        next[static_cast<std::size_t>(read.item)] = read.next_use;
        // With a buffer of b items, none is read more than b - 1 positions early.
        if (buffer > 0 && buffer < 30) {
          EXPECT_LE(read.item, at + buffer - 1);
        }
        if (buffer <= 1) {
          EXPECT_EQ(read.item, at);
        }
      }
    }
  }
  // A shuffle may leave an item where it was: on average one in thirty.
  int fixed = 0;
  for (int epoch = 0; epoch < 400; ++epoch) {
    const auto order = epoch_order({.items = 30, .shuffle_buffer = 30, .seed = 5}, epoch);
    for (int i = 0; i < 30; ++i) fixed += order[static_cast<std::size_t>(i)] == i ? 1 : 0;
  }
  EXPECT_NEAR(fixed, 400, 80);
}

}  // namespace
}  // namespace orrery::storage
