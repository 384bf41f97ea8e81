#include "layers/fabric/storm_study.h"

#include <gtest/gtest.h>

#include "layers/fabric/hazards.h"
#include "layers/fabric/nccl_tuner.h"
#include "layers/fabric/pause_fluid.h"

namespace orrery::fabric {
namespace {

Topology rails_of(int nodes, int radix = 64) {
  FabricSpec spec{.kind = catalog::TopologyKind::rail_fat_tree, .nodes = nodes};
  spec.rails = 8;
  spec.radix = radix;
  spec.link_rate = gbits_per_s(400);
  return *make_topology(spec);
}

StormSpec spec_of(catalog::RoutingKind routing, std::optional<Seconds> watchdog) {
  StormSpec s;
  s.routing.kind = routing;
  s.options.watchdog = watchdog;
  return s;
}

// Guo et al., SIGCOMM 2016, section 4.3: one NIC may block the entire network. It does if all nodes
// send to all.
TEST(StormStudy, one_nic_stops_every_node_under_all_to_all) {
  StormSpec spec = spec_of(catalog::RoutingKind::adaptive, {});
  spec.partners = 31;
  const auto r = study_storm(rails_of(32, 16), spec);
  ASSERT_TRUE(r);
  EXPECT_GT(r->before, 0.9);
  EXPECT_EQ(r->reach, 1);
  EXPECT_LT(r->left, 0.02);
  EXPECT_LT(r->held, 0.02) << "messages to others stop too";
  EXPECT_LT(r->spread, milliseconds(2));
}

TEST(StormStudy, storm_stays_with_the_leaves_that_send_there) {
  const auto sprayed = study_storm(rails_of(128, 32), spec_of(catalog::RoutingKind::adaptive, {}));
  const auto fixed = study_storm(rails_of(128, 32), spec_of(catalog::RoutingKind::fixed, {}));
  ASSERT_TRUE(sprayed && fixed);
  EXPECT_GT(sprayed->reach, 0.25);
  EXPECT_LT(sprayed->reach, 0.75);
  EXPECT_LT(sprayed->left, 0.05);
  // Each destination has its own route, so few routes share the stuck node's links.
  EXPECT_LT(fixed->reach, 0.5 * sprayed->reach);
}

// 127 nodes with one rail would fit one switch of 128 ports; with eight rails they need two tiers.
TEST(StormStudy, rail_has_as_many_tiers_as_the_network) {
  const auto r = study_storm(rails_of(127, 128), spec_of(catalog::RoutingKind::adaptive, {}));
  ASSERT_TRUE(r);
  EXPECT_GT(r->reach, 0.1);
}

TEST(StormStudy, watchdog_restores_the_rate_of_the_others) {
  const auto r =
      study_storm(rails_of(128, 32), spec_of(catalog::RoutingKind::adaptive, milliseconds(200)));
  ASSERT_TRUE(r);
  EXPECT_LT(r->held, 0.75);
  EXPECT_GT(r->back, 0.98);
}

TEST(StormStudy, without_pauses_no_other_node_stops) {
  StormSpec s = spec_of(catalog::RoutingKind::adaptive, {});
  s.options.pauses = false;
  const auto r = study_storm(rails_of(64, 32), s);
  ASSERT_TRUE(r);
  EXPECT_NEAR(r->reach, 4.0 / 63, 1e-9) << "the nodes that send to it";
  EXPECT_GT(r->held, 0.99);
}

TEST(StormStudy, refuses_what_it_cannot_run) {
  EXPECT_FALSE(study_storm(rails_of(2), spec_of(catalog::RoutingKind::fixed, {})));
  FabricSpec spec{.kind = catalog::TopologyKind::torus, .nodes = 64};
  spec.rails = 1;
  spec.torus = {4, 4, 4};
  const auto torus = make_topology(spec);
  ASSERT_TRUE(torus);
  EXPECT_FALSE(study_storm(*torus, spec_of(catalog::RoutingKind::fixed, {})));
}

// Six nodes on leaves of two; each sends to the next and to others.
TEST(StormStudy, storm_in_a_small_tree) {
  const Topology t = *make_topology(
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 6, .rails = 1, .radix = 4, .tiers = 2});
  StormSpec spec;
  spec.options.xoff = bytes(100e3);
  const StormReport r = *study_storm(t, spec);
  EXPECT_EQ(r.nodes, 6);
  EXPECT_EQ(r.back, r.held) << "there is no watchdog";
  EXPECT_GT(r.pauses, 0U);
  EXPECT_GT(r.reach, 0);
  EXPECT_LE(r.reach, 1);
  EXPECT_LT(r.left, 0.9);
  EXPECT_GT(r.before, 0);
  EXPECT_LE(r.before, 1.001);
  EXPECT_LT(r.held, 1);
  spec.options.watchdog = kWatchdogTime;
  const StormReport broken = *study_storm(t, spec);
  EXPECT_GT(broken.back, broken.held);
  EXPECT_LE(broken.back, 1);
}

TEST(StormStudy, unsupported_storms_are_refused) {
  const auto code = [](const FabricSpec& spec) {
    const auto r = study_storm(make_topology(spec).value(), {});
    return r ? "" : r.error().front().code;
  };
  EXPECT_EQ(code({.kind = catalog::TopologyKind::fat_tree, .nodes = 2, .rails = 1, .radix = 4}),
            "fabric.too-small");
  EXPECT_EQ(code({.kind = catalog::TopologyKind::scale_up, .nodes = 4, .rails = 8}), "fabric.kind");
}

// Each sends to both others at half of its wire rate. The port to node 0 is stopped: after 40 us 1
// MB of each sender waits there and its NIC is paused, so nothing moves in the second 100 us.
TEST(StormStudy, storm_among_three_nodes) {
  const Topology three = *make_topology({.nodes = 3, .rails = 8, .radix = 64});
  using catalog::RoutingKind;
  for (const RoutingKind kind : {RoutingKind::fixed, RoutingKind::adaptive, RoutingKind::ecmp}) {
    StormSpec spec;
    spec.routing.kind = kind;
    spec.queue_pairs = 3;
    const auto r = study_storm(three, spec);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->nodes, 3);
    EXPECT_NEAR(r->before, 1, 1e-9);
    EXPECT_EQ(r->reach, 1);
    EXPECT_NEAR(r->left, 0, 1e-9);
    EXPECT_NEAR(r->held, 0, 1e-9);
    EXPECT_EQ(r->back, r->held) << "there is no watchdog";
    EXPECT_EQ(r->pauses, 2u);
    EXPECT_EQ(r->spread, microseconds(100));
    spec.options.watchdog = kWatchdogTime;
    const auto watched = study_storm(three, spec);
    ASSERT_TRUE(watched);
    EXPECT_NEAR(watched->held, 0, 1e-9);
    EXPECT_NEAR(watched->back, 1, 1e-6);
    spec.options.pauses = false;
    const auto dropped = study_storm(three, spec);
    ASSERT_TRUE(dropped);
    EXPECT_EQ(dropped->pauses, 0u);
    EXPECT_EQ(dropped->reach, 1) << "both send to it";
    EXPECT_NEAR(dropped->left, 0, 1e-9);
    EXPECT_NEAR(dropped->held, 1, 1e-9) << "and to each other as before";
  }
}

}  // namespace
}  // namespace orrery::fabric
