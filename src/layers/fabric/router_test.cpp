#include "layers/fabric/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "layers/fabric/fabric_fixture.h"
#include "layers/fabric/traffic.h"
#include "layers/fabric/traffic_fixture.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;

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
      // 60 uplinks on five cores: the second group's uplinks do not begin at the first core.
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

TEST(Router, every_kind_of_topology_is_connected) {
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
TEST(Router, graph_and_bill_are_one_object) {
  for (const FabricSpec& spec : every_kind()) {
    const Topology t = routed(spec);
    const FabricGraph g = build_graph(t);
    const std::int64_t counted = spec.kind == catalog::TopologyKind::scale_up
                                     ? t.endpoints
                                     : t.node_links + t.leaf_spine_links + t.spine_core_links;
    // A dragonfly whose number of other groups does not divide its global ports leaves the rest
    // unused.
    if (spec.kind == catalog::TopologyKind::dragonfly) {
      EXPECT_LE(static_cast<std::int64_t>(g.links.size()) / 2, counted);
    } else {
      EXPECT_EQ(static_cast<std::int64_t>(g.links.size()) / 2, counted) << to_text(spec.kind);
    }
  }
}

TEST(Router, ports_of_a_switch_stay_within_its_radix) {
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

// Static InfiniBand routing: traffic to destination d leaves the leaf by port d mod 32.
TEST(Router, d_mod_k) {
  const FabricGraph g = build_tree({});
  Router router(g, {});
  std::vector<LinkId> path;
  ASSERT_TRUE(router.route(0, 32 * 9 + 5, 0, path));
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(g.link_name(path[1]), "leaf 0 -> spine 5");
  EXPECT_EQ(g.link_name(path[2]), "spine 5 -> leaf 9");
}

// A shift by a whole leaf causes no collision under D-mod-K; all flows run at line rate.
TEST(Router, shifts_are_free_of_collisions) {
  const FabricGraph g = build_tree({.leaves_per_group = 8});
  Router router(g, {});
  const TrafficResult r = run_traffic(g, router, ring_shift(g.endpoints, 32, megabytes(100)));
  EXPECT_NEAR(r.last, 100e6 / 50e9 + 4e-6, 1e-9);
}

TEST(Router, routes_around_a_lost_cable_and_a_lost_spine) {
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

TEST(Router, adaptive_spreads_a_permutation) {
  const FabricGraph g = build_tree({});
  const auto messages = random_permutation(g.endpoints, megabytes(100), 42);
  const double ideal = 100e6 / 50e9 + 4e-6;
  Router fixed(g, {}), adaptive(g, {.kind = catalog::RoutingKind::adaptive});
  EXPECT_GT(run_traffic(g, fixed, messages).last, 3 * ideal);
  EXPECT_LT(run_traffic(g, adaptive, messages).last, 2.01 * ideal);
}

// Several cables lead from a core down to a group, and hashed routes use all of them.
TEST(Router, hashed_routes_take_every_cable_of_a_core) {
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

// All leaves use the same hash, so flows that share a leaf's uplink share the spine's: fewer cores
// are used.
TEST(Router, polarisation_hurts) {
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
TEST(Router, pxn_keeps_to_the_rail) {
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

std::vector<std::string> way(const FabricGraph& g, Router& router, VertexId from, VertexId to,
                             int queue_pair = 0) {
  std::vector<LinkId> path;
  std::vector<std::string> names;
  if (!router.route(from, to, queue_pair, path)) {
    EXPECT_TRUE(path.empty());
    return {"none"};
  }
  for (const LinkId l : path) names.push_back(g.link_name(l));
  EXPECT_NEAR(path_latency(g, path), 0.5 * static_cast<double>(path.size()),
              g.links[0].latency == 0.5 ? 1e-12 : 1e9);
  return names;
}

// Destination 3 has position 3: uplink 3, spine 1 of the group, and down by the second of its
// cables.
TEST(Router, routes_in_a_group_follow_the_destination) {
  const FabricGraph g = build_tree(small_shape());
  Router router(g, {});
  EXPECT_THAT(way(g, router, 0, 1), ElementsAre("node 0 -> leaf 0", "leaf 0 -> node 1"));
  std::vector<LinkId> path;
  ASSERT_TRUE(router.route(0, 3, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 3, 16 + 2 * (4 + 3) + 1, 7));
  path.clear();
  ASSERT_TRUE(router.route(0, 2, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 2, 16 + 2 * (4 + 2) + 1, 5));
  // Without that cable down, the other one to the same spine is used; without both, the next
  // uplink.
  router.fail_cable(16 + 2 * (4 + 3));
  path.clear();
  ASSERT_TRUE(router.route(0, 3, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 3, 16 + 2 * (4 + 1) + 1, 7));
  router.fail_cable(16 + 2 * (4 + 1));
  path.clear();
  ASSERT_TRUE(router.route(0, 3, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 0, 16 + 2 * (4 + 0) + 1, 7));
  EXPECT_TRUE(router.route(4, 4, 0, path)) << "to itself there is nothing to go";
}

// Position 6 from leaf 0: uplink 6 mod 4 = 2 to spine 0; there 6 / 4 = 1 of three, to core 1. Of
// the second group's uplinks 6 to 11, core 1 has number 9, on its spine 1. Down by the cable 2 / 2
// = 1 of the two from spine 1 to leaf 3.
TEST(Router, routes_across_cores_follow_the_destination) {
  const FabricGraph g = build_tree(small_shape());
  Router router(g, {});
  std::vector<LinkId> path;
  ASSERT_TRUE(router.route(0, 6, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 2, 48 + 2 * 1, 48 + 2 * 9 + 1, 16 + 2 * (12 + 3) + 1,
                                2 * 6 + 1));
  EXPECT_THAT(way(g, router, 0, 6),
              ElementsAre("node 0 -> leaf 0", "leaf 0 -> spine 0", "spine 0 -> core 1",
                          "core 1 -> spine 3", "spine 3 -> leaf 3", "leaf 3 -> node 6"));
  // Without that cable to the core, the next one of the spine's.
  router.fail_cable(48 + 2 * 1);
  EXPECT_THAT(way(g, router, 0, 6),
              ElementsAre("node 0 -> leaf 0", "leaf 0 -> spine 0", "spine 0 -> core 2",
                          "core 2 -> spine 2", "spine 2 -> leaf 3", "leaf 3 -> node 6"));
  router.fail_cable(48 + 2 * 2);
  router.fail_cable(48 + 2 * 0);
  EXPECT_THAT(way(g, router, 0, 6),
              ElementsAre("node 0 -> leaf 0", "leaf 0 -> spine 1", "spine 1 -> core 0",
                          "core 0 -> spine 2", "spine 2 -> leaf 3", "leaf 3 -> node 6"));
  for (int x = 3; x < 6; ++x) router.fail_cable(48 + 2 * x);
  EXPECT_THAT(way(g, router, 0, 6), ElementsAre("none"));
}

TEST(Router, disconnected_endpoints_have_no_route) {
  const FabricGraph rails =
      graph_of({.kind = catalog::TopologyKind::rail_only, .nodes = 4, .rails = 2, .radix = 8});
  Router router(rails, {});
  EXPECT_THAT(way(rails, router, 0, 3), ElementsAre("none"));
  EXPECT_THAT(way(rails, router, 0, 2),
              ElementsAre("node 0 rail 0 -> leaf 0", "leaf 0 -> node 1 rail 0"));
  TreeShape bare = small_shape();
  bare.groups = 1;
  bare.leaf_uplinks = bare.spines_per_group = bare.spine_uplinks = bare.cores = 0;
  const FabricGraph leaves = build_tree(bare);
  Router apart(leaves, {});
  EXPECT_THAT(way(leaves, apart, 0, 2), ElementsAre("none"));
  EXPECT_THAT(way(leaves, apart, 0, 1), ElementsAre("node 0 -> leaf 0", "leaf 0 -> node 1"));
  TreeShape split = small_shape();
  split.spine_uplinks = split.cores = 0;
  const FabricGraph groups = build_tree(split);
  Router across(groups, {});
  EXPECT_THAT(way(groups, across, 0, 7), ElementsAre("none"));
}

// One dimension after the other, the shorter way round.
TEST(Router, torus_routes_take_the_shorter_way) {
  const FabricGraph g = torus_3_2();
  Router router(g, {});
  EXPECT_THAT(way(g, router, 0, 5), ElementsAre("node 0 -> node 2", "node 2 -> node 5"));
  EXPECT_THAT(way(g, router, 4, 0), ElementsAre("node 4 -> node 3", "node 3 -> node 0"));
  EXPECT_THAT(way(g, router, 2, 3), ElementsAre("node 2 -> node 0", "node 0 -> node 3"));
  router.fail_cable(4);  // between nodes 2 and 0
  EXPECT_THAT(way(g, router, 0, 5), testing::SizeIs(2));
  EXPECT_EQ(way(g, router, 0, 2).size(), 2U) << "round by 1";
  const FabricGraph ring =
      graph_of({.kind = catalog::TopologyKind::torus, .nodes = 4, .rails = 1, .torus = {4}});
  Router round(ring, {});
  EXPECT_THAT(way(ring, round, 0, 2), ElementsAre("node 0 -> node 1", "node 1 -> node 2"));
  EXPECT_THAT(way(ring, round, 0, 3), ElementsAre("node 0 -> node 3"));
  const FabricGraph square =
      graph_of({.kind = catalog::TopologyKind::torus, .nodes = 9, .rails = 1, .torus = {3, 3}});
  Router first(square, {});
  EXPECT_THAT(way(square, first, 0, 5), ElementsAre("node 0 -> node 2", "node 2 -> node 5"));
  EXPECT_THAT(way(square, first, 0, 7), ElementsAre("node 0 -> node 1", "node 1 -> node 7"));
}

// Two endpoints joined by three routers; all paths are equally long.
FabricGraph three_ways() {
  FabricGraph g;
  g.endpoints = 2;
  g.kinds = {VertexKind::endpoint, VertexKind::endpoint, VertexKind::router, VertexKind::router,
             VertexKind::router};
  g.numbers = {0, 1, 0, 1, 2};
  g.planes_of = {0, 0, 0, 0, 0};
  for (VertexId router = 2; router < 5; ++router) {
    for (VertexId end = 0; end < 2; ++end) {
      g.links.push_back({end, router, 1, 0.5});
      g.links.push_back({router, end, 1, 0.5});
    }
  }
  index_links(g);
  return g;
}

TEST(Router, adaptive_routing_alternates_equal_paths) {
  const FabricGraph g = three_ways();
  Router router(g, {.kind = catalog::RoutingKind::adaptive});
  std::set<std::vector<std::string>> taken;
  const auto first = way(g, router, 0, 1);
  taken.insert(first);
  for (int i = 0; i < 2; ++i) taken.insert(way(g, router, 0, 1));
  EXPECT_EQ(taken.size(), 3U);
  EXPECT_EQ(way(g, router, 0, 1), first) << "of equals the one that its hash prefers";
  Router fixed(g, {});
  EXPECT_THAT(way(g, fixed, 0, 1), ElementsAre("node 0 -> router 1", "router 1 -> node 1"))
      << "destination 1 of three";
  fixed.fail_vertex(3);
  EXPECT_THAT(way(g, fixed, 0, 1), ElementsAre("node 0 -> router 2", "router 2 -> node 1"));
  fixed.fail_vertex(4);
  fixed.fail_vertex(2);
  EXPECT_THAT(way(g, fixed, 0, 1), ElementsAre("none"));
}

// Four uplinks: the first four messages of a leaf take one each, the fifth its preferred one again.
TEST(Router, adaptive_routing_alternates_uplinks) {
  TreeShape shape = small_shape();
  shape.groups = 1;
  shape.spine_uplinks = shape.cores = 0;
  const FabricGraph g = build_tree(shape);
  Router router(g, {.kind = catalog::RoutingKind::adaptive});
  std::vector<LinkId> first, path;
  ASSERT_TRUE(router.route(0, 3, 0, first));
  std::set<LinkId> up{first[1]}, down{first[2]};
  for (int i = 1; i < 4; ++i) {
    path.clear();
    ASSERT_TRUE(router.route(0, 3, i, path));
    up.insert(path[1]);
    down.insert(path[2]);
  }
  EXPECT_EQ(up.size(), 4U);
  EXPECT_EQ(down.size(), 4U);
  path.clear();
  ASSERT_TRUE(router.route(0, 3, 0, path));
  EXPECT_EQ(path, first);
}

// If nothing is loaded yet, an adaptive router takes the path that a hashed one prefers.
TEST(Router, first_adaptive_route_is_the_hashed_one) {
  const FabricGraph tree = build_tree(small_shape()), ways = three_ways();
  for (int qp = 0; qp < 6; ++qp) {
    Router a(ways, {.kind = catalog::RoutingKind::adaptive});
    Router e(ways, {.kind = catalog::RoutingKind::ecmp});
    EXPECT_EQ(way(ways, a, 0, 1, qp), way(ways, e, 0, 1, qp));
    for (const VertexId to : {3, 4, 6}) {
      Router adaptive(tree, {.kind = catalog::RoutingKind::adaptive});
      Router hashed(tree, {.kind = catalog::RoutingKind::ecmp});
      std::vector<LinkId> one, other;
      ASSERT_TRUE(adaptive.route(0, to, qp, one));
      ASSERT_TRUE(hashed.route(0, to, qp, other));
      EXPECT_EQ(one, other) << to << ' ' << qp;
    }
  }
}

// The three links from a spine to cores, and both groups' spines: no link is used twice before all
// are used once.
TEST(Router, adaptive_routing_alternates_cores) {
  const FabricGraph g = build_tree(small_shape());
  Router router(g, {.kind = catalog::RoutingKind::adaptive});
  std::multiset<LinkId> up, core;
  std::vector<LinkId> path;
  for (int i = 0; i < 4; ++i) {
    path.clear();
    ASSERT_TRUE(router.route(0, 6, i, path));
    ASSERT_EQ(path.size(), 6U);
    up.insert(path[1]);
    core.insert(path[2]);
  }
  EXPECT_EQ(std::set<LinkId>(up.begin(), up.end()).size(), 4U);
  EXPECT_EQ(std::set<LinkId>(core.begin(), core.end()).size(), 4U);
}

TEST(Router, route_inside_a_node_needs_both_links) {
  const FabricGraph g =
      graph_of({.kind = catalog::TopologyKind::rail_only, .nodes = 2, .rails = 3, .radix = 8},
               {.scaleup_rate = BytesPerSecond(9)});
  Router router(g, {.pxn = true});
  EXPECT_THAT(way(g, router, 0, 2), ElementsAre("node 0 rail 0 -> scale-up switch 0",
                                                "scale-up switch 0 -> node 0 rail 2"));
  EXPECT_THAT(
      way(g, router, 0, 5),
      ElementsAre("node 0 rail 0 -> scale-up switch 0", "scale-up switch 0 -> node 0 rail 2",
                  "node 0 rail 2 -> leaf 2", "leaf 2 -> node 1 rail 2"));
  EXPECT_THAT(way(g, router, 0, 3),
              ElementsAre("node 0 rail 0 -> leaf 0", "leaf 0 -> node 1 rail 0"));
  router.fail_cable(g.first_scaleup_link + 2 * 2);
  EXPECT_THAT(way(g, router, 0, 2), ElementsAre("none"));
  EXPECT_THAT(way(g, router, 0, 1), testing::SizeIs(2));
  EXPECT_THAT(way(g, router, 2, 0), ElementsAre("none"));
}

// SplitMix64's step and finaliser (Steele, Lea and Flood 2014).
std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct HashedMessage {
  std::uint64_t seed = 1;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t queue_pair = 0;
  bool polarised = false;

  // Chooses among equal options at a stage of the path, at a switch.
  int choice(std::uint64_t stage, std::uint64_t at, std::uint64_t count) const {
    const std::uint64_t flow =
        splitmix(seed ^ splitmix(from << 32 | to) ^ splitmix(std::uint64_t{0x5151} + queue_pair));
    const std::uint64_t salt = polarised ? 0 : splitmix(stage << 40 | at);
    return static_cast<int>(splitmix(flow ^ salt) % count);
  }
};

TEST(Router, ecmp_hashes_the_uplink_of_a_leaf) {
  ASSERT_EQ(splitmix(0), 0xe220a8397b1dcdafULL) << "its published first number";
  const FabricGraph g = build_tree(
      {.hosts_per_leaf = 3, .leaves_per_group = 4, .leaf_uplinks = 14, .spines_per_group = 7});
  const TreeLayout& tree = g.trees[0];
  for (const bool polarised : {false, true}) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      Router router(g, {.kind = catalog::RoutingKind::ecmp, .seed = seed, .polarised = polarised});
      for (int to = 3; to < 12; ++to) {
        for (int pair = 0; pair < 3; ++pair) {
          const int from = to % 3;
          const int up =
              HashedMessage{seed, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                            static_cast<std::uint64_t>(pair), polarised}
                  .choice(1, 0, 14);
          std::vector<LinkId> path;
          ASSERT_TRUE(router.route(from, to, pair, path));
          EXPECT_THAT(path, ElementsAre(tree.node_up(from), tree.leaf_up(0, up),
                                        FabricGraph::reverse(tree.leaf_up(to / 3, up)),
                                        FabricGraph::reverse(tree.node_up(to))));
        }
      }
    }
  }
}

// Two groups of two leaves and three spines with four uplinks each, to four cores: uplink x goes to
// core x mod 4, which has three links down into the other group, one to each spine.
TEST(Router, ecmp_hashes_at_every_switch_across_cores) {
  const FabricGraph g = build_tree({.hosts_per_leaf = 2,
                                    .leaves_per_group = 2,
                                    .groups = 2,
                                    .leaf_uplinks = 6,
                                    .spines_per_group = 3,
                                    .spine_uplinks = 4,
                                    .cores = 4});
  const TreeLayout& tree = g.trees[0];
  Router router(g, {.kind = catalog::RoutingKind::ecmp, .seed = 5});
  for (int from = 0; from < 4; ++from) {
    for (int to = 4; to < 8; ++to) {
      const HashedMessage m{5, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)};
      const int leaf = from / 2;
      const int j = m.choice(1, static_cast<std::uint64_t>(leaf), 6);
      const int spine = j % 3;
      const int x = spine * 4 + m.choice(2, static_cast<std::uint64_t>(1'000'000 + spine), 4);
      const int core = x % 4;
      const int w = m.choice(3, static_cast<std::uint64_t>(2'000'000 + core), 3);
      std::vector<LinkId> path;
      ASSERT_TRUE(router.route(from, to, 0, path));
      EXPECT_THAT(path, ElementsAre(tree.node_up(from), tree.leaf_up(leaf, j), tree.spine_up(x),
                                    FabricGraph::reverse(tree.spine_up(12 + core + 4 * w)),
                                    FabricGraph::reverse(tree.leaf_up(to / 2, w + 3 * (j / 3))),
                                    FabricGraph::reverse(tree.node_up(to))));
    }
  }
}

}  // namespace
}  // namespace orrery::fabric
