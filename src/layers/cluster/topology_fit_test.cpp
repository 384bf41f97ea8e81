#include "layers/cluster/topology_fit.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "core/base/random.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"

namespace orrery::cluster {
namespace {

// 0 is the core; 1 and 2 are spines; 3-6 are leaves under 1, 7-10 under 2.
std::vector<TopologySwitch> tree(std::vector<int> free) {
  std::vector<TopologySwitch> t = {{-1, 0}, {0, 0}, {0, 0}};
  for (int leaf = 0; leaf < 8; ++leaf) {
    t.push_back({leaf < 4 ? 1 : 2, free[static_cast<std::size_t>(leaf)]});
  }
  return t;
}

std::optional<TopologyFit> fit_topology(std::vector<TopologySwitch> switches, int nodes) {
  TopologyScratch scratch{.switches = std::move(switches)};
  if (!fit_topology(nodes, scratch)) return std::nullopt;
  return scratch.fit;
}

// Real Slurm (22.05, topology/tree, leaves of 8) put a gang of 8 into one leaf.
TEST(TopologyFit, gang_of_eight_fills_one_leaf) {
  const auto fit = fit_topology(tree({8, 8, 8, 8, 8, 8, 8, 8}), 8);
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->levels, 0);
  EXPECT_EQ(fit->left_over, 0);
  EXPECT_EQ(fit->leaves, (std::vector<LeafShare>{{3, 8}}));
}

TEST(TopologyFit, tightest_leaf_then_tightest_spine) {
  auto fit = fit_topology(tree({8, 5, 6, 8, 8, 8, 8, 8}), 5);
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->leaves, (std::vector<LeafShare>{{4, 5}}));
  // 20 nodes: spine 1 has 27 free, spine 2 has 32, so spine 2 is left whole.
  fit = fit_topology(tree({8, 5, 6, 8, 8, 8, 8, 8}), 20);
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->subtree, 1);
  EXPECT_EQ(fit->levels, 1);
  EXPECT_EQ(fit->left_over, 7);
  EXPECT_EQ(fit->leaves, (std::vector<LeafShare>{{3, 8}, {6, 8}, {4, 4}}));
}

TEST(TopologyFit, across_the_core_or_not_at_all) {
  const auto fit = fit_topology(tree({8, 8, 8, 8, 8, 8, 8, 8}), 40);
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->subtree, 0);
  EXPECT_EQ(fit->levels, 2);
  EXPECT_EQ(static_cast<int>(fit->leaves.size()), 40 / 8);
  EXPECT_FALSE(fit_topology(tree({8, 8, 8, 8, 8, 8, 8, 8}), 65).has_value());
  EXPECT_FALSE(fit_topology({}, 1).has_value());
}

TEST(TopologyFit, takes_what_was_asked_and_no_more_than_is_free) {
  RandomStream random(1, "test/topology");
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<int> free(8);
    for (int& f : free) f = static_cast<int>(random.below(9));
    const int nodes = 1 + static_cast<int>(random.below(40));
    const auto t = tree(free);
    const auto fit = fit_topology(t, nodes);
    const int all = std::accumulate(free.begin(), free.end(), 0);
    ASSERT_EQ(fit.has_value(), nodes <= all);
    if (!fit) continue;
    int taken = 0;
    for (const LeafShare& share : fit->leaves) {
      EXPECT_LE(share.nodes, t[static_cast<std::size_t>(share.leaf)].free_nodes);
      EXPECT_GT(share.nodes, 0);
      taken += share.nodes;
    }
    EXPECT_EQ(taken, nodes);
    // If a higher level was used, no single leaf would have done.
    if (fit->levels > 0) {
      for (const int f : free) EXPECT_LT(f, nodes);
    }
  }
}

// Leaves of 5, 4 and 3 free nodes below one spine: eight nodes take the five and the exactly
// fitting three.
TEST(TopologyFit, gang_fills_the_leaf_that_holds_the_rest_exactly) {
  TopologyScratch s;
  s.switches = {{.parent = -1},
                {.parent = 0, .free_nodes = 5},
                {.parent = 0, .free_nodes = 4},
                {.parent = 0, .free_nodes = 3}};
  ASSERT_TRUE(fit_topology(8, s));
  EXPECT_EQ(s.fit.leaves, (std::vector<LeafShare>{{1, 5}, {3, 3}}));
  EXPECT_EQ(s.fit.subtree, 0);
  EXPECT_EQ(s.fit.levels, 1);
  EXPECT_EQ(s.fit.left_over, 4);
  ASSERT_TRUE(fit_topology(4, s));
  EXPECT_EQ(s.fit.leaves, (std::vector<LeafShare>{{2, 4}}));
  EXPECT_EQ(s.fit.levels, 0);
  EXPECT_EQ(s.fit.left_over, 0);
  ASSERT_TRUE(fit_topology(12, s));
  EXPECT_FALSE(fit_topology(13, s)) << "a spine has no nodes of its own";
  EXPECT_FALSE(fit_topology(0, s));
}

TEST(TopologyFit, tree_may_be_a_single_switch) {
  TopologyScratch s;
  s.switches = {{.parent = -1, .free_nodes = 5}};
  ASSERT_TRUE(fit_topology(2, s));
  EXPECT_EQ(s.fit.leaves, (std::vector<LeafShare>{{0, 2}}));
  EXPECT_EQ(s.fit.left_over, 3);
  EXPECT_EQ(s.fit.levels, 0);
  EXPECT_FALSE(fit_topology(6, s));
}

}  // namespace
}  // namespace orrery::cluster
