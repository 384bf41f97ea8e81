// Small rules of storage, each in the one situation that shows it: copies on the nodes that outlive
// nothing, more shards than ranks, sectors that matter only where no parity is left.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/cache.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/drive_lives.h"
#include "layers/storage/exposure.h"
#include "layers/storage/lifecycle.h"

namespace orrery::storage {
namespace {

using testing::ElementsAre;

// A milestone that should be on the nodes and in the bucket and is in the file system: its copy
// there is the only one that outlives the nodes, until the bucket has one.
TEST(SmallRules, a_copy_on_the_nodes_is_no_ground_to_remove_another) {
  const LifecyclePolicy policy{
      .places = {{.name = "nvme", .durable = false, .written = true, .keep = {.newest = 5}},
                 {.name = "hot", .keep = {.newest = 1}},
                 {.name = "cold", .keep = {.milestones = true}}}};
  LifecycleLook look{.now = days(100)};
  LifecycleMemory memory;
  const auto good = [&](ItemView& item, const char* place) {
    item.copies.push_back({.place = place,
                           .size = gigabytes(1),
                           .complete = true,
                           .stamp = "s",
                           .written = days(99)});
    apply(memory, {.kind = LifecycleEventKind::verified,
                   .item = item.id,
                   .place = place,
                   .stamp = "s",
                   .digest = "d"});
  };
  look.items = {{.id = "a", .run = "r", .made = days(98), .milestone = true},
                {.id = "b", .run = "r", .made = days(99)}};
  for (ItemView& item : look.items) good(item, "nvme"), good(item, "hot");
  const auto asked = [&] {
    std::vector<std::string> out;
    for (const LifecycleAction& a : decide(look, memory, policy).actions) {
      out.push_back(fmt::format("{} {} {}", word_of(a.kind), a.place, a.item));
    }
    return out;
  };
  EXPECT_THAT(asked(), ElementsAre("copy cold a"));
  good(look.items[0], "cold");
  EXPECT_THAT(asked(), ElementsAre("remove hot a"));
}

// A model cut into eight on four ranks is cut into four: each reads a quarter of everything.
TEST(SmallRules, no_more_shards_are_read_than_there_are_ranks) {
  const StateBytes each{.weight = 2, .master = 4, .moments = 8};
  const auto load = [&](int shards, SaveSharding sharding) {
    return restore_load(
        1e9, each,
        {.save = {.ranks = 4, .model_shards = shards, .ranks_per_node = 2, .sharding = sharding},
         .broadcast = false});
  };
  for (const int shards : {4, 8}) {
    EXPECT_EQ(load(shards, SaveSharding::replicated).node, gigabytes(7)) << "two of 14 / 4";
    EXPECT_EQ(load(shards, SaveSharding::replicated).total, gigabytes(14));
    EXPECT_EQ(load(shards, SaveSharding::zero1).node, gigabytes(7));
  }
  // Cut into two: the weights are read twice, and each rank reads half of them.
  EXPECT_EQ(load(2, SaveSharding::zero1).total, gigabytes(2 * 2 + 12));
  EXPECT_EQ(load(2, SaveSharding::zero1).node, gigabytes(2 * (1 + 3)));
  EXPECT_EQ(load(2, SaveSharding::replicated).total, gigabytes(2 * 14));
  EXPECT_EQ(load(2, SaveSharding::replicated).node, gigabytes(2 * 7));
}

TEST(SmallRules, what_is_exposed_is_exposed_for_the_drain) {
  const Exposure e = expose({.nodes = 10,
                             .node_mtbf = days(100),
                             .drain = minutes(7),
                             .interval = minutes(5),
                             .holders = 1});
  EXPECT_EQ(e.window, minutes(7));
  EXPECT_EQ(e.share_exposed, 1) << "a drain that outlasts the interval";
  const Exposure once = expose({.node_mtbf = days(100), .drain = minutes(7), .interval = {}});
  EXPECT_EQ(once.share_exposed, 1);
  EXPECT_EQ(once.losses_per_year, 0) << "saved once";
}

TEST(SmallRules, a_first_epoch_hits_nothing) {
  EXPECT_EQ(mean_hit_rate(0.8, 1), 0);
  EXPECT_EQ(mean_hit_rate(0.8, 0.5), 0) << "less than one is still the first";
  EXPECT_EQ(mean_hit_rate(0.8, 0), 0);
  EXPECT_DOUBLE_EQ(mean_hit_rate(0.8, 2), 0.4);
  EXPECT_DOUBLE_EQ(mean_hit_rate(0.8, 4), 0.6);
}

// Two of four may be lost: a sector that cannot be read while one is still to spare does no harm.
TEST(SmallRules, an_unread_sector_loses_data_only_where_no_parity_is_left) {
  const DurabilityQuestion q{.shards = 4,
                             .losses = 2,
                             .drive_failures = PerSecond(1 / days(20).base()),
                             .rebuild = days(2),
                             .rebuild_reads = terabytes(50),
                             .bit_error_rate = 1e-15};
  const DriveOutcome lived = live_through({.group = q, .losses = 3000});
  ASSERT_TRUE(lived.is_whole);
  EXPECT_EQ(lived.losses, 3000);
  EXPECT_NEAR(lived.mean_time_to_loss / durability_of(q).mean_time_to_loss, 1, 0.07);
}

}  // namespace
}  // namespace orrery::storage
