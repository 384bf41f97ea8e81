#include "layers/fabric/routed_tree.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "layers/fabric/ecmp.h"

namespace orrery::fabric {
namespace {

using catalog::RoutingKind;
using enum ShareBound;

// 32 leaves of 32 endpoints with as many uplinks; a host has eight NICs.
RoutedTreeSpec leaf_spine(RoutingKind routing, int queue_pairs = 1) {
  return {.routing = routing,
          .queue_pairs = queue_pairs,
          .endpoints_per_leaf = 32,
          .uplinks = 32,
          .hosts = 128,
          .hosts_per_leaf = 4};
}

// The closed form gives the mean rate of simulated permutations. In a permutation one message of
// each leaf stays below it; the rows are means of four trials with a deviation of 2 %.
TEST(RoutedTree, reproduces_simulated_permutations) {
  const auto table = catalog::embedded_table("validation/ecmp_collision_mc.csv");
  ASSERT_TRUE(table.has_value());
  for (const CsvRow& row : table->rows()) {
    const auto value = [&](const char* column) { return table->number(row, column).value_or(0); };
    RoutedTreeSpec s = leaf_spine(RoutingKind::ecmp, static_cast<int>(value("qps")));
    s.endpoints_per_leaf = value("hosts_per_leaf");
    s.uplinks = value("spines");
    const double rate = routed_rate(s, 1 - 1 / value("leaves"), 0, mean);
    const double simulated = value("mean_flow_rate_frac");
    const double close = value("leaves") < 32 ? 0.06 : 0.04;
    EXPECT_NEAR(rate, simulated, close * simulated) << value("leaves") << " " << value("qps");
  }
}

// What `orrery fabric compare` simulates is what a step is given.
TEST(RoutedTree, every_routing_agrees_with_the_simulation) {
  for (const RoutingKind kind : {RoutingKind::adaptive, RoutingKind::fixed, RoutingKind::ecmp}) {
    const EcmpSpread s = ecmp_spread({.routing = kind});
    const double rate = routed_rate(leaf_spine(kind), 31 / 32.0, 0, mean);
    EXPECT_NEAR(rate, s.mean_rate, 0.05 * s.mean_rate) << word_of(kind);
  }
}

TEST(RoutedTree, adaptive_routing_at_full_bisection_is_the_reference) {
  const RoutedTree even(leaf_spine(RoutingKind::adaptive));
  EXPECT_TRUE(even.is_even());
  EXPECT_EQ(even.left_of(1, 1), 1);
  EXPECT_FALSE(RoutedTree(leaf_spine(RoutingKind::ecmp)).is_even());
  RoutedTreeSpec thin = leaf_spine(RoutingKind::adaptive);
  thin.uplinks = 16;
  EXPECT_NEAR(RoutedTree(thin).left_of(1, 0), 0.5, 1e-9) << "2:1 halves what crosses";
  EXPECT_EQ(RoutedTree(thin).left_of(0.4, 0), 1) << "and nothing that the uplinks have room for";
}

// Meta: enhanced ECMP with more queue pairs gains up to 40 % on all-reduce over one hashed queue
// pair; DeepEP: combine keeps 13.6 of 29.9 GB/s without adaptive routing (literature_effects.csv).
TEST(RoutedTree, published_effects_are_inside_the_bounds) {
  const RoutedTree one(leaf_spine(RoutingKind::ecmp));
  const RoutedTree many(leaf_spine(RoutingKind::ecmp, 16));
  EXPECT_LT(many.left_of(1, 0, mean) / one.left_of(1, 0, high), 1.4);
  EXPECT_GT(many.left_of(1, 0, mean) / one.left_of(1, 0, low), 1.4);
  EXPECT_LT(one.left_of(1, 0, low), 13.6 / 29.9);
  EXPECT_GT(one.left_of(1, 0, high), 13.6 / 29.9);
  for (const double c : {0.1, 0.5, 1.0}) {
    EXPECT_LE(one.left_of(c, 0, low), one.left_of(c, 0, mean));
    EXPECT_LE(one.left_of(c, 0, mean), one.left_of(c, 0, high));
  }
}

// Without pauses packets are lost and sent again; without marks a paused link holds victims.
TEST(RoutedTree, a_network_without_control_keeps_less) {
  for (const RoutingKind kind : {RoutingKind::adaptive, RoutingKind::ecmp}) {
    RoutedTreeSpec s = leaf_spine(kind, 4);
    const double whole = RoutedTree(s).left_of(1, 0);
    s.marks = false;
    const double victims = RoutedTree(s).left_of(1, 0);
    s.lossless = false;
    const double resent = RoutedTree(s).left_of(1, 0);
    EXPECT_LT(victims, 0.97 * whole) << word_of(kind);
    EXPECT_LT(resent, 0.97 * whole) << word_of(kind);
  }
}

// Four hosts below a leaf: a ring in order crosses with one message in four, and a job that fits
// below one leaf with none. Anywhere, 124 of 127 other hosts are below other leaves.
TEST(RoutedTree, placement_decides_what_crosses_leaves) {
  const RoutedTree tree(leaf_spine(RoutingKind::ecmp));
  GroupPlace ring{.members = 64};
  EXPECT_DOUBLE_EQ(tree.crossing_leaves(CrossingPattern::ring, ring), 0.25);
  EXPECT_DOUBLE_EQ(tree.crossing_leaves(CrossingPattern::all_pairs, ring), 1 - 3.0 / 63);
  const double in_order = tree.left(CrossingPattern::ring, ring);
  ring.scatter = 1;
  EXPECT_NEAR(tree.crossing_leaves(CrossingPattern::ring, ring), 124.0 / 127, 1e-12);
  EXPECT_LT(tree.left(CrossingPattern::ring, ring), 0.75 * in_order);
  EXPECT_EQ(tree.crossing_leaves(CrossingPattern::ring, {.members = 4}), 0);
  EXPECT_EQ(tree.crossing_leaves(CrossingPattern::shift, {.hosts_apart = 4}), 1);
  EXPECT_GT(tree.crossing_leaves(CrossingPattern::tree, {.members = 64}), 0.25);
}

TEST(RoutedTree, scatter_counts_the_leaves_of_a_job) {
  EXPECT_EQ(scatter_of(2, 8, 4, 128), 0) << "as few leaves as possible";
  EXPECT_EQ(scatter_of(8, 8, 4, 128), 1);
  EXPECT_GT(scatter_of(3, 8, 4, 128), 0);
  EXPECT_LT(scatter_of(3, 8, 4, 128), scatter_of(4, 8, 4, 128));
  EXPECT_EQ(scatter_of(1, 1, 4, 128), 0);
}

// 324 hosts of eight NICs on leaves of 64 ports: eight hosts each. With rails, a set of eight
// leaves has 64 hosts.
TEST(RoutedTree, sizes_come_from_the_topology) {
  const auto built = [](catalog::TopologyKind kind) {
    return tree_spec(*make_topology({.kind = kind, .nodes = 324, .rails = 8, .radix = 128}));
  };
  const auto plain = built(catalog::TopologyKind::fat_tree);
  ASSERT_TRUE(plain);
  EXPECT_NEAR(plain->hosts_per_leaf, 324 / 41.0, 1e-9);
  EXPECT_EQ(plain->uplinks, 64);
  EXPECT_EQ(plain->links_per_core_link, 0);
  const auto rails = built(catalog::TopologyKind::rail_fat_tree);
  ASSERT_TRUE(rails);
  EXPECT_NEAR(rails->hosts_per_leaf, 54, 1e-9);
  EXPECT_FALSE(tree_spec(*make_topology({.nodes = 4, .rails = 8, .radix = 64})))
      << "one switch has no uplinks";
  const auto deep = tree_spec(*make_topology(
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 512, .rails = 8, .radix = 32}));
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->hosts_per_group, 32);
  EXPECT_NEAR(deep->links_per_core_link, 1, 1e-9);
  RoutedTreeSpec hashed = *deep;
  hashed.routing = RoutingKind::ecmp;
  const RoutedTree tree(hashed);
  EXPECT_LT(tree.left_of(1, 1), tree.left_of(1, 0)) << "two more stages of hashing";
}

}  // namespace
}  // namespace orrery::fabric
