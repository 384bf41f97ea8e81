#include "layers/fabric/what_if.h"

#include <gtest/gtest.h>

namespace orrery::fabric {
namespace {

Topology superpod() { return *make_topology({.nodes = 64, .rails = 8, .radix = 64}); }

TEST(WhatIf, AStaticRouteDoublesUpOnANeighbour) {
  const auto r = study_loss(superpod(), {.loss = Loss::leaf_uplink, .number = 5});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 0);
  EXPECT_NEAR(r->share, 0.5, 0.01);
  EXPECT_DOUBLE_EQ(r->closed_form_share, 0.5);
  EXPECT_GT(r->slowed, 0);
  EXPECT_LT(r->nodes.size(), 10u);  // few feel it, but a collective waits for them
}

TEST(WhatIf, ALostNicCutsItsRank) {
  const auto r = study_loss(superpod(), {.loss = Loss::nic, .number = 17});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 2);  // what it sends and what it is sent
  EXPECT_EQ(r->lost, "node 2 rail 1 - leaf 1");
  EXPECT_EQ(r->share, 0);
}

TEST(WhatIf, ALostPlaneHalvesATwinPlane) {
  const Topology t = *make_topology({.nodes = 64, .rails = 8, .radix = 128, .planes = 2});
  const auto r = study_loss(t, {.loss = Loss::plane, .number = 1});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 0);
  EXPECT_NEAR(r->share, 0.5, 0.01);
  EXPECT_DOUBLE_EQ(r->closed_form_share, 0.5);
}

TEST(WhatIf, ALostSpineIsBornByAdaptiveRouting) {
  const auto fixed = study_loss(superpod(), {.loss = Loss::spine, .number = 0});
  const auto adaptive = study_loss(
      superpod(),
      {.loss = Loss::spine, .number = 0, .routing = {.kind = catalog::RoutingKind::adaptive}});
  ASSERT_TRUE(fixed && adaptive);
  EXPECT_EQ(fixed->cut, 0);
  EXPECT_NEAR(fixed->share, 0.5, 0.01);
  // One spine of eight: the others carry 8/7 of what they did, and both forms say so.
  EXPECT_DOUBLE_EQ(adaptive->closed_form_share, 7.0 / 8);
  EXPECT_NEAR(adaptive->share, 7.0 / 8, 0.03);
  EXPECT_NEAR(adaptive->before / adaptive->alone, 1, 0.03);
}

TEST(WhatIf, ALostLeafCutsItsRail) {
  const auto r = study_loss(superpod(), {.loss = Loss::leaf, .number = 0});
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->cut, 64);  // 32 nodes send and 32 are sent to on that rail
  EXPECT_FALSE(study_loss(superpod(), {.loss = Loss::leaf, .number = 999}).has_value());
}

}  // namespace
}  // namespace orrery::fabric
