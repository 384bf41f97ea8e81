#include "layers/fabric/router.h"

#include <gtest/gtest.h>

#include <set>

#include "layers/fabric/traffic_fixture.h"

namespace orrery::fabric {
namespace {

Topology routed(const FabricSpec& spec) { return make_topology(spec).value_or(Topology{}); }

// Every path is a chain of links that are up, from source to destination, without a loop.
void expect_chain(const FabricGraph& g, const Router& router, VertexId from, VertexId to,
                  const std::vector<LinkId>& path) {
  VertexId at = from;
  std::set<VertexId> seen{at};
  for (const LinkId l : path) {
    EXPECT_EQ(g.links[static_cast<std::size_t>(l)].from, at);
    EXPECT_TRUE(router.is_up(l));
    at = g.links[static_cast<std::size_t>(l)].to;
    EXPECT_TRUE(seen.insert(at).second);
  }
  EXPECT_EQ(at, to);
}

std::vector<FabricSpec> every_kind() {
  return {
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 100, .rails = 1, .radix = 16},
      {.kind = catalog::TopologyKind::rail_fat_tree, .nodes = 127, .rails = 8, .radix = 64},
      {.kind = catalog::TopologyKind::rail_fat_tree, .nodes = 512, .rails = 8, .radix = 64},
      {.kind = catalog::TopologyKind::rail_fat_tree, .nodes = 120, .rails = 8, .radix = 40},
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 500, .rails = 1, .radix = 16},
      // 60 uplinks on five cores: the second group's do not begin at the first core.
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 60, .rails = 1, .radix = 12, .tiers = 3},
      {.kind = catalog::TopologyKind::rail_fat_tree,
       .nodes = 64,
       .rails = 8,
       .radix = 128,
       .planes = 2},
      {.kind = catalog::TopologyKind::dragonfly, .nodes = 300, .rails = 1, .radix = 15},
      {.kind = catalog::TopologyKind::torus, .nodes = 60, .rails = 1, .torus = {3, 4, 5}},
      {.kind = catalog::TopologyKind::torus, .nodes = 16, .rails = 1, .torus = {2, 8}},
      {.kind = catalog::TopologyKind::scale_up, .nodes = 1, .rails = 72}};
}

TEST(Router, EveryKindOfTopologyIsConnected) {
  for (const FabricSpec& spec : every_kind()) {
    const Topology t = routed(spec);
    const FabricGraph g = build_graph(t);
    for (const catalog::RoutingKind kind : {catalog::RoutingKind::fixed, catalog::RoutingKind::ecmp,
                                            catalog::RoutingKind::adaptive}) {
      Router router(g, {.kind = kind});
      RandomStream random(1, "pairs");
      std::vector<LinkId> path;
      for (int i = 0; i < 200; ++i) {
        const auto a = static_cast<VertexId>(random.below(static_cast<std::uint64_t>(g.endpoints)));
        auto b = static_cast<VertexId>(random.below(static_cast<std::uint64_t>(g.endpoints)));
        b = b / g.planes * g.planes + a % g.planes;
        path.clear();
        ASSERT_TRUE(router.route(a, b, 0, path)) << to_text(spec.kind);
        expect_chain(g, router, a, b, path);
        EXPECT_LE(static_cast<int>(path.size()), diameter_links(t)) << to_text(spec.kind);
      }
    }
  }
}

// The graph has the cables that the bill counts.
TEST(Router, GraphAndBillAreOneObject) {
  for (const FabricSpec& spec : every_kind()) {
    const Topology t = routed(spec);
    const FabricGraph g = build_graph(t);
    const std::int64_t counted = spec.kind == catalog::TopologyKind::scale_up
                                     ? t.endpoints
                                     : t.node_links + t.leaf_spine_links + t.spine_core_links;
    // A dragonfly whose groups do not divide its global ports leaves the rest dark.
    if (spec.kind == catalog::TopologyKind::dragonfly) {
      EXPECT_LE(static_cast<std::int64_t>(g.links.size()) / 2, counted);
    } else {
      EXPECT_EQ(static_cast<std::int64_t>(g.links.size()) / 2, counted) << to_text(spec.kind);
    }
  }
}

TEST(Router, PortsOfASwitchStayWithinItsRadix) {
  for (const FabricSpec& spec : every_kind()) {
    if (spec.kind == catalog::TopologyKind::torus || spec.kind == catalog::TopologyKind::scale_up)
      continue;
    const FabricGraph g = build_graph(routed(spec));
    for (std::size_t v = static_cast<std::size_t>(g.endpoints); v < g.kinds.size(); ++v) {
      EXPECT_LE(g.out(static_cast<VertexId>(v)).size(), static_cast<std::size_t>(spec.radix))
          << to_text(spec.kind) << " " << g.vertex_name(static_cast<VertexId>(v));
    }
  }
}

// Static InfiniBand routing: destination d leaves the leaf by port d mod 32.
TEST(Router, DModK) {
  const FabricGraph g = build_tree({});
  Router router(g, {});
  std::vector<LinkId> path;
  ASSERT_TRUE(router.route(0, 32 * 9 + 5, 0, path));
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(g.link_name(path[1]), "leaf 0 -> spine 5");
  EXPECT_EQ(g.link_name(path[2]), "spine 5 -> leaf 9");
}

