#include "layers/fabric/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::fabric {
namespace {

Topology made(const FabricSpec& spec) {
  auto t = make_topology(spec);
  EXPECT_TRUE(t.has_value());
  return t.value_or(Topology{});
}

// Of the recalled A100 rows only the first is doubtful: 4 spines by rule, 5 by memory. Five divide
// the 20 uplinks of a leaf as well, so both could be built; four suffice.
TEST(Topology, RecalledA100FirstUnitNeedsFourSpines) {
  const Topology t = made({.nodes = 20, .rails = 8, .radix = 40});
  EXPECT_EQ(t.spines, 4);
  EXPECT_EQ(20 % 5, 0);
}

TEST(Topology, TiersChangeWhereTheDocumentsChange) {
  EXPECT_EQ(two_tier_limit(64), 2048);
  EXPECT_EQ(two_tier_limit(128), 8192);
  EXPECT_EQ(two_tier_limit(144), 10368);
  EXPECT_EQ(made({.nodes = 256, .radix = 64}).tiers, 2);
  EXPECT_EQ(made({.nodes = 257, .radix = 64}).tiers, 3);
  EXPECT_FALSE(make_topology({.nodes = 257, .radix = 64, .tiers = 2}).has_value());
  EXPECT_FALSE(make_topology({.nodes = 8193, .radix = 64}).has_value());
}

// A fully built k-ary tree: k^3/4 hosts, 5k^2/4 switches, 3k^3/4 links.
TEST(Topology, KAryFatTree) {
  for (const int k : {4, 8, 16, 48}) {
    const Topology t = made({.kind = catalog::TopologyKind::fat_tree,
                             .nodes = k * k * k / 4,
                             .rails = 1,
                             .radix = k,
                             .tiers = 3});
    EXPECT_EQ(t.switches(), 5 * k * k / 4);
    EXPECT_EQ(t.node_links + t.leaf_spine_links + t.spine_core_links, 3 * k * k * k / 4);
    EXPECT_DOUBLE_EQ(bisection_share(t), 1);
    EXPECT_EQ(diameter_links(t), 6);
  }
}

// 32 ports of a leaf face nodes; at 2:1 half as many face up.
TEST(Topology, OversubscriptionThinsTheUplinks) {
  const FabricSpec even{
      .kind = catalog::TopologyKind::fat_tree, .nodes = 128, .rails = 1, .radix = 64};
  FabricSpec thin = even;
  thin.oversubscription = 2;
  EXPECT_EQ(made(even).leaf_spine_links, 4 * 32);
  EXPECT_EQ(made(thin).leaf_spine_links, 4 * 16);
}

// 100 nodes on leaves of 32 ports down: four leaves, 28 ports to spare, of which managers have two.
// Three tiers: every uplink of a spine meets a core, in every plane.
TEST(Topology, PortsThatNobodyTakesAreSpare) {
  FabricSpec spec{.kind = catalog::TopologyKind::fat_tree,
                  .nodes = 100,
                  .rails = 1,
                  .radix = 64,
                  .manager_ports = 2};
  EXPECT_EQ(made(spec).spare_leaf_ports, 4 * 32 - 100);
  EXPECT_EQ(made(spec).manager_links, 2);
  spec.nodes = 128;
  EXPECT_EQ(made(spec).spare_leaf_ports, 0);
  EXPECT_EQ(made(spec).manager_links, 0) << "none is free";
  const FabricSpec wide{
      .kind = catalog::TopologyKind::fat_tree, .nodes = 128, .rails = 1, .radix = 8, .tiers = 3};
  FabricSpec twin = wide;
  twin.planes = 2;
  EXPECT_EQ(made(twin).cores, 2 * made(wide).cores);
  EXPECT_EQ(made(twin).leaves, 2 * made(wide).leaves);
  EXPECT_EQ(made(twin).leaf_spine_links, 2 * made(wide).leaf_spine_links);
}

TEST(Topology, LastUnitPacksRailsOnALeaf) {
  // 40 nodes: a full unit of 32 (8 leaves) and 8 nodes with four rails on each of 2 leaves.
  EXPECT_EQ(made({.nodes = 40, .radix = 64}).leaves, 10);
  EXPECT_EQ(made({.nodes = 4, .radix = 64}).leaves, 1);  // 32 ports: one switch holds them
}

// Kim et al. 2008, balanced: a = 2p = 2h, N = ap(ah+1).
TEST(Topology, BalancedDragonfly) {
  const Topology t =
      made({.kind = catalog::TopologyKind::dragonfly, .nodes = 1056, .rails = 1, .radix = 15});
  EXPECT_EQ(t.dragonfly_h, 4);
  EXPECT_EQ(t.dragonfly_groups, 33);
  EXPECT_EQ(t.leaves, 8 * 33);
  EXPECT_EQ(t.leaf_spine_links, 33 * 8 * 7 / 2);
  EXPECT_EQ(t.spine_core_links, 33 * 8 * 4 / 2);
  EXPECT_FALSE(make_topology(
      {.kind = catalog::TopologyKind::dragonfly, .nodes = 1057, .rails = 1, .radix = 15}));
}

TEST(Topology, Torus) {
  const Topology t = made(
      {.kind = catalog::TopologyKind::torus, .nodes = 8960, .rails = 1, .torus = {16, 20, 28}});
  EXPECT_EQ(t.switches(), 0);
  EXPECT_EQ(t.node_links, 3 * 8960);
  EXPECT_EQ(diameter_links(t), 8 + 10 + 14);
  EXPECT_DOUBLE_EQ(bisection(t) / t.spec.link_rate, 2.0 * 8960 / 28);
  EXPECT_FALSE(make_topology(
      {.kind = catalog::TopologyKind::torus, .nodes = 10, .rails = 1, .torus = {3, 3}}));
}

// NVL72: 72 GPUs, 18 switch chips, one link of each GPU to each chip (50 GB/s each: 900 GB/s).
TEST(Topology, Nvl72) {
  const Topology t = made({.kind = catalog::TopologyKind::scale_up,
                           .nodes = 8,
                           .rails = 72,
                           .link_rate = gbytes_per_s(50),
                           .scaleup_chips = 18});
  EXPECT_EQ(t.leaves, 8 * 18);
  EXPECT_EQ(t.node_links, 8 * 72 * 18);
  EXPECT_DOUBLE_EQ(bisection(t).base(), 36 * 900e9);
}

TEST(Topology, RailOnlyDropsTheSpine) {
  const Topology t = made({.kind = catalog::TopologyKind::rail_only, .nodes = 64, .radix = 64});
  EXPECT_EQ(t.leaves, 8);
  EXPECT_EQ(t.spines, 0);
  const Topology large =
      made({.kind = catalog::TopologyKind::rail_only, .nodes = 512, .radix = 64});
  EXPECT_EQ(large.leaves, 8 * 16);
  EXPECT_EQ(large.spines, 8 * 8);
  EXPECT_EQ(large.cores, 0);
}

TEST(Topology, BadSpecsNameEveryFault) {
  const auto bad = make_topology({.nodes = 0, .radix = 7, .planes = 0, .oversubscription = 0.5});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().size(), 4u);
}

}  // namespace
}  // namespace orrery::fabric
