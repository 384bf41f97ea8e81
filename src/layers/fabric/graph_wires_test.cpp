// Small networks wire by wire, and the ways through them link by link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layers/fabric/router.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;
using Wires = std::vector<std::pair<VertexId, VertexId>>;

// Every cable by its two ends, as it was laid; both directions are there.
Wires wires_of(const FabricGraph& g, std::size_t from = 0) {
  Wires all;
  for (std::size_t l = from; l + 1 < g.links.size(); l += 2) {
    all.emplace_back(g.links[l].from, g.links[l].to);
    EXPECT_EQ(g.links[l + 1].from, g.links[l].to);
    EXPECT_EQ(g.links[l + 1].to, g.links[l].from);
    EXPECT_EQ(g.links[l + 1].capacity, g.links[l].capacity);
    EXPECT_EQ(g.links[l + 1].latency, g.links[l].latency);
  }
  return all;
}

FabricGraph graph_of(const FabricSpec& spec, const GraphOptions& options = {}) {
  return build_graph(make_topology(spec).value(), options);
}

// 3 x 2: two rings of three, and between them three cables.
FabricGraph torus_3_2() {
  return graph_of({.kind = catalog::TopologyKind::torus, .nodes = 6, .rails = 1, .torus = {3, 2}});
}

TEST(GraphWires, a_torus_of_three_by_two) {
  const FabricGraph g = torus_3_2();
  EXPECT_EQ(wires_of(g),
            (Wires{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(g.kinds.size(), 6U);
  EXPECT_EQ(g.torus, (std::vector<int>{3, 2}));
  EXPECT_EQ(g.out(0).size(), 3U);
}

// h = 1: two routers a group, an endpoint on each; three groups, one cable between any two.
TEST(GraphWires, a_dragonfly_of_three_groups) {
  const FabricGraph g =
      graph_of({.kind = catalog::TopologyKind::dragonfly, .nodes = 6, .rails = 1, .radix = 4});
  EXPECT_EQ(g.kinds.size(), 12U);
  EXPECT_EQ(wires_of(g), (Wires{{0, 6},
                                {1, 7},
                                {2, 8},
                                {3, 9},
                                {4, 10},
                                {5, 11},
                                {6, 7},
                                {8, 9},
                                {10, 11},
                                {6, 8},
                                {7, 10},
                                {9, 11}}));
  EXPECT_EQ(g.vertex_name(7), "router 1");
}

// h = 2: four routers a group and eight global ports; two groups share all eight.
TEST(GraphWires, two_groups_of_a_dragonfly_share_all_their_global_ports) {
  const FabricGraph g =
      graph_of({.kind = catalog::TopologyKind::dragonfly, .nodes = 10, .rails = 1, .radix = 8});
  // Two endpoints a router; 2 x 6 cables inside the groups; then port by port between them.
  const Wires all = wires_of(g);
  ASSERT_EQ(all.size(), 10U + 12 + 8);
  EXPECT_EQ(all[9], (std::pair{9, 10 + 4}));
  const Wires global(all.begin() + 22, all.end());
  EXPECT_EQ(
      global,
      (Wires{{10, 14}, {10, 14}, {11, 15}, {11, 15}, {12, 16}, {12, 16}, {13, 17}, {13, 17}}));
}

// Two groups of two leaves; each leaf two hosts and four uplinks to two spines, each spine three
// uplinks to four cores, dealt on from where the group before ended.
TreeShape small_shape() {
  return {.hosts_per_leaf = 2,
          .leaves_per_group = 2,
          .groups = 2,
          .leaf_uplinks = 4,
          .spines_per_group = 2,
          .spine_uplinks = 3,
          .cores = 4,
          .rate = BytesPerSecond(7),
          .latency = Seconds(0.5)};
}

TEST(GraphWires, a_tree_of_three_tiers) {
  const FabricGraph g = build_tree(small_shape());
  // Hosts 0 to 7, leaves 8 to 11, spines 12 to 15, cores 16 to 19.
  ASSERT_EQ(g.kinds.size(), 20U);
  EXPECT_EQ(g.numbers.size(), 20U);
  EXPECT_EQ(g.endpoints, 8);
  const Wires all = wires_of(g);
  ASSERT_EQ(all.size(), 8U + 16 + 12);
  EXPECT_EQ(Wires(all.begin(), all.begin() + 8),
            (Wires{{0, 8}, {1, 8}, {2, 9}, {3, 9}, {4, 10}, {5, 10}, {6, 11}, {7, 11}}));
  EXPECT_EQ(Wires(all.begin() + 8, all.begin() + 16),
            (Wires{{8, 12}, {8, 13}, {8, 12}, {8, 13}, {9, 12}, {9, 13}, {9, 12}, {9, 13}}));
  EXPECT_EQ(Wires(all.begin() + 16, all.begin() + 20),
            (Wires{{10, 14}, {10, 15}, {10, 14}, {10, 15}}));
  EXPECT_EQ(Wires(all.begin() + 24, all.end()), (Wires{{12, 16},
                                                       {12, 17},
                                                       {12, 18},
                                                       {13, 19},
                                                       {13, 16},
                                                       {13, 17},
                                                       {14, 18},
                                                       {14, 19},
                                                       {14, 16},
                                                       {15, 17},
                                                       {15, 18},
                                                       {15, 19}}));
  EXPECT_EQ(g.links[0].capacity, 7);
  EXPECT_EQ(g.links[0].latency, 0.5);
  const TreeLayout& t = g.trees[0];
  EXPECT_EQ(t.node_up(3), 6);
  EXPECT_EQ(t.leaf_up(1, 2), 16 + 2 * 6);
  EXPECT_EQ(t.spine_up(5), 48 + 10);
  EXPECT_EQ(t.groups[1].uplinks(), 6);
  EXPECT_EQ(t.groups[1].first_uplink, 6);
  EXPECT_EQ(t.groups[1].first_leaf, 2);
  EXPECT_EQ(t.groups[1].first_spine, 2);
  EXPECT_EQ(t.leaf_of, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(t.group_of_leaf, (std::vector<int>{0, 0, 1, 1}));
}

// Two nodes of two rails in two planes: endpoints by node, rail, plane.
TEST(GraphWires, planes_and_node_switches_have_names) {
  const FabricGraph g = graph_of({.kind = catalog::TopologyKind::fat_tree,
                                  .nodes = 6,
                                  .rails = 2,
                                  .radix = 4,
                                  .planes = 2,
                                  .tiers = 3},
                                 {.scaleup_rate = BytesPerSecond(9)});
  EXPECT_EQ(g.endpoints, 24);
  EXPECT_EQ(g.vertex_name(7), "plane 1 node 1 rail 1");
  EXPECT_EQ(g.vertex_name(24), "plane 0 leaf 0");
  const auto named = [&](VertexKind kind, std::uint8_t plane) {
    for (std::size_t v = 0; v < g.kinds.size(); ++v) {
      if (g.kinds[v] == kind && g.planes_of[v] == plane) {
        return g.vertex_name(static_cast<VertexId>(v));
      }
    }
    return std::string("none");
  };
  EXPECT_EQ(named(VertexKind::spine, 1), "plane 1 spine 0");
  EXPECT_EQ(named(VertexKind::core, 1), "plane 1 core 0");
  EXPECT_EQ(named(VertexKind::node_switch, 0), "scale-up switch 0");
  ASSERT_GT(g.first_scaleup_link, 0);
  // One cable for each rail, from its first plane's port.
  const Wires up = wires_of(g, static_cast<std::size_t>(g.first_scaleup_link));
  ASSERT_EQ(up.size(), 12U);
  EXPECT_EQ(up[3].first, 6);
  EXPECT_EQ(up[3].second, up[2].second);
  EXPECT_NE(up[4].second, up[3].second);
  EXPECT_EQ(g.links.back().capacity, 9);
  EXPECT_DOUBLE_EQ(g.links.back().latency, 500e-9);
  const FabricGraph plain =
      graph_of({.kind = catalog::TopologyKind::fat_tree, .nodes = 3, .rails = 1, .radix = 4});
  EXPECT_EQ(plain.vertex_name(2), "node 2");
  EXPECT_EQ(plain.first_scaleup_link, -1);
}

TEST(GraphWires, a_domain_is_a_star_of_fat_links) {
  const FabricGraph g = graph_of({.kind = catalog::TopologyKind::scale_up,
                                  .nodes = 2,
                                  .rails = 3,
                                  .link_rate = BytesPerSecond(5),
                                  .scaleup_chips = 4});
  EXPECT_EQ(wires_of(g), (Wires{{0, 6}, {1, 6}, {2, 6}, {3, 7}, {4, 7}, {5, 7}}));
  EXPECT_EQ(g.links[0].capacity, 20);
  EXPECT_EQ(g.first_scaleup_link, 0);
}

TEST(GraphWires, an_empty_graph_is_of_one_plane_and_rail) {
  const FabricGraph g;
  EXPECT_EQ(g.endpoints, 0);
  EXPECT_EQ(g.planes, 1);
  EXPECT_EQ(g.rails, 1);
  EXPECT_EQ(g.first_scaleup_link, -1);
  const GraphLink l;
  EXPECT_EQ(l.from + l.to, 0);
  EXPECT_EQ(l.capacity + l.latency, 0);
  const TreeLayout t;
  EXPECT_EQ(t.uplinks + t.cores + t.first_node_link + t.first_leaf_link + t.first_spine_link, 0);
  const TreeLayout::Group group;
  EXPECT_EQ(group.first_leaf + group.leaves + group.first_spine + group.spines, 0);
  EXPECT_EQ(group.spine_uplinks + group.first_uplink, 0);
  const TreeShape s;
  EXPECT_EQ(s.hosts_per_leaf, 32);
  EXPECT_EQ(s.leaves_per_group, 32);
  EXPECT_EQ(s.groups, 1);
  EXPECT_EQ(s.leaf_uplinks, 32);
  EXPECT_EQ(s.spines_per_group, 32);
  EXPECT_EQ(s.spine_uplinks + s.cores, 0);
  EXPECT_EQ(s.rate, gbytes_per_s(50));
  EXPECT_EQ(s.latency, microseconds(1));
  EXPECT_EQ(GraphOptions{}.scaleup_latency, nanoseconds(500));
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

// Destination 3 is place 3: uplink 3, spine 1 of the group, and down by the second of its cables.
TEST(GraphWires, ways_in_a_group_go_by_the_destination) {
  const FabricGraph g = build_tree(small_shape());
  Router router(g, {});
  EXPECT_THAT(way(g, router, 0, 1), ElementsAre("node 0 -> leaf 0", "leaf 0 -> node 1"));
  std::vector<LinkId> path;
  ASSERT_TRUE(router.route(0, 3, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 3, 16 + 2 * (4 + 3) + 1, 7));
  path.clear();
  ASSERT_TRUE(router.route(0, 2, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 2, 16 + 2 * (4 + 2) + 1, 5));
  // Without the cable down the other one to that spine is taken; without both the next uplink.
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

// Place 6 from leaf 0: uplink 6 mod 4 = 2 to spine 0; there 6 / 4 = 1 of three, to core 1. Of the
// second group's uplinks 6 to 11 core 1 has number 9: spine 1 of it. Down by the cable 2 / 2 = 1 of
// the two from spine 1 to leaf 3.
TEST(GraphWires, ways_over_a_core_go_by_the_destination) {
  const FabricGraph g = build_tree(small_shape());
  Router router(g, {});
  std::vector<LinkId> path;
  ASSERT_TRUE(router.route(0, 6, 0, path));
  EXPECT_THAT(path, ElementsAre(0, 16 + 2 * 2, 48 + 2 * 1, 48 + 2 * 9 + 1, 16 + 2 * (12 + 3) + 1,
                                2 * 6 + 1));
  EXPECT_THAT(way(g, router, 0, 6),
              ElementsAre("node 0 -> leaf 0", "leaf 0 -> spine 0", "spine 0 -> core 1",
                          "core 1 -> spine 3", "spine 3 -> leaf 3", "leaf 3 -> node 6"));
  // Without that cable to the core the next of the spine's.
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

TEST(GraphWires, where_nothing_joins_there_is_no_way) {
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
TEST(GraphWires, ways_in_a_torus) {
  const FabricGraph g = torus_3_2();
  Router router(g, {});
  EXPECT_THAT(way(g, router, 0, 5), ElementsAre("node 0 -> node 2", "node 2 -> node 5"));
  EXPECT_THAT(way(g, router, 4, 0), ElementsAre("node 4 -> node 3", "node 3 -> node 0"));
  EXPECT_THAT(way(g, router, 2, 3), ElementsAre("node 2 -> node 0", "node 0 -> node 3"));
  router.fail_cable(4);  // of nodes 2 and 0
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

// Two endpoints joined by three routers; each way is as long as the others.
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

TEST(GraphWires, equal_ways_are_taken_in_turn_where_routing_adapts) {
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

// Four uplinks: the first four messages of a leaf take one each, the fifth its own again.
TEST(GraphWires, uplinks_are_taken_in_turn_where_routing_adapts) {
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

// Where nothing is loaded yet an adaptive router takes the way that a hashed one prefers.
TEST(GraphWires, the_first_way_of_an_adaptive_router_is_the_hashed_one) {
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

// The three ways from a spine to cores, and both groups' spines: no link twice before all once.
TEST(GraphWires, cores_are_taken_in_turn_where_routing_adapts) {
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

TEST(GraphWires, a_way_inside_a_node_needs_both_of_its_links) {
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
  EXPECT_FALSE(RoutingOptions{}.polarised || RoutingOptions{}.pxn);
  EXPECT_EQ(RoutingOptions{}.seed, 1U);
}

}  // namespace
}  // namespace orrery::fabric