// A shift by a whole leaf meets no collision under D-mod-K; all flows run at line rate.
TEST(Router, ShiftsAreFreeOfCollisions) {
  const FabricGraph g = build_tree({.leaves_per_group = 8});
  Router router(g, {});
  const TrafficResult r = run_traffic(g, router, ring_shift(g.endpoints, 32, megabytes(100)));
  EXPECT_NEAR(r.last, 100e6 / 50e9 + 4e-6, 1e-9);
}

TEST(Router, RoutesAroundALostCableAndALostSpine) {
  const FabricGraph g = build_tree({.leaves_per_group = 4});
  for (const catalog::RoutingKind kind :
       {catalog::RoutingKind::fixed, catalog::RoutingKind::ecmp, catalog::RoutingKind::adaptive}) {
    Router router(g, {.kind = kind});
    router.fail_cable(g.trees[0].leaf_up(0, 5));
    const VertexId spine = g.links[static_cast<std::size_t>(g.trees[0].leaf_up(0, 9))].to;
    router.fail_vertex(spine);
    std::vector<LinkId> path;
    for (VertexId d = 32; d < 128; ++d) {
      path.clear();
      ASSERT_TRUE(router.route(3, d, 0, path));
      expect_chain(g, router, 3, d, path);
    }
    router.fail_cable(g.trees[0].node_up(3));
    path.clear();
    EXPECT_FALSE(router.route(3, 40, 0, path));
    EXPECT_TRUE(path.empty());
  }
}

TEST(Router, AdaptiveSpreadsAPermutation) {
  const FabricGraph g = build_tree({});
  const auto messages = random_permutation(g.endpoints, megabytes(100), 42);
  const double ideal = 100e6 / 50e9 + 4e-6;
  Router fixed(g, {}), adaptive(g, {.kind = catalog::RoutingKind::adaptive});
  EXPECT_GT(run_traffic(g, fixed, messages).last, 3 * ideal);
  EXPECT_LT(run_traffic(g, adaptive, messages).last, 2.01 * ideal);
}

// From a core several cables go down to a group, and hashed routes take all of them.
TEST(Router, HashedRoutesTakeEveryCableOfACore) {
  const FabricGraph g = build_graph(routed(
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 60, .rails = 1, .radix = 12, .tiers = 3}));
  Router router(g, {.kind = catalog::RoutingKind::ecmp});
  std::set<LinkId> taken;
  std::vector<LinkId> path;
  for (VertexId from = 0; from < 36; ++from) {
    for (VertexId to = 36; to < 60; ++to) {
      path.clear();
      ASSERT_TRUE(router.route(from, to, 0, path));
      ASSERT_EQ(path.size(), 6u);
      taken.insert(path[3]);
    }
  }
  EXPECT_EQ(taken.size(), 24u) << "four leaves of the second group have six uplinks each";
}

// All leaves hash alike, so flows that share a leaf's uplink share the spine's: fewer cores are
// used.
TEST(Router, PolarisationHurts) {
  const FabricGraph g = build_tree({.hosts_per_leaf = 16,
                                    .leaves_per_group = 16,
                                    .groups = 4,
                                    .leaf_uplinks = 16,
                                    .spines_per_group = 16,
                                    .spine_uplinks = 16,
                                    .cores = 256});
  const auto messages = random_permutation(g.endpoints, megabytes(10), 4);
  double plain = 0, polarised = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Router a(g, {.kind = catalog::RoutingKind::ecmp, .seed = seed});
    Router b(g, {.kind = catalog::RoutingKind::ecmp, .seed = seed, .polarised = true});
    plain += run_traffic(g, a, messages).last;
    polarised += run_traffic(g, b, messages).last;
  }
  EXPECT_GT(polarised, 1.2 * plain);
}

// Rail-optimised: with PXN a message to another rail crosses NVLink and stays on one leaf.
TEST(Router, PxnKeepsToTheRail) {
  const Topology t = routed({.nodes = 32, .rails = 8, .radix = 64});
  const FabricGraph g = build_graph(t, {.scaleup_rate = gbytes_per_s(450)});
  Router plain(g, {}), pxn(g, {.pxn = true});
  std::vector<LinkId> path;
  ASSERT_TRUE(plain.route(0, 8 * 5 + 3, 0, path));
  EXPECT_EQ(path.size(), 4u);
  path.clear();
  ASSERT_TRUE(pxn.route(0, 8 * 5 + 3, 0, path));
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(g.link_name(path[0]), "node 0 rail 0 -> scale-up switch 0");
  EXPECT_EQ(g.link_name(path[2]), "node 0 rail 3 -> leaf 3");
  EXPECT_EQ(g.link_name(path[3]), "leaf 3 -> node 5 rail 3");
  path.clear();
  ASSERT_TRUE(plain.route(0, 5, 0, path));
  EXPECT_EQ(path.size(), 2u);  // inside the node
}

}  // namespace
}  // namespace orrery::fabric
