#include "layers/fabric/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "layers/fabric/fabric_fixture.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;
using Wires = std::vector<std::pair<VertexId, VertexId>>;

// Returns every cable by its two ends, in the order laid; both directions exist.
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

TEST(Graph, torus_wiring) {
  const FabricGraph g = torus_3_2();
  EXPECT_EQ(wires_of(g),
            (Wires{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(g.kinds.size(), 6U);
  EXPECT_EQ(g.torus, (std::vector<int>{3, 2}));
  EXPECT_EQ(g.out(0).size(), 3U);
}

// h = 1: two routers per group, an endpoint on each; three groups, one cable between any two.
TEST(Graph, dragonfly_wiring) {
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

// h = 2: four routers per group and eight global ports; two groups share all eight.
TEST(Graph, two_dragonfly_groups_share_all_global_ports) {
  const FabricGraph g =
      graph_of({.kind = catalog::TopologyKind::dragonfly, .nodes = 10, .rails = 1, .radix = 8});
  // Two endpoints per router; 2 x 6 cables inside the groups; then port by port between them.
  const Wires all = wires_of(g);
  ASSERT_EQ(all.size(), 10U + 12 + 8);
  EXPECT_EQ(all[9], (std::pair{9, 10 + 4}));
  const Wires global(all.begin() + 22, all.end());
  EXPECT_EQ(
      global,
      (Wires{{10, 14}, {10, 14}, {11, 15}, {11, 15}, {12, 16}, {12, 16}, {13, 17}, {13, 17}}));
}

TEST(Graph, three_tier_tree_wiring) {
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
TEST(Graph, vertices_are_named) {
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

TEST(Graph, scale_up_domain_is_a_star) {
  const FabricGraph g = graph_of({.kind = catalog::TopologyKind::scale_up,
                                  .nodes = 2,
                                  .rails = 3,
                                  .link_rate = BytesPerSecond(5),
                                  .scaleup_chips = 4});
  EXPECT_EQ(wires_of(g), (Wires{{0, 6}, {1, 6}, {2, 6}, {3, 7}, {4, 7}, {5, 7}}));
  EXPECT_EQ(g.links[0].capacity, 20);
  EXPECT_EQ(g.first_scaleup_link, 0);
}

// A ring of two is one cable, a ring of three has three, a ring of one none.
TEST(Graph, torus_has_a_ring_per_dimension) {
  const auto cables = [](std::vector<int> torus, int nodes) {
    return build_graph(*make_topology({.kind = catalog::TopologyKind::torus,
                                       .nodes = nodes,
                                       .rails = 1,
                                       .torus = std::move(torus)}))
               .links.size() /
           2;
  };
  EXPECT_EQ(cables({2, 2}, 4), 4U);
  EXPECT_EQ(cables({3, 2}, 6), 6U + 3U);
  EXPECT_EQ(cables({3, 3}, 9), 18U);
}

}  // namespace
}  // namespace orrery::fabric
