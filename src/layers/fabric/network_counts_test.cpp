// Counts of small networks at the edges of their rules, and who feels a loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layers/fabric/bill.h"
#include "layers/fabric/topology.h"
#include "layers/fabric/what_if.h"

namespace orrery::fabric {
namespace {

using catalog::TopologyKind;
using testing::ElementsAre;

std::string refused(const FabricSpec& spec) {
  const auto t = make_topology(spec);
  return t ? "" : t.error().front().code + ": " + t.error().front().what;
}

TEST(NetworkCounts, specs_that_cannot_be_built_say_why) {
  EXPECT_EQ(refused({.nodes = 0}), "fabric.size: a network needs at least one node and one rail");
  EXPECT_EQ(refused({.nodes = 1, .rails = 0}),
            "fabric.size: a network needs at least one node and one rail");
  EXPECT_EQ(refused({.nodes = 2'000'001}), "fabric.size: more endpoints than the generator takes");
  EXPECT_EQ(refused({.nodes = 2'000'000}),
            "fabric.size: three tiers of radix 64 hold 65536 endpoints");
  EXPECT_EQ(refused({.nodes = 257, .tiers = 2}),
            "fabric.size: two tiers of radix 64 hold 2048 endpoints");
  EXPECT_EQ(refused({.nodes = 9, .tiers = 1}),
            "fabric.size: one switch does not hold all endpoints");
  EXPECT_EQ(refused({.nodes = 8, .tiers = 1}), "");
  EXPECT_EQ(refused({.nodes = 8, .planes = 9}), "fabric.planes: planes must be 1 to 8");
  EXPECT_EQ(refused({.nodes = 8, .planes = 8}), "");
  EXPECT_EQ(refused({.nodes = 8, .planes = 0}), "fabric.planes: planes must be 1 to 8");
  const std::string radix = "fabric.radix: the radix of a tree's switch is even and at least 4";
  EXPECT_EQ(refused({.nodes = 2, .rails = 1, .radix = 2}), radix);
  EXPECT_EQ(refused({.nodes = 2, .rails = 1, .radix = 4}), "");
  EXPECT_EQ(refused({.nodes = 2, .rails = 1, .radix = 7}), radix);
  EXPECT_EQ(refused({.kind = TopologyKind::dragonfly, .nodes = 2, .rails = 1, .radix = 7}), "");
  EXPECT_EQ(refused({.kind = TopologyKind::dragonfly, .nodes = 2, .rails = 1, .radix = 3}), radix);
  const std::string thin = "fabric.oversubscription: oversubscription is down over up, at least 1";
  EXPECT_EQ(refused({.nodes = 8, .oversubscription = 0.9}), thin);
  EXPECT_EQ(refused({.nodes = 8, .oversubscription = 65}), thin);
  EXPECT_EQ(refused({.nodes = 8, .oversubscription = 64}), "");
  EXPECT_EQ(refused({.kind = TopologyKind::rail_only, .nodes = 2049, .rails = 1, .radix = 64}),
            "fabric.size: a rail has more nodes than two tiers hold");
  EXPECT_EQ(refused({.kind = TopologyKind::rail_only, .nodes = 2048, .rails = 1, .radix = 64}), "");
}

TEST(NetworkCounts, sizes_of_a_torus_multiply_to_its_endpoints) {
  const auto torus = [](std::vector<int> sizes, int nodes) {
    return refused(
        {.kind = TopologyKind::torus, .nodes = nodes, .rails = 1, .torus = std::move(sizes)});
  };
  const std::string bad = "fabric.torus: the sizes of a torus must multiply to its endpoints";
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

// Leaves of four ports down. Three nodes of ten rails: 30 endpoints on 8 leaves in their order; by
// rails each of the ten has a leaf of its own.
TEST(NetworkCounts, plain_trees_fill_leaves_and_rails_do_not) {
  const FabricSpec plain{.kind = TopologyKind::fat_tree, .nodes = 3, .rails = 10, .radix = 8};
  EXPECT_EQ(make_topology(plain)->tiers, 2);
  EXPECT_EQ(make_topology(plain)->leaves, 8);
  FabricSpec rails = plain;
  rails.kind = TopologyKind::rail_fat_tree;
  EXPECT_EQ(make_topology(rails)->tiers, 3);
  EXPECT_EQ(make_topology(rails)->leaves, 10);
  // Twenty nodes of two: groups of 16 endpoints, or of 16 nodes of one rail.
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

TEST(NetworkCounts, one_tier_has_neither_spines_nor_uplinks) {
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

TEST(NetworkCounts, what_crosses_the_middle) {
  const FabricSpec half{
      .kind = TopologyKind::fat_tree, .nodes = 128, .rails = 1, .radix = 64, .oversubscription = 2};
  const Topology t = *make_topology(half);
  EXPECT_EQ(bisection(t) / t.spec.link_rate, 4 * 16 / 2);
  EXPECT_EQ(bisection_share(t), 0.5);
  FabricSpec dark = half;
  dark.link_rate = BytesPerSecond(0);
  EXPECT_EQ(bisection_share(*make_topology(dark)), 0);
  // Three groups of a dragonfly, a global link between any two: 1.5 x 1.5 of 3 pairs.
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

TEST(NetworkCounts, a_network_by_default) {
  const FabricSpec s;
  EXPECT_EQ(s.nodes, 0);
  EXPECT_EQ(s.rails, 8);
  EXPECT_EQ(s.radix, 64);
  EXPECT_EQ(s.planes, 1);
  EXPECT_EQ(s.link_rate, gbits_per_s(400));
  EXPECT_EQ(s.link_latency, nanoseconds(500));
  EXPECT_EQ(s.oversubscription, 1);
  EXPECT_EQ(s.tiers + s.manager_ports + s.dragonfly_h, 0);
  EXPECT_EQ(s.scaleup_chips, 18);
  const Topology t;
  EXPECT_EQ(t.tiers + t.leaf_uplinks + t.dragonfly_h + t.dragonfly_groups, 0);
  EXPECT_EQ(t.endpoints + t.switches() + t.node_links + t.spare_leaf_ports + t.manager_links, 0);
  EXPECT_EQ(t.leaf_spine_links + t.spine_core_links, 0);
  const LeafUnit u;
  EXPECT_EQ(u.node_from + u.nodes + u.rail_from + u.rails + u.leaves, 0);
  EXPECT_EQ(u.rails_per_leaf, 1);
  EXPECT_EQ(SwitchGroup{}.leaves + SwitchGroup{}.spines, 0);
}

// Leaves of 3 down and 3 up with 3, 3 and 1 nodes. One manager's port makes the first even: 4 + 3,
// 3 + 3 and 1 + 3 ports are 4, 3 and 2 modules; the spines' nine ports five.
TEST(NetworkCounts, a_managers_port_is_counted_once) {
  const Topology t = *make_topology(
      {.kind = TopologyKind::fat_tree, .nodes = 7, .rails = 1, .radix = 6, .manager_ports = 1});
  ASSERT_EQ(t.manager_links, 1);
  EXPECT_EQ(switch_modules(t), 4 + 3 + 2 + 5);
  EXPECT_EQ(switch_modules(t, true), 3 * 2 + 5) << "copper down: three ports up";
  EXPECT_EQ(node_modules(t, 2), 7);
  const Topology eight = *make_topology({.nodes = 5, .rails = 7, .radix = 64});
  EXPECT_EQ(node_modules(eight, 2), 5 * 4);
  EXPECT_EQ(node_modules(eight, 7), 5);
  const BillParts none;
  EXPECT_EQ(none.nics_per_node_module, 2);
  EXPECT_TRUE(none.nics_in_node && !none.copper_node_links && !none.all_copper);
  EXPECT_FALSE(none.co_packaged);
}

// 96 nodes in leaves of 32: the first 32 exchange with the last, those between stand aside.
TEST(NetworkCounts, nodes_exchange_whole_leaves_apart) {
  const Topology t =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 96, .rails = 1, .radix = 64});
  const auto lost = [&](int nic) {
    return study_loss(t, {.loss = Loss::nic, .number = nic}).value();
  };
  EXPECT_EQ(lost(40).cut, 0);
  EXPECT_EQ(lost(40).share, 1);
  EXPECT_TRUE(lost(40).nodes.empty());
  EXPECT_EQ(lost(31).cut, 2);
  EXPECT_THAT(lost(31).nodes, ElementsAre(31, 95));
  EXPECT_THAT(lost(64).nodes, ElementsAre(0, 64));
  // Of one leaf's twenty the halves exchange.
  const Topology few =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 20, .rails = 1, .radix = 64});
  EXPECT_THAT(study_loss(few, {.loss = Loss::nic, .number = 3})->nodes, ElementsAre(3, 13));
}

// Uplink 5 of leaf 0: what node 5 sends goes with node 6's; what is sent to node 5 comes down with
// node 13's, by the next cable from the same of eight spines.
TEST(NetworkCounts, neighbours_of_a_lost_cable_are_slowed) {
  const Topology t = *make_topology({.nodes = 64, .rails = 8, .radix = 64});
  const LossReport r = *study_loss(t, {.loss = Loss::leaf_uplink, .number = 5});
  EXPECT_THAT(r.nodes, ElementsAre(5, 6, 37, 45));
  EXPECT_EQ(r.slowed, 4);
  EXPECT_EQ(r.cut, 0);
  EXPECT_EQ(r.lost, "leaf 0 - spine 5");
  EXPECT_NEAR(r.alone.base(), 100e6 / 50e9, 1e-12);
  EXPECT_NEAR(r.before / r.alone, 1, 0.01);
  EXPECT_NEAR(r.after / r.alone, 2, 0.01);
  EXPECT_FALSE(r.limiting_link.empty());
  const LossReport nic = *study_loss(t, {.loss = Loss::nic, .number = 17});
  EXPECT_THAT(nic.nodes, ElementsAre(2, 34)) << "its node and the one it talks to";
  EXPECT_DOUBLE_EQ(nic.closed_form_share, 0.5);
}

TEST(NetworkCounts, losses_of_what_is_not_there) {
  const Topology t =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 4, .rails = 1, .radix = 4});
  const auto code = [&](const Topology& of, Loss loss, int number) {
    const auto r = study_loss(of, {.loss = loss, .number = number});
    return r ? "" : r.error().front().code;
  };
  const std::string none = "fabric.no-such-part";
  EXPECT_EQ(t.tiers, 1);
  EXPECT_EQ(code(t, Loss::nic, 3), "");
  EXPECT_EQ(code(t, Loss::nic, 4), none);
  EXPECT_EQ(code(t, Loss::leaf_uplink, 0), none) << "one switch has none";
  EXPECT_EQ(code(t, Loss::spine, 0), none);
  EXPECT_EQ(code(t, Loss::plane, 1), none);
  EXPECT_EQ(code(t, Loss::leaf, 0), "");
  const Topology two =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 8, .rails = 1, .radix = 4});
  EXPECT_EQ(code(two, Loss::leaf_uplink, 7), "");
  EXPECT_EQ(code(two, Loss::leaf_uplink, 8), none);
  const Topology huge = *make_topology({.nodes = 5001, .rails = 8, .radix = 64});
  EXPECT_EQ(code(huge, Loss::nic, 0), "fabric.too-large");
  const Topology ring =
      *make_topology({.kind = TopologyKind::torus, .nodes = 4, .rails = 1, .torus = {4}});
  EXPECT_EQ(code(ring, Loss::nic, 0), "fabric.kind");
  // One node has nobody to talk to.
  const Topology one =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 1, .rails = 1, .radix = 4});
  const LossReport r = *study_loss(one, {.loss = Loss::nic, .number = 0});
  EXPECT_EQ(r.share, 0);
  EXPECT_EQ(r.alone, Seconds());
  EXPECT_EQ(r.cut + r.slowed, 0);
  EXPECT_EQ(LossReport{}.share, 1);
  EXPECT_EQ(LossReport{}.closed_form_share, 1);
  EXPECT_EQ(LossSpec{}.message, megabytes(100));
}

TEST(NetworkCounts, losses_by_their_words) {
  EXPECT_EQ(loss_from("nic"), Loss::nic);
  EXPECT_EQ(loss_from("link"), Loss::leaf_uplink);
  EXPECT_EQ(loss_from("plane"), Loss::plane);
  EXPECT_EQ(loss_from("leaf"), Loss::leaf);
  EXPECT_EQ(loss_from("spine"), Loss::spine);
  EXPECT_EQ(loss_from("core"), std::nullopt);
}

}  // namespace
}  // namespace orrery::fabric
