#include "app/cli/store_design.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::cli {
namespace {

const upkeep::TierPlan& tier_of(const DesignedStore& store, const std::string& name) {
  return *std::ranges::find(store.tiers, name, &upkeep::TierPlan::name);
}

TEST(StoreDesign, takes_redundancy_rules_and_encryption_from_the_storage_section) {
  design::Design design;
  design.storage.push_back({.tier = design::Tier::hot, .usable = 0.67});
  design.storage.push_back({.tier = design::Tier::warm});
  design.storage.push_back({.tier = design::Tier::cold, .usable = 0.6, .encrypted = true});
  design.storage.push_back({.tier = design::Tier::node_nvme, .usable = 0.5});
  design::Train train;
  train.checkpoint = design::Checkpoint{.keep = {{"hot", 3}, {"cold", std::nullopt}, {"nvme", 1}}};
  design.workloads.push_back({.terms = {}, .task = train});
  const DesignedStore made = *store_of_design(design);
  EXPECT_EQ(made.tiers.size(), 4u);
  EXPECT_EQ(tier_of(made, "hot").plan, (drives::ShardPlan{4, 2}));
  EXPECT_EQ(tier_of(made, "hot").folders.size(), 6u);
  EXPECT_EQ(tier_of(made, "warm").plan, (drives::ShardPlan{1, 0}));
  EXPECT_EQ(tier_of(made, "cold").plan, (drives::ShardPlan{1, 1}));
  EXPECT_EQ(tier_of(made, "gpu-direct").plan, (drives::ShardPlan{1, 0}));
  EXPECT_TRUE(made.enciphered);
  ASSERT_EQ(made.keeps.size(), 2u);
  EXPECT_EQ(made.keeps[0].keep.newest, 3);
  EXPECT_TRUE(made.keeps[1].keep.milestones);
}

TEST(StoreDesign, never_less_redundancy_than_the_design_says) {
  for (const double usable : {1.0, 0.9, 0.8, 0.7, 0.5, 0.34, 0.2}) {
    design::Design design;
    design.storage.push_back({.tier = design::Tier::hot, .usable = usable});
    const drives::ShardPlan plan = tier_of(*store_of_design(design), "hot").plan;
    const double share = static_cast<double>(plan.data) / plan.total();
    EXPECT_TRUE(share <= usable + 0.01 || plan == (drives::ShardPlan{1, 2})) << usable;
  }
}

TEST(StoreDesign, a_tier_with_a_place_lies_there_as_one_copy) {
  design::Design design;
  design.storage.push_back({.tier = design::Tier::hot,
                            .place = "rados:hot/store-1?user=orrery",
                            .protection = design::Protection{1, 2}});
  design.storage.push_back({.tier = design::Tier::hot, .usable = 0.5});
  design.storage.push_back({.tier = design::Tier::warm, .usable = 0.5});
  design.storage.push_back({.tier = design::Tier::warm, .place = "rados:warm/store-1"});
  design.storage.push_back(
      {.tier = design::Tier::cold, .place = "s3+https://s3.example.org/vault/cold"});
  const auto made = store_of_design(design);
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_EQ(upkeep::store_text("id", made->tiers),
            "orrery-store 4\nid id\n"
            "tier hot 1+0\ndrive hot-0 rados:hot/store-1?user=orrery\n"
            "tier gpu-direct 1+0\ndrive gpu-direct-0 gpu-direct\n"
            "tier warm 1+1\ndrive warm-0 warm-0\ndrive warm-1 warm-1\n"
            "tier cold 1+0\ndrive cold-0 s3+https://s3.example.org/vault/cold\n");
}

TEST(StoreDesign, a_place_that_is_none_is_refused) {
  for (const char* place : {"rados:", "rados:pool", "s3+https://", "s3+https://host"}) {
    design::Design design;
    design.storage.push_back({.tier = design::Tier::cold, .place = place});
    EXPECT_FALSE(store_of_design(design)) << place;
  }
}

}  // namespace
}  // namespace orrery::cli
