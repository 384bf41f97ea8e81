// Small networks counted out switch by switch: tiers that are asked for, last groups that are not
// full, uplinks that oversubscription leaves.
#include <gtest/gtest.h>

#include "layers/fabric/topology.h"

namespace orrery::fabric {
namespace {

using catalog::TopologyKind;

// Four endpoints fit one switch of eight ports; asked for two tiers they have a leaf, which has
// four links to one spine.
TEST(SmallNetworks, tiers_that_are_asked_for_are_built) {
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

// Radix 4: leaves of two hosts, groups of two leaves. Six nodes of two rails are a full group and a
// half one a rail.
TEST(SmallNetworks, rails_of_three_tiers_end_in_a_group_that_is_not_full) {
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

// Seven endpoints: four and three, of which the last leaf has one and a port for the manager.
TEST(SmallNetworks, a_plain_tree_of_three_tiers_ends_in_a_leaf_that_is_not_full) {
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

// Of twelve ports down four go up at 3:1, one at 12:1 and never none; spines divide the uplinks.
TEST(SmallNetworks, uplinks_are_what_oversubscription_leaves) {
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

// Each rail is a switch by itself up to its radix, and two tiers above.
TEST(SmallNetworks, rails_by_themselves) {
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

}  // namespace
}  // namespace orrery::fabric
