#include "layers/fabric/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/csv.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {
namespace {

using catalog::TopologyKind;
using testing::ElementsAre;

Topology superpod() { return *make_topology({.nodes = 64, .rails = 8, .radix = 64}); }

TEST(WhatIf, static_route_doubles_up_on_a_neighbour) {
  const auto r = study_loss(superpod(), {.loss = Loss::leaf_uplink, .number = 5});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 0);
  EXPECT_NEAR(r->share, 0.5, 0.01);
  EXPECT_DOUBLE_EQ(r->closed_form_share, 0.5);
  EXPECT_GT(r->slowed, 0);
  EXPECT_LT(r->nodes.size(), 10u);  // few are affected, but a collective waits for them
}

// Dead spines take bisection along and load the other links; a ring in the order of the nodes has
// only one message in 32 to send across.
TEST(WhatIf, a_lost_spine_costs_bisection_even_if_a_ring_does_not_feel_it) {
  const auto r = study_loss(
      superpod(), {.loss = Loss::spine, .routing = {.kind = catalog::RoutingKind::adaptive}});
  ASSERT_TRUE(r.has_value());
  EXPECT_NEAR(r->bisection_share, 7.0 / 8, 1e-9);
  EXPECT_NEAR(r->worst_link, 1, 0.05);
  EXPECT_NEAR(r->worst_link_after, 8.0 / 7, 0.05);
  EXPECT_GT(r->ring_share, 0.99);
  const auto fixed = study_loss(superpod(), {.loss = Loss::leaf_uplink});
  EXPECT_NEAR(fixed->worst_link_after, 2, 1e-6);
}

TEST(WhatIf, lost_nic_cuts_its_rank) {
  const auto r = study_loss(superpod(), {.loss = Loss::nic, .number = 17});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 2);  // what it sends and what is sent to it
  EXPECT_EQ(r->lost, "node 2 rail 1 - leaf 1");
  EXPECT_EQ(r->share, 0);
}

TEST(WhatIf, lost_plane_halves_a_twin_plane) {
  const Topology t = *make_topology({.nodes = 64, .rails = 8, .radix = 128, .planes = 2});
  const auto r = study_loss(t, {.loss = Loss::plane, .number = 1});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 0);
  EXPECT_NEAR(r->share, 0.5, 0.01);
  EXPECT_DOUBLE_EQ(r->closed_form_share, 0.5);
}

TEST(WhatIf, lost_spine_is_absorbed_by_adaptive_routing) {
  const auto fixed = study_loss(superpod(), {.loss = Loss::spine, .number = 0});
  const auto adaptive = study_loss(
      superpod(),
      {.loss = Loss::spine, .number = 0, .routing = {.kind = catalog::RoutingKind::adaptive}});
  ASSERT_TRUE(fixed && adaptive);
  EXPECT_EQ(fixed->cut, 0);
  EXPECT_NEAR(fixed->share, 0.5, 0.01);
  // One spine of eight: the others carry 8/7 of their load, and both methods say so.
  EXPECT_DOUBLE_EQ(adaptive->closed_form_share, 7.0 / 8);
  EXPECT_NEAR(adaptive->share, 7.0 / 8, 0.03);
  EXPECT_NEAR(adaptive->before / adaptive->alone, 1, 0.03);
}

TEST(WhatIf, lost_leaf_cuts_its_rail) {
  const auto r = study_loss(superpod(), {.loss = Loss::leaf, .number = 0});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 64);  // 32 nodes send and 32 receive on that rail
  EXPECT_FALSE(study_loss(superpod(), {.loss = Loss::leaf, .number = 999}).has_value());
}

// 96 nodes on leaves of 32: the first 32 exchange with the last 32, those in between take no part.
TEST(WhatIf, loss_study_pairs_nodes_leaves_apart) {
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
  // With a single leaf of twenty nodes, its halves exchange.
  const Topology few =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 20, .rails = 1, .radix = 64});
  EXPECT_THAT(study_loss(few, {.loss = Loss::nic, .number = 3})->nodes, ElementsAre(3, 13));
}

// Uplink 5 of leaf 0: what node 5 sends shares node 6's uplink; what is sent to node 5 comes down
// with node 13's, by the next cable from the same of eight spines.
TEST(WhatIf, neighbours_of_a_lost_cable_slow_down) {
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
  EXPECT_THAT(nic.nodes, ElementsAre(2, 34)) << "its node and that node's partner";
  EXPECT_DOUBLE_EQ(nic.closed_form_share, 0.5);
}

TEST(WhatIf, missing_parts_cannot_be_lost) {
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
  // A single node has no partner.
  const Topology one =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 1, .rails = 1, .radix = 4});
  const LossReport r = *study_loss(one, {.loss = Loss::nic, .number = 0});
  EXPECT_EQ(r.share, 0);
  EXPECT_EQ(r.alone, Seconds());
  EXPECT_EQ(r.cut + r.slowed, 0);
}

Topology eight_rails() { return *make_topology({.nodes = 64, .rails = 8, .radix = 64}); }

// 100 MB at 50 GB/s. In both directions the message of the lost cable shares a neighbour's.
TEST(WhatIf, lost_parts_are_named_and_timed) {
  const auto r = study_loss(eight_rails(), {.loss = Loss::leaf_uplink, .number = 5});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->lost, "leaf 0 - spine 5");
  EXPECT_NEAR(r->alone.base(), 2e-3, 1e-12);
  EXPECT_NEAR(r->before.base(), 2e-3, 2e-5);
  EXPECT_NEAR(r->after.base(), 4e-3, 2e-5);
  EXPECT_EQ(r->cut, 0);
  EXPECT_EQ(r->slowed, 4);
  EXPECT_EQ(r->nodes.size(), 4u);
  const auto leaf = study_loss(eight_rails(), {.loss = Loss::leaf, .number = 3});
  ASSERT_TRUE(leaf);
  EXPECT_EQ(leaf->lost, "leaf 3");
  EXPECT_EQ(leaf->share, 0);
  EXPECT_EQ(leaf->nodes.size(), 64u);
  const auto half =
      study_loss(eight_rails(), {.loss = Loss::spine, .number = 7, .message = bytes(5e7)});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->lost, "spine 7");
  EXPECT_NEAR(half->alone.base(), 1e-3, 1e-12);
  EXPECT_EQ(loss_from("nic"), Loss::nic);
  EXPECT_EQ(loss_from("link"), Loss::leaf_uplink);
  EXPECT_EQ(loss_from("plane"), Loss::plane);
  EXPECT_EQ(loss_from("leaf"), Loss::leaf);
  EXPECT_EQ(loss_from("spine"), Loss::spine);
  EXPECT_FALSE(loss_from("core"));
}

}  // namespace
}  // namespace orrery::fabric
