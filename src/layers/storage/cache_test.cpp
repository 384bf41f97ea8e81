#include "layers/storage/cache.h"

#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "layers/storage/cache_replay_fixture.h"
#include "layers/storage/checkpoint.h"

namespace orrery::storage {
namespace {

// The table's rates were simulated over a finite data set soon after a cold start; a replay that
// starts later approaches the closed form (random, fixed order, c = 0.75: 0.5499 in the table,
// 0.5458 over 20,000 items after 40 epochs, 0.5456 here).
constexpr double kSimulationError = 0.005;

TEST(Cache, reproduces_the_published_table) {
  const auto table = catalog::embedded_table("validation/cache_policy_hit_rates.csv");
  ASSERT_TRUE(table.has_value());
  ASSERT_EQ(table->rows().size(), 10u);
  for (const CsvRow& row : table->rows()) {
    const EpochOrder order =
        table->text(row, "shuffle") == "full" ? EpochOrder::shuffled : EpochOrder::fixed;
    const double c = *table->number(row, "cache_fraction");
    SCOPED_TRACE(c);
    const auto near = [&](catalog::EvictionPolicy policy, const char* column, double tolerance) {
      EXPECT_NEAR(hit_rate(policy, order, c), *table->number(row, column), tolerance) << column;
    };
    near(catalog::EvictionPolicy::lru, "lru", kSimulationError);
    near(catalog::EvictionPolicy::lru, "lru_closed_form", 0.0001);
    near(catalog::EvictionPolicy::random, "random_evict", kSimulationError);
    near(catalog::EvictionPolicy::pin, "pin_no_evict", 1e-12);
    near(catalog::EvictionPolicy::belady, "belady", 1e-12);
  }
}

TEST(Cache, closed_forms_agree_with_a_replay) {
  for (const int capacity : {400, 1000, 1800}) {
    for (const catalog::EvictionPolicy policy :
         {catalog::EvictionPolicy::lru, catalog::EvictionPolicy::random,
          catalog::EvictionPolicy::pin, catalog::EvictionPolicy::belady}) {
      for (const EpochOrder order : {EpochOrder::shuffled, EpochOrder::fixed}) {
        const double replayed =
            replay_hit_rate({.policy = policy,
                             .items = 2000,
                             .capacity = capacity,
                             .warm_epochs = 6,
                             .cold_epochs = 20,
                             .shuffle_buffer = order == EpochOrder::shuffled ? 2000 : 0});
        EXPECT_NEAR(hit_rate(policy, order, capacity / 2000.0), replayed, 0.012)
            << to_text(policy) << ' ' << capacity << (order == EpochOrder::fixed ? " fixed" : "");
      }
    }
  }
}

TEST(Cache, more_cache_never_hurts_and_nothing_beats_pinning) {
  for (const EpochOrder order : {EpochOrder::shuffled, EpochOrder::fixed}) {
    double before[4] = {0, 0, 0, 0};
    for (double c = 0; c <= 1.0001; c += 0.01) {
      const catalog::EvictionPolicy policies[4] = {
          catalog::EvictionPolicy::lru, catalog::EvictionPolicy::random,
          catalog::EvictionPolicy::pin, catalog::EvictionPolicy::belady};
      for (int i = 0; i < 4; ++i) {
        const double h = hit_rate(policies[i], order, c);
        EXPECT_GE(h, before[i] - 1e-12) << c;
        EXPECT_LE(h, hit_rate(catalog::EvictionPolicy::pin, order, c) + 1e-12) << c;
        before[i] = h;
      }
      EXPECT_LE(hit_rate(catalog::EvictionPolicy::lru, order, c),
                hit_rate(catalog::EvictionPolicy::random, order, c) + 1e-12);
    }
    for (const double h : before) EXPECT_EQ(h, 1);
  }
}

TEST(Cache, tiny_caches_do_not_overflow) {
  EXPECT_NEAR(hit_rate(catalog::EvictionPolicy::random, EpochOrder::shuffled, 1e-6), 0, 1e-9);
  EXPECT_EQ(hit_rate(catalog::EvictionPolicy::lru, EpochOrder::shuffled, -1), 0);
  EXPECT_EQ(hit_rate(catalog::EvictionPolicy::random, EpochOrder::fixed, 2), 1);
}

TEST(Cache, first_epoch_finds_nothing) {
  EXPECT_EQ(mean_hit_rate(0.5, 1), 0);
  EXPECT_DOUBLE_EQ(mean_hit_rate(0.5, 10), 0.45);
}

TEST(Cache, same_seed_same_rate) {
  const ReplayOptions o{.policy = catalog::EvictionPolicy::random, .items = 500, .capacity = 200};
  EXPECT_EQ(replay_hit_rate(o), replay_hit_rate(o));
  ReplayOptions other = o;
  other.seed = 2;
  EXPECT_NE(replay_hit_rate(o), replay_hit_rate(other));
}

// Worked by hand: 3 items in fixed order, room for 2. LRU always evicts the one that comes next;
// Belady keeps the one needed soonest.
TEST(Cache, three_items_in_order) {
  ReplayOptions o{.items = 3, .capacity = 2, .warm_epochs = 4, .cold_epochs = 2};
  o.shuffle_buffer = 0;
  o.policy = catalog::EvictionPolicy::lru;
  EXPECT_EQ(replay_hit_rate(o), 0);
  o.policy = catalog::EvictionPolicy::pin;
  EXPECT_NEAR(replay_hit_rate(o), 2.0 / 3, 1e-12);
}

TEST(Cache, full_cache_always_hits) {
  for (const catalog::EvictionPolicy p :
       {catalog::EvictionPolicy::lru, catalog::EvictionPolicy::random, catalog::EvictionPolicy::pin,
        catalog::EvictionPolicy::belady}) {
    EXPECT_EQ(replay_hit_rate({.policy = p, .items = 100, .capacity = 100}), 1);
    EXPECT_EQ(replay_hit_rate({.policy = p, .items = 100, .capacity = 0}), 0);
  }
}

// A shuffle buffer is between a fixed order and a full shuffle, and LRU hits grow with its size.
TEST(Cache, shuffle_buffer_is_between) {
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

TEST(Cache, first_epoch_never_hits) {
  EXPECT_EQ(mean_hit_rate(0.8, 1), 0);
  EXPECT_EQ(mean_hit_rate(0.8, 0.5), 0) << "less than one is still the first";
  EXPECT_EQ(mean_hit_rate(0.8, 0), 0);
  EXPECT_DOUBLE_EQ(mean_hit_rate(0.8, 2), 0.4);
  EXPECT_DOUBLE_EQ(mean_hit_rate(0.8, 4), 0.6);
}

}  // namespace
}  // namespace orrery::storage
