#include "app/cli/store_design.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

// The least redundancy whose data share does not exceed the given share, within 1 %.
TEST(StoreDesign, erasure_codes_follow_the_usable_share) {
  const std::pair<double, drives::ShardPlan> rows[] = {
      {1, {1, 0}},     {0.991, {1, 0}}, {0.989, {8, 2}}, {0.791, {8, 2}}, {0.789, {6, 2}},
      {0.741, {6, 2}}, {0.739, {4, 2}}, {0.657, {4, 2}}, {0.656, {1, 1}}, {0.491, {1, 1}},
      {0.489, {1, 2}}, {0.324, {1, 2}}, {0.1, {1, 2}}};
  for (const auto& [usable, plan] : rows) {
    design::Design design;
    design.storage.push_back({.tier = design::Tier::hot, .usable = usable});
    const auto made = store_of_design(design);
    ASSERT_TRUE(made);
    const auto hot = std::ranges::find(made->tiers, "hot", &upkeep::TierPlan::name);
    ASSERT_NE(hot, made->tiers.end());
    EXPECT_EQ(hot->plan, plan) << usable;
    EXPECT_EQ(hot->folders.size(), plan.total() > 1 ? static_cast<std::size_t>(plan.total()) : 0U)
        << usable;
    if (!hot->folders.empty()) {
      EXPECT_EQ(hot->folders.front(), "hot-0");
      EXPECT_EQ(hot->folders.back(), "hot-" + std::to_string(plan.total() - 1));
    }
  }
}

// `protection` gives the code directly; if several runs share a tier, the one that keeps most
// decides.
TEST(StoreDesign, erasure_codes_follow_the_protection) {
  design::Design design;
  design.storage.push_back(
      {.tier = design::Tier::warm, .protection = design::Protection{10, 3}, .usable = 0.5});
  for (const int newest : {2, 7, 4}) {
    design::Train train;
    train.checkpoint = design::Checkpoint{.keep = {{"warm", newest}}};
    design.workloads.push_back({.terms = {}, .task = train});
  }
  const auto made = store_of_design(design);
  ASSERT_TRUE(made);
  const auto warm = std::ranges::find(made->tiers, "warm", &upkeep::TierPlan::name);
  EXPECT_EQ(warm->plan, (drives::ShardPlan{10, 3}));
  EXPECT_EQ(warm->folders.size(), 13U);
  ASSERT_EQ(made->keeps.size(), 1U);
  EXPECT_EQ(made->keeps[0].name, "warm");
  EXPECT_EQ(made->keeps[0].keep.newest, 7);
  EXPECT_FALSE(made->keeps[0].keep.milestones);
  EXPECT_FALSE(made->enciphered);
}

const upkeep::TierPlan& tier_of(const DesignedStore& store, const std::string& name) {
  return *std::ranges::find(store.tiers, name, &upkeep::TierPlan::name);
}

TEST(StoreDesign, redundancy_rules_and_encryption_come_from_the_design) {
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

TEST(StoreDesign, redundancy_is_never_below_the_design) {
  for (const double usable : {1.0, 0.9, 0.8, 0.7, 0.5, 0.34, 0.2}) {
    design::Design design;
    design.storage.push_back({.tier = design::Tier::hot, .usable = usable});
    const drives::ShardPlan plan = tier_of(*store_of_design(design), "hot").plan;
    const double share = static_cast<double>(plan.data) / plan.total();
    EXPECT_TRUE(share <= usable + 0.01 || plan == (drives::ShardPlan{1, 2})) << usable;
  }
}

TEST(StoreDesign, a_tier_with_a_place_has_one_copy_there) {
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

TEST(StoreDesign, an_invalid_place_is_refused) {
  for (const char* place : {"rados:", "rados:pool", "s3+https://", "s3+https://host"}) {
    design::Design design;
    design.storage.push_back({.tier = design::Tier::cold, .place = place});
    EXPECT_FALSE(store_of_design(design)) << place;
  }
}

TEST(StoreDesign, only_encrypted_tiers_need_a_key) {
  EXPECT_FALSE(store_of_design({})->enciphered);
  design::Design design;
  design.storage.push_back({.tier = design::Tier::hot});
  EXPECT_FALSE(store_of_design(design)->enciphered);
}

}  // namespace
}  // namespace orrery::cli
