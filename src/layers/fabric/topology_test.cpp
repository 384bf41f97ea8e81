#include "layers/fabric/topology.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery::fabric {
namespace {

using catalog::TopologyKind;

Topology made(const FabricSpec& spec) {
  auto t = make_topology(spec);
  EXPECT_TRUE(t.has_value());
  return t.value_or(Topology{});
}

// Only the first of the recalled A100 rows is doubtful: 4 spines by the rule, 5 from memory. Five
// divide the 20 uplinks of a leaf too, so both could be built; four suffice.
TEST(Topology, recalled_a100_first_unit_needs_four_spines) {
  const Topology t = made({.nodes = 20, .rails = 8, .radix = 40});
  EXPECT_EQ(t.spines, 4);
  EXPECT_EQ(20 % 5, 0);
}

TEST(Topology, tiers_change_where_the_documents_change) {
  EXPECT_EQ(two_tier_limit(64), 2048);
  EXPECT_EQ(two_tier_limit(128), 8192);
  EXPECT_EQ(two_tier_limit(144), 10368);
  EXPECT_EQ(made({.nodes = 256, .radix = 64}).tiers, 2);
  EXPECT_EQ(made({.nodes = 257, .radix = 64}).tiers, 3);
  EXPECT_FALSE(make_topology({.nodes = 257, .radix = 64, .tiers = 2}).has_value());
  EXPECT_FALSE(make_topology({.nodes = 8193, .radix = 64}).has_value());
}

// A fully built k-ary tree: k^3/4 hosts, 5k^2/4 switches, 3k^3/4 links.
TEST(Topology, k_ary_fat_tree) {
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
TEST(Topology, oversubscription_thins_the_uplinks) {
  const FabricSpec even{
      .kind = catalog::TopologyKind::fat_tree, .nodes = 128, .rails = 1, .radix = 64};
  FabricSpec thin = even;
  thin.oversubscription = 2;
  EXPECT_EQ(made(even).leaf_spine_links, 4 * 32);
  EXPECT_EQ(made(thin).leaf_spine_links, 4 * 16);
}

// 100 nodes on leaves with 32 ports down: four leaves, 28 spare ports, of which managers use two.
// Three tiers: every uplink of a spine goes to a core, in every plane.
TEST(Topology, unused_ports_are_spare) {
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

TEST(Topology, last_unit_packs_rails_on_a_leaf) {
  // 40 nodes: a full unit of 32 (8 leaves) and 8 nodes with four rails on each of 2 leaves.
  EXPECT_EQ(made({.nodes = 40, .radix = 64}).leaves, 10);
  EXPECT_EQ(made({.nodes = 4, .radix = 64}).leaves, 1);  // 32 ports: one switch is enough
}

// Kim et al. 2008, balanced: a = 2p = 2h, N = ap(ah+1).
TEST(Topology, balanced_dragonfly) {
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

TEST(Topology, torus) {
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
TEST(Topology, nvl72) {
  const Topology t = made({.kind = catalog::TopologyKind::scale_up,
                           .nodes = 8,
                           .rails = 72,
                           .link_rate = gbytes_per_s(50),
                           .scaleup_chips = 18});
  EXPECT_EQ(t.leaves, 8 * 18);
  EXPECT_EQ(t.node_links, 8 * 72 * 18);
  EXPECT_DOUBLE_EQ(bisection(t).base(), 36 * 900e9);
}

TEST(Topology, rail_only_drops_the_spine) {
  const Topology t = made({.kind = catalog::TopologyKind::rail_only, .nodes = 64, .radix = 64});
  EXPECT_EQ(t.leaves, 8);
  EXPECT_EQ(t.spines, 0);
  const Topology large =
      made({.kind = catalog::TopologyKind::rail_only, .nodes = 512, .radix = 64});
  EXPECT_EQ(large.leaves, 8 * 16);
  EXPECT_EQ(large.spines, 8 * 8);
  EXPECT_EQ(large.cores, 0);
}

TEST(Topology, bad_specs_name_every_fault) {
  const auto bad = make_topology({.nodes = 0, .radix = 7, .planes = 0, .oversubscription = 0.5});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().size(), 4u);
}

std::string refused(const FabricSpec& spec) {
  const auto t = make_topology(spec);
  return t ? "" : t.error().front().code;
}

TEST(Topology, impossible_specs_are_refused) {
  EXPECT_EQ(refused({.nodes = 0}), "fabric.size");
  EXPECT_EQ(refused({.nodes = 1, .rails = 0}), "fabric.size");
  EXPECT_EQ(refused({.nodes = 2'000'001}), "fabric.size");
  EXPECT_EQ(refused({.nodes = 2'000'000}), "fabric.size");
  EXPECT_EQ(refused({.nodes = 257, .tiers = 2}), "fabric.size");
  EXPECT_EQ(refused({.nodes = 9, .tiers = 1}), "fabric.size");
  EXPECT_EQ(refused({.nodes = 8, .tiers = 1}), "");
  EXPECT_EQ(refused({.nodes = 8, .planes = 9}), "fabric.planes");
  EXPECT_EQ(refused({.nodes = 8, .planes = 8}), "");
  EXPECT_EQ(refused({.nodes = 8, .planes = 0}), "fabric.planes");
  const std::string radix = "fabric.radix";
  EXPECT_EQ(refused({.nodes = 2, .rails = 1, .radix = 2}), radix);
  EXPECT_EQ(refused({.nodes = 2, .rails = 1, .radix = 4}), "");
  EXPECT_EQ(refused({.nodes = 2, .rails = 1, .radix = 7}), radix);
  EXPECT_EQ(refused({.kind = TopologyKind::dragonfly, .nodes = 2, .rails = 1, .radix = 7}), "");
  EXPECT_EQ(refused({.kind = TopologyKind::dragonfly, .nodes = 2, .rails = 1, .radix = 3}), radix);
  const std::string thin = "fabric.oversubscription";
  EXPECT_EQ(refused({.nodes = 8, .oversubscription = 0.9}), thin);
  EXPECT_EQ(refused({.nodes = 8, .oversubscription = 65}), thin);
  EXPECT_EQ(refused({.nodes = 8, .oversubscription = 64}), "");
  EXPECT_EQ(refused({.kind = TopologyKind::rail_only, .nodes = 2049, .rails = 1, .radix = 64}),
            "fabric.size");
  EXPECT_EQ(refused({.kind = TopologyKind::rail_only, .nodes = 2048, .rails = 1, .radix = 64}), "");
}

TEST(Topology, torus_sizes_must_multiply_to_the_endpoints) {
  const auto torus = [](std::vector<int> sizes, int nodes) {
    return refused(
        {.kind = TopologyKind::torus, .nodes = nodes, .rails = 1, .torus = std::move(sizes)});
  };
  const std::string bad = "fabric.torus";
  EXPECT_EQ(torus({}, 1), bad);
  EXPECT_EQ(torus({1}, 1), "");
  EXPECT_EQ(torus({-1, 5}, 5), bad);
  EXPECT_EQ(torus({5, 0}, 5), bad);
  EXPECT_EQ(torus({5}, 6), bad);
  EXPECT_EQ(torus({16'000'000}, 16'000'000), "");
  const Topology pair =
      *make_topology({.kind = TopologyKind::torus, .nodes = 8, .rails = 1, .torus = {2, 4, 1}});
  EXPECT_EQ(pair.node_links, 4 + 8);
  EXPECT_EQ(bisection(pair) / pair.spec.link_rate, 2 * 8 / 4);
  const Topology two =
      *make_topology({.kind = TopologyKind::torus, .nodes = 4, .rails = 1, .torus = {2, 2}});
  EXPECT_EQ(bisection(two) / two.spec.link_rate, 2) << "a ring of two is cut once";
}

// Leaves with four ports down. Three nodes with ten rails: 30 endpoints fill 8 leaves in order; by
// rails each of the ten has its own leaf.
TEST(Topology, plain_trees_fill_leaves) {
  const FabricSpec plain{.kind = TopologyKind::fat_tree, .nodes = 3, .rails = 10, .radix = 8};
  EXPECT_EQ(make_topology(plain)->tiers, 2);
  EXPECT_EQ(make_topology(plain)->leaves, 8);
  FabricSpec rails = plain;
  rails.kind = TopologyKind::rail_fat_tree;
  EXPECT_EQ(make_topology(rails)->tiers, 3);
  EXPECT_EQ(make_topology(rails)->leaves, 10);
  // Twenty nodes with two NICs: groups of 16 endpoints, or of 16 nodes per rail.
  const FabricSpec wide{
      .kind = TopologyKind::fat_tree, .nodes = 20, .rails = 2, .radix = 8, .tiers = 3};
  const Topology t = *make_topology(wide);
  ASSERT_EQ(t.groups.size(), 3U);
  EXPECT_EQ(t.groups[0].leaves, 4);
  EXPECT_EQ(t.groups[0].spines, 4);
  EXPECT_EQ(t.groups[2].leaves, 2);
  EXPECT_EQ(t.groups[2].spines, 2);
  EXPECT_EQ(t.cores, 5) << "40 uplinks over 8 ports";
  FabricSpec by_rail = wide;
  by_rail.kind = TopologyKind::rail_fat_tree;
  const Topology r = *make_topology(by_rail);
  ASSERT_EQ(r.groups.size(), 4U);
  EXPECT_EQ(r.groups[1].units.at(0).node_from, 16);
  EXPECT_EQ(r.groups[1].units.at(0).nodes, 4);
  EXPECT_EQ(r.groups[2].units.at(0).rail_from, 1);
}

TEST(Topology, one_tier_has_no_spines) {
  const Topology one = *make_topology({.nodes = 8, .rails = 8, .radix = 64});
  EXPECT_EQ(one.tiers, 1);
  EXPECT_EQ(one.leaves, 1);
  EXPECT_EQ(one.leaf_uplinks + one.leaf_spine_links, 0);
  EXPECT_EQ(diameter_links(one), 2);
  EXPECT_EQ(bisection_share(one), 1);
  EXPECT_EQ(make_topology({.nodes = 8, .rails = 8, .radix = 64, .manager_ports = 1})->tiers, 2);
  EXPECT_EQ(make_topology({.nodes = 4, .rails = 8, .radix = 64, .oversubscription = 2})->tiers, 2);
  const Topology rail =
      *make_topology({.kind = TopologyKind::rail_only, .nodes = 64, .rails = 2, .radix = 64});
  EXPECT_EQ(rail.tiers, 1);
  EXPECT_EQ(rail.leaf_uplinks, 0);
  const Topology more =
      *make_topology({.kind = TopologyKind::rail_only, .nodes = 65, .rails = 2, .radix = 64});
  EXPECT_EQ(more.tiers, 2);
  EXPECT_EQ(more.leaf_uplinks, 32);
  EXPECT_EQ(diameter_links(more), 4);
}

TEST(Topology, bisection_by_topology) {
  const FabricSpec half{
      .kind = TopologyKind::fat_tree, .nodes = 128, .rails = 1, .radix = 64, .oversubscription = 2};
  const Topology t = *make_topology(half);
  EXPECT_EQ(bisection(t) / t.spec.link_rate, 4 * 16 / 2);
  EXPECT_EQ(bisection_share(t), 0.5);
  FabricSpec dark = half;
  dark.link_rate = BytesPerSecond(0);
  EXPECT_EQ(bisection_share(*make_topology(dark)), 0);
  // Three groups of a dragonfly, with a global link between any two: 1.5 x 1.5 of 3 pairs.
  const Topology fly =
      *make_topology({.kind = TopologyKind::dragonfly, .nodes = 6, .rails = 1, .radix = 4});
  EXPECT_NEAR(bisection(fly) / fly.spec.link_rate, 1.5 * 1.5 / 3 * 3, 1e-12);
  EXPECT_EQ(diameter_links(fly), 5);
  EXPECT_EQ(smallest_divisor_at_least(32, 5), 8);
  EXPECT_EQ(smallest_divisor_at_least(32, 8), 8);
  EXPECT_EQ(smallest_divisor_at_least(32, 33), 32);
  EXPECT_EQ(smallest_divisor_at_least(7, 2), 7);
  EXPECT_EQ(smallest_divisor_at_least(7, 0), 1);
}

// Four endpoints fit one switch of eight ports; if two tiers are requested they get a leaf with
// four links to one spine.
TEST(Topology, requested_tiers_are_built) {
  FabricSpec spec{.kind = TopologyKind::fat_tree, .nodes = 4, .rails = 1, .radix = 8};
  const Topology one = make_topology(spec).value();
  EXPECT_EQ(one.tiers, 1);
  EXPECT_EQ(one.leaves, 1);
  EXPECT_EQ(one.spines, 0);
  EXPECT_EQ(one.spare_leaf_ports, 4);
  spec.tiers = 2;
  const Topology two = make_topology(spec).value();
  EXPECT_EQ(two.tiers, 2);
  EXPECT_EQ(two.leaves, 1);
  EXPECT_EQ(two.spines, 1);
  EXPECT_EQ(two.leaf_uplinks, 4);
  EXPECT_EQ(two.leaf_spine_links, 4);
  EXPECT_EQ(two.spare_leaf_ports, 0);
  spec.tiers = 3;
  const Topology three = make_topology(spec).value();
  EXPECT_EQ(three.tiers, 3);
  EXPECT_EQ(three.spine_core_links, 4);
  EXPECT_EQ(three.cores, 1) << "four of eight ports";
  spec.tiers = 1;
  EXPECT_EQ(make_topology(spec)->tiers, 1);
  spec.nodes = 9;
  EXPECT_FALSE(make_topology(spec)) << "nine do not fit eight ports";
}

// Radix 4: leaves of two hosts, groups of two leaves. Six nodes with two rails make a full group
// and a half one per rail.
TEST(Topology, three_tier_rails_end_in_a_partial_group) {
  const Topology t =
      make_topology(
          {.kind = TopologyKind::rail_fat_tree, .nodes = 6, .rails = 2, .radix = 4, .tiers = 3})
          .value();
  ASSERT_EQ(t.groups.size(), 4U);
  EXPECT_EQ(t.groups[0].leaves, 2);
  EXPECT_EQ(t.groups[0].spines, 2);
  EXPECT_EQ(t.groups[1].leaves, 1);
  EXPECT_EQ(t.groups[1].spines, 1);
  ASSERT_EQ(t.groups[1].units.size(), 1U);
  EXPECT_EQ(t.groups[1].units[0].node_from, 4);
  EXPECT_EQ(t.groups[1].units[0].nodes, 2);
  EXPECT_EQ(t.groups[1].units[0].rail_from, 0);
  EXPECT_EQ(t.groups[2].units[0].rail_from, 1);
  EXPECT_EQ(t.groups[2].units[0].rails, 1);
  EXPECT_EQ(t.groups[3].units[0].node_from, 4);
  EXPECT_EQ(t.leaves, 6);
  EXPECT_EQ(t.spines, 6);
  EXPECT_EQ(t.leaf_spine_links, 12);
  EXPECT_EQ(t.spine_core_links, 12);
  EXPECT_EQ(t.cores, 3);
  EXPECT_EQ(t.spare_leaf_ports, 0);
  EXPECT_EQ(diameter_links(t), 6);
}

// Seven endpoints: groups of four and three; the last leaf has one endpoint and a port for the
// manager.
TEST(Topology, three_tier_tree_ends_in_a_partial_leaf) {
  const Topology t = make_topology({.kind = TopologyKind::fat_tree,
                                    .nodes = 7,
                                    .rails = 1,
                                    .radix = 4,
                                    .tiers = 3,
                                    .manager_ports = 4})
                         .value();
  ASSERT_EQ(t.groups.size(), 2U);
  EXPECT_EQ(t.groups[0].leaves, 2);
  EXPECT_EQ(t.groups[1].leaves, 2);
  ASSERT_EQ(t.groups[1].units.size(), 2U);
  EXPECT_EQ(t.groups[1].units[0].node_from, 4);
  EXPECT_EQ(t.groups[1].units[0].nodes, 2);
  EXPECT_EQ(t.groups[1].units[1].node_from, 6);
  EXPECT_EQ(t.groups[1].units[1].nodes, 1);
  EXPECT_EQ(t.groups[1].units[1].leaves, 1);
  EXPECT_EQ(t.leaves, 4);
  EXPECT_EQ(t.spines, 4);
  EXPECT_EQ(t.cores, 2);
  EXPECT_EQ(t.spare_leaf_ports, 1);
  EXPECT_EQ(t.manager_links, 1);
  EXPECT_EQ(t.switches(), 10);
}

// With twelve ports down, four go up at 3:1, one at 12:1 and never zero; spines divide the uplinks.
TEST(Topology, oversubscription_reduces_uplinks) {
  const auto built = [](double over) {
    return make_topology({.kind = TopologyKind::fat_tree,
                          .nodes = 36,
                          .rails = 1,
                          .radix = 24,
                          .oversubscription = over})
        .value();
  };
  EXPECT_EQ(built(3).leaf_uplinks, 4);
  EXPECT_EQ(built(3).leaves, 3);
  EXPECT_EQ(built(3).spines, 1);
  EXPECT_EQ(built(3).leaf_spine_links, 12);
  EXPECT_EQ(built(12).leaf_uplinks, 1);
  EXPECT_EQ(built(20).leaf_uplinks, 1);
  EXPECT_EQ(built(1).leaf_uplinks, 12);
  EXPECT_EQ(built(1).spines, 2) << "36 links on switches of 24";
  EXPECT_DOUBLE_EQ(bisection_share(built(3)), 12 / 36.0);
  EXPECT_DOUBLE_EQ(bisection_share(built(1)), 1);
}

// Each rail is a single switch up to its radix, and two tiers above.
TEST(Topology, rail_only_networks) {
  FabricSpec spec{.kind = TopologyKind::rail_only, .nodes = 8, .rails = 3, .radix = 8};
  const Topology one = make_topology(spec).value();
  EXPECT_EQ(one.tiers, 1);
  EXPECT_EQ(one.leaves, 3);
  EXPECT_EQ(one.spines, 0);
  EXPECT_EQ(one.groups[2].units[0].rail_from, 2);
  spec.nodes = 9;
  const Topology two = make_topology(spec).value();
  EXPECT_EQ(two.tiers, 2);
  EXPECT_EQ(two.leaves, 9) << "three leaves of four a rail";
  EXPECT_EQ(two.spines, 6) << "twelve links on switches of eight: two of each";
  spec.nodes = 32;
  EXPECT_EQ(make_topology(spec)->leaves, 24);
  spec.nodes = 33;
  EXPECT_FALSE(make_topology(spec)) << "nine leaves on spines of eight";
}

std::string said_of(const FabricSpec& spec) {
  const auto made = make_topology(spec);
  if (made) return "";
  std::string text;
  for (const Diagnostic& d : made.error()) {
    text += d.code;
  }
  return text;
}

// Radix 63: h = 16, groups of 32 routers with 16 endpoints each, at most 32 x 16 + 1 groups.
TEST(Topology, dragonfly_counts) {
  FabricSpec s{.kind = TopologyKind::dragonfly, .nodes = 128, .rails = 8, .radix = 63};
  const auto two = make_topology(s);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->tiers, 1);
  EXPECT_EQ(two->dragonfly_h, 16);
  EXPECT_EQ(two->dragonfly_groups, 2);
  EXPECT_EQ(two->leaves, 64);
  EXPECT_EQ(two->leaf_spine_links, 2 * 32 * 31 / 2);
  EXPECT_EQ(two->spine_core_links, 2 * 32 * 16 / 2);
  s.nodes = 129;
  EXPECT_EQ(make_topology(s)->dragonfly_groups, 3);
  s.nodes = 1;
  EXPECT_EQ(make_topology(s)->dragonfly_groups, 2) << "no fewer";
  s.nodes = 32 * 16 * 513 / 8;
  EXPECT_EQ(said_of(s), "");
  ++s.nodes;
  const std::string full = "fabric.size";
  EXPECT_EQ(said_of(s), full);
  s.nodes = 4;
  s.dragonfly_h = 17;
  EXPECT_NE(said_of(s), "") << "4 x 17 - 1 ports are more than 63";
  s.dragonfly_h = 16;
  EXPECT_EQ(said_of(s), "");
}

}  // namespace
}  // namespace orrery::fabric
