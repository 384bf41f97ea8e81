#include "layers/cluster/node_pool.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/base/random.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/mig_pool.h"
#include "layers/cluster/queue.h"
#include "layers/cluster/topology_fit.h"

namespace orrery::cluster {
namespace {

std::vector<int> nodes_of(const NodePool& pool, const GpuAsk& ask) {
  std::vector<NodeShare> where;
  std::vector<int> nodes;
  if (pool.place(ask, nullptr, where)) {
    for (const NodeShare& s : where) nodes.push_back(s.node);
  }
  return nodes;
}

void take(NodePool& pool, int node, int gpus) {
  NodeShare share{.node = node, .gpus = gpus};
  pool.take({&share, 1});
}

using Nodes = std::vector<int>;

TEST(NodePool, packs_tight_and_spreads_wide) {
  NodePool pack(std::vector<int>(4, 8));
  take(pack, 1, 5);
  take(pack, 2, 3);
  EXPECT_EQ(nodes_of(pack, {.gpus = 3}), Nodes{1});
  EXPECT_EQ(nodes_of(pack, {.gpus = 4}), Nodes{2});
  EXPECT_EQ(nodes_of(pack, {.gpus = 8}), Nodes{0});
  EXPECT_EQ(nodes_of(pack, {.gpus = 18}), (Nodes{0, 3, 1}));
  EXPECT_EQ(nodes_of(pack, {.gpus = 24}), Nodes{});  // enough GPUs, but no third whole node
  EXPECT_EQ(nodes_of(pack, {.gpus = 12, .per_node = 3}), (Nodes{1, 2, 0, 3}));

  NodePool spread(std::vector<int>(4, 8), PlacementRule::spread);
  take(spread, 0, 1);
  EXPECT_EQ(nodes_of(spread, {.gpus = 1}), Nodes{1});
}

TEST(NodePool, nothing_has_no_place) {
  for (const NodePool& pool : {NodePool({8}), NodePool(std::vector<int>(4, 8))}) {
    std::vector<NodeShare> where;
    EXPECT_FALSE(pool.place({.gpus = 0}, nullptr, where));
    EXPECT_FALSE(pool.place({.gpus = -1}, nullptr, where));
    EXPECT_FALSE(pool.place({.gpus = 0, .per_node = 2}, nullptr, where));
    EXPECT_TRUE(where.empty());
    EXPECT_TRUE(pool.place({.gpus = pool.gpus()}, nullptr, where));
    EXPECT_FALSE(pool.place({.gpus = pool.gpus() + 1}, nullptr, where));
  }
}

TEST(NodePool, gang_is_placed_below_the_lowest_switch) {
  NodePool pool(std::vector<int>(8, 8), PlacementRule::tree, even_tree(8, 4, 2));
  take(pool, 0, 8);
  EXPECT_EQ(nodes_of(pool, {.gpus = 32}), (Nodes{4, 5, 6, 7}));
  EXPECT_EQ(nodes_of(pool, {.gpus = 24}), (Nodes{1, 2, 3}));  // the leaf with the least room
  EXPECT_EQ(nodes_of(pool, {.gpus = 40}).size(), 5u);
}

// A gang never uses a node that is down, however much of it is free, also below a leaf.
TEST(NodePool, gang_skips_a_down_node) {
  NodePool pool(std::vector<int>(8, 8), PlacementRule::tree, even_tree(8, 4, 2));
  pool.set_up(1, false);
  EXPECT_EQ(nodes_of(pool, {.gpus = 24, .per_node = 8}), (Nodes{0, 2, 3}));
  EXPECT_EQ(nodes_of(pool, {.gpus = 64, .per_node = 8}), Nodes{});
}

TEST(NodePool, down_nodes_and_partitions_are_left_out) {
  NodePool pool(std::vector<int>(4, 8));
  pool.set_up(0, false);
  EXPECT_EQ(pool.free_gpus(), 24);
  EXPECT_EQ(nodes_of(pool, {.gpus = 8}), Nodes{1});
  const NodeMask last{0b1000};
  std::vector<NodeShare> where;
  EXPECT_TRUE(pool.place({.gpus = 8}, &last, where));
  EXPECT_EQ(where[0].node, 3);
  EXPECT_FALSE(pool.place({.gpus = 16}, &last, where));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 32}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 16}, &last));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 9, .per_node = 9}, nullptr));
  pool.set_up(0, true);
  EXPECT_EQ(pool.free_gpus(), 32);
}

// Whatever is taken and given back, the masks name each GPU once and agree with the counts.
TEST(NodePool, no_gpu_is_handed_out_twice) {
  RandomStream random(7, "test/pool");
  for (const auto rule : {PlacementRule::pack, PlacementRule::spread, PlacementRule::tree}) {
    NodePool pool(std::vector<int>(12, 8), rule, even_tree(12, 3, 2));
    std::vector<std::uint64_t> used(12, 0);
    std::vector<std::vector<NodeShare>> held;
    for (int step = 0; step < 4000; ++step) {
      std::vector<NodeShare> where;
      const GpuAsk ask{.gpus = 1 + static_cast<int>(random.below(random.below(4) == 0 ? 40 : 8))};
      if (random.below(3) != 0 && pool.place(ask, nullptr, where)) {
        pool.take(where);
        int sum = 0;
        for (const NodeShare& s : where) {
          EXPECT_EQ(std::popcount(s.mask), s.gpus);
          EXPECT_EQ(used[static_cast<std::size_t>(s.node)] & s.mask, 0u);
          used[static_cast<std::size_t>(s.node)] |= s.mask;
          sum += s.gpus;
        }
        EXPECT_EQ(sum, ask.gpus);
        held.push_back(where);
      } else if (!held.empty()) {
        const auto i = random.below(held.size());
        for (const NodeShare& s : held[i]) used[static_cast<std::size_t>(s.node)] &= ~s.mask;
        pool.give(held[i]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      }
      int free = 0;
      for (const std::uint64_t mask : used) free += 8 - std::popcount(mask);
      ASSERT_EQ(pool.free_gpus(), free);
    }
  }
}

// Whatever was taken, given back, lost and repaired, the result equals counting.
TEST(NodePool, nodes_with_free_gpus_match_a_count) {
  RandomStream random(3, "test/nodes-with");
  NodePool pool({8, 8, 4, 8, 2, 8});
  std::vector<std::vector<NodeShare>> held;
  for (int round = 0; round < 300; ++round) {
    std::vector<NodeShare> where;
    const int node = static_cast<int>(random.below(6));
    switch (random.below(4)) {
      case 0:
        pool.set_up(node, !pool.is_up(node));
        break;
      case 1:
        if (!held.empty()) {
          pool.give(held.back());
          held.pop_back();
        }
        break;
      default:
        if (pool.place({.gpus = 1 + static_cast<int>(random.below(9))}, nullptr, where)) {
          pool.take(where);
          held.push_back(where);
        }
    }
    const NodeMask some{0b101101};
    for (int gpus = 1; gpus <= 8; ++gpus) {
      int all = 0, allowed = 0;
      for (int n = 0; n < 6; ++n) {
        const bool fits = pool.is_up(n) && pool.free_on(n) >= gpus;
        all += fits;
        allowed += fits && (some[0] >> n & 1) != 0;
      }
      ASSERT_EQ(pool.nodes_with(gpus, nullptr), all) << gpus;
      ASSERT_EQ(pool.nodes_with(gpus, &some), allowed) << gpus;
    }
  }
  NodePool plain({8});
  EXPECT_EQ(plain.nodes_with(8, nullptr), 1);
  EXPECT_EQ(plain.nodes_with(9, nullptr), 0);
  plain.set_up(0, false);
  EXPECT_EQ(plain.nodes_with(1, nullptr), 0);
}

// A lost node removes its free GPUs from the count, and brings back what is free on it when it
// returns.
TEST(NodePool, counts_what_is_free_on_nodes_that_are_up) {
  NodePool pool({8, 8});
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 3}, nullptr, where));
  pool.take(where);
  const int node = where[0].node;
  EXPECT_EQ(pool.free_gpus(), 13);
  pool.set_up(node, false);
  EXPECT_EQ(pool.free_gpus(), 8);
  EXPECT_EQ(pool.gpus_up(), 8);
  EXPECT_EQ(pool.gpus(), 16);
  pool.set_up(node, false);  // repeated on purpose
  EXPECT_EQ(pool.free_gpus(), 8);
  pool.give(where);
  EXPECT_EQ(pool.free_gpus(), 8) << "they cannot be used";
  pool.set_up(node, true);
  EXPECT_EQ(pool.free_gpus(), 16);
  EXPECT_EQ(pool.gpus_up(), 16);
}

std::vector<int> nodes_of(const std::vector<NodeShare>& where) {
  std::vector<int> nodes;
  for (const NodeShare& s : where) nodes.push_back(s.node);
  return nodes;
}

void use_some(NodePool& pool, int node, int gpus) {
  std::vector<NodeShare> shares{{.node = node, .gpus = gpus}};
  pool.take(shares);
}

TEST(NodePool, remainder_of_a_gang_may_use_the_first_node) {
  NodePool pool({8, 8, 8});
  use_some(pool, 0, 6);
  use_some(pool, 2, 1);
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 10}, nullptr, where));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 1, .gpus = 8}, {.node = 0, .gpus = 2}}));
  ASSERT_TRUE(pool.place({.gpus = 11}, nullptr, where));
  EXPECT_EQ(where, (std::vector<NodeShare>{{.node = 1, .gpus = 8}, {.node = 2, .gpus = 3}}));
  EXPECT_FALSE(pool.place({.gpus = 16}, nullptr, where)) << "no second whole node";
}

TEST(NodePool, spread_gang_takes_the_emptiest_nodes) {
  NodePool pool({8, 8, 8, 8, 8}, PlacementRule::spread);
  use_some(pool, 0, 4);
  use_some(pool, 1, 3);
  use_some(pool, 3, 1);
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 16, .per_node = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2, 4, 3, 1}));
  ASSERT_TRUE(pool.place({.gpus = 20, .per_node = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2, 4, 3, 1, 0}));
  EXPECT_FALSE(pool.place({.gpus = 24, .per_node = 4}, nullptr, where));
  ASSERT_TRUE(pool.place({.gpus = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2}));
  NodePool packed({8, 8, 8, 8, 8});
  use_some(packed, 0, 4);
  use_some(packed, 1, 3);
  use_some(packed, 3, 1);
  ASSERT_TRUE(packed.place({.gpus = 12, .per_node = 4}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{0, 1, 3}));
}

// Leaves of two nodes, spines of two leaves. Node 0 is in use: two whole nodes are below the next
// leaf, three below the next spine.
TEST(NodePool, tree_gang_is_placed_below_the_lowest_switch) {
  NodePool pool(std::vector<int>(8, 8), PlacementRule::tree, even_tree(8, 2, 2));
  use_some(pool, 0, 1);
  std::vector<NodeShare> where;
  ASSERT_TRUE(pool.place({.gpus = 16}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{2, 3}));
  ASSERT_TRUE(pool.place({.gpus = 24}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{1, 2, 3}));
  ASSERT_TRUE(pool.place({.gpus = 32}, nullptr, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_FALSE(pool.place({.gpus = 64}, nullptr, where));
  const NodeMask odd{0b10101010};
  ASSERT_TRUE(pool.place({.gpus = 10, .per_node = 5}, &odd, where));
  EXPECT_EQ(nodes_of(where), (std::vector<int>{1, 3}));
}

TEST(NodePool, could_ever_fit_ignores_current_use) {
  const NodePool pool({8, 4, 8});
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 0}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = -1}, nullptr));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 20}, nullptr));  // two whole nodes and the one of four
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 21}, nullptr));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 12, .per_node = 4}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 16, .per_node = 4}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 10, .per_node = 4}, nullptr));
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 16, .per_node = 8}, nullptr));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 15, .per_node = 5}, nullptr));
  const NodePool plain({8});
  EXPECT_TRUE(plain.could_ever_fit({.gpus = 8}, nullptr));
  EXPECT_FALSE(plain.could_ever_fit({.gpus = 9}, nullptr));
  EXPECT_FALSE(plain.could_ever_fit({.gpus = 0}, nullptr));
  std::vector<NodeShare> where;
  EXPECT_FALSE(pool.place({.gpus = 0}, nullptr, where));
}

using Shares = std::vector<NodeShare>;

NodeShare take_there(NodePool& pool, int node, int gpus) {
  NodeShare share{.node = node, .gpus = gpus};
  pool.take({&share, 1});
  return share;
}

std::vector<int> places_of(const NodePool& pool, const GpuAsk& ask,
                           const NodeMask* allowed = nullptr) {
  Shares where;
  if (!pool.place(ask, allowed, where)) return {};
  std::vector<int> nodes;
  for (const NodeShare& s : where) nodes.push_back(s.node);
  return nodes;
}

std::vector<int> free_of_all(const NodePool& pool) {
  std::vector<int> free;
  for (int n = 0; n < pool.nodes(); ++n) free.push_back(pool.free_on(n));
  return free;
}

using Numbers = std::vector<int>;

TEST(NodePool, lowest_free_gpus_are_taken_and_returned) {
  NodePool pool({8, 3});
  const NodeShare first = take_there(pool, 0, 3);
  const NodeShare second = take_there(pool, 0, 2);
  EXPECT_EQ(first.mask, 0b111U);
  EXPECT_EQ(second.mask, 0b11000U);
  EXPECT_EQ(take_there(pool, 1, 3).mask, 0b111U);
  pool.give({&first, 1});
  EXPECT_EQ(pool.free_on(0), 6);
  EXPECT_EQ(pool.free_on(1), 0);
  EXPECT_EQ(pool.free_gpus(), 6);
  EXPECT_EQ(take_there(pool, 0, 4).mask, 0b100111U) << "the hole first, then the next";
  EXPECT_EQ(take_there(pool, 0, 2).mask, 0b11000000U);
  EXPECT_EQ(pool.free_on(0), 0);
}

TEST(NodePool, gpus_are_named_up_to_64_per_node) {
  NodePool pool({64, 63});
  EXPECT_EQ(take_there(pool, 0, 64).mask, ~std::uint64_t{0});
  EXPECT_EQ(take_there(pool, 1, 62).mask, (std::uint64_t{1} << 62) - 1);
  EXPECT_EQ(take_there(pool, 1, 1).mask, std::uint64_t{1} << 62);
  NodePool large({65, 8});
  EXPECT_EQ(take_there(large, 1, 2).mask, 0U) << "no names where a node has more";
  EXPECT_EQ(take_there(large, 0, 65).mask, 0U);
  EXPECT_EQ(large.free_gpus(), 6);
}

// 130 nodes: two words and two bits of a third word.
TEST(NodePool, nodes_beyond_64_are_found) {
  NodePool pool(std::vector<int>(130, 4));
  EXPECT_EQ(pool.gpus(), 520);
  EXPECT_EQ(pool.nodes_with(4, nullptr), 130);
  for (int n = 0; n < 129; ++n) take_there(pool, n, 1);
  EXPECT_EQ(places_of(pool, {.gpus = 4}), Numbers{129});
  take_there(pool, 129, 1);
  EXPECT_TRUE(places_of(pool, {.gpus = 4}).empty());
  EXPECT_EQ(places_of(pool, {.gpus = 3}), Numbers{0});
  take_there(pool, 64, 1);
  EXPECT_EQ(places_of(pool, {.gpus = 2}), Numbers{64}) << "the tightest";
  EXPECT_EQ(pool.nodes_with(3, nullptr), 129);
  EXPECT_EQ(pool.nodes_with(2, nullptr), 130);
  const NodeMask some{std::uint64_t{1} << 63, 0b11, 0b10};  // 63, 64, 65 and 129
  EXPECT_EQ(pool.nodes_with(3, &some), 3);
  EXPECT_EQ(pool.nodes_with(2, &some), 4);
  EXPECT_EQ(places_of(pool, {.gpus = 3}, &some), Numbers{63});
  EXPECT_EQ(places_of(pool, {.gpus = 9, .per_node = 3}, &some), (Numbers{63, 65, 129}));
  EXPECT_EQ(places_of(pool, {.gpus = 8, .per_node = 2}, &some), (Numbers{64, 63, 65, 129}));
  EXPECT_TRUE(places_of(pool, {.gpus = 12, .per_node = 3}, &some).empty());
  EXPECT_TRUE(pool.could_ever_fit({.gpus = 16}, &some));
  EXPECT_FALSE(pool.could_ever_fit({.gpus = 17}, &some));
}

TEST(NodePool, gang_across_many_nodes_is_gathered_in_order) {
  NodePool pool(std::vector<int>(130, 4));
  for (int n = 0; n < 126; ++n) take_there(pool, n, 4);
  EXPECT_EQ(places_of(pool, {.gpus = 16}), (Numbers{126, 127, 128, 129}));
  EXPECT_EQ(places_of(pool, {.gpus = 12}), (Numbers{126, 127, 128}));
  EXPECT_TRUE(places_of(pool, {.gpus = 17}).empty());
  NodePool spread(std::vector<int>(130, 4), PlacementRule::spread);
  for (int n = 0; n < 128; ++n) take_there(spread, n, 2);
  EXPECT_EQ(places_of(spread, {.gpus = 3, .per_node = 1}), (Numbers{128, 129, 0}));
  EXPECT_EQ(places_of(spread, {.gpus = 2}), Numbers{128});
  EXPECT_TRUE(places_of(spread, {.gpus = 6, .per_node = 3}).size() == 2);
  EXPECT_TRUE(places_of(spread, {.gpus = 9, .per_node = 3}).empty());
}

TEST(NodePool, spreading_stops_at_the_request) {
  NodePool pool({4, 4, 4}, PlacementRule::spread);
  take_there(pool, 0, 4);
  take_there(pool, 1, 3);
  take_there(pool, 2, 2);
  EXPECT_EQ(places_of(pool, {.gpus = 1}), Numbers{2});
  EXPECT_EQ(places_of(pool, {.gpus = 2}), Numbers{2});
  EXPECT_TRUE(places_of(pool, {.gpus = 3}).empty()) << "three are free, on two nodes";
  EXPECT_EQ(places_of(pool, {.gpus = 2, .per_node = 1}), (Numbers{2, 1}));
  EXPECT_TRUE(places_of(pool, {.gpus = 3, .per_node = 1}).empty());
}

TEST(NodePool, shares_name_nodes_and_gpus) {
  NodePool pool({8, 8, 8});
  Shares where;
  ASSERT_TRUE(pool.place({.gpus = 6, .per_node = 3}, nullptr, where));
  EXPECT_EQ(where, (Shares{{.node = 0, .gpus = 3}, {.node = 1, .gpus = 3}}));
  EXPECT_FALSE(pool.place({.gpus = 7, .per_node = 3}, nullptr, where));
  EXPECT_FALSE(pool.place({.gpus = 9, .per_node = 9}, nullptr, where));
  ASSERT_TRUE(pool.place({.gpus = 8, .per_node = 8}, nullptr, where));
  EXPECT_EQ(where, (Shares{{.node = 0, .gpus = 8}}));
  ASSERT_TRUE(pool.place({.gpus = 19}, nullptr, where));
  EXPECT_EQ(where,
            (Shares{{.node = 0, .gpus = 8}, {.node = 1, .gpus = 8}, {.node = 2, .gpus = 3}}));
  NodePool plain({8});
  ASSERT_TRUE(plain.place({.gpus = 5}, nullptr, where));
  EXPECT_EQ(where, (Shares{{.node = 0, .gpus = 5}}));
}

// Seven nodes, three per leaf: leaves of 3, 3 and 1; two leaves per spine.
TEST(NodePool, even_tree_lists_switches_from_the_root) {
  const NodeTree tree = even_tree(7, 3, 2);
  std::vector<int> parents;
  for (const TopologySwitch& s : tree.switches) parents.push_back(s.parent);
  EXPECT_EQ(parents, (Numbers{-1, 0, 0, 1, 1, 2}));
  EXPECT_EQ(tree.leaf_of, (std::vector<std::int32_t>{3, 3, 3, 4, 4, 4, 5}));
  const NodeTree exact = even_tree(6, 3, 2);
  EXPECT_EQ(exact.switches.size(), 4U);
  EXPECT_EQ(exact.leaf_of.back(), 3);
}

TEST(NodePool, tree_counts_only_allowed_nodes_with_room) {
  NodePool pool(std::vector<int>(6, 4), PlacementRule::tree, even_tree(6, 3, 2));
  take_there(pool, 0, 1);
  EXPECT_EQ(places_of(pool, {.gpus = 9, .per_node = 3}), (Numbers{0, 1, 2})) << "3 are enough";
  EXPECT_EQ(places_of(pool, {.gpus = 12, .per_node = 4}), (Numbers{3, 4, 5}));
  EXPECT_EQ(places_of(pool, {.gpus = 8, .per_node = 4}), (Numbers{1, 2}));
  const NodeMask ends{0b110001};
  EXPECT_EQ(places_of(pool, {.gpus = 6, .per_node = 3}, &ends), (Numbers{4, 5}));
  EXPECT_EQ(places_of(pool, {.gpus = 9, .per_node = 3}, &ends), (Numbers{0, 4, 5}));
  EXPECT_TRUE(places_of(pool, {.gpus = 12, .per_node = 4}, &ends).empty());
  EXPECT_EQ(places_of(pool, {.gpus = 2}), Numbers{0}) << "one node: the tightest";
  NodePool bare(std::vector<int>(3, 4), PlacementRule::tree);
  EXPECT_EQ(places_of(bare, {.gpus = 8}), (Numbers{0, 1})) << "no switches: as packed";
}

TEST(NodePool, least_of_two_pools) {
  NodePool now({8, 8, 8});
  NodePool later = now;
  take_there(now, 0, 5);
  take_there(later, 0, 2);
  take_there(later, 2, 8);
  NodePool both;
  both.assign_least(now, later);
  EXPECT_EQ(free_of_all(both), (Numbers{3, 8, 0}));
  EXPECT_EQ(both.free_gpus(), 11);
  EXPECT_EQ(places_of(both, {.gpus = 3}), Numbers{0});
  EXPECT_EQ(places_of(both, {.gpus = 4}), Numbers{1});
  EXPECT_EQ(free_of_all(now), (Numbers{3, 8, 8})) << "the others stay as they were";
  later.assign_least(later, now);
  EXPECT_EQ(free_of_all(later), (Numbers{3, 8, 0}));
  EXPECT_EQ(later.free_gpus(), 11);
}

TEST(NodePool, take_at_most_stops_at_zero) {
  NodePool pool({8, 8, 8});
  take_there(pool, 1, 6);
  pool.take_at_most(Shares{{.node = 0, .gpus = 3}, {.node = 1, .gpus = 4}, {.node = 2, .gpus = 8}});
  EXPECT_EQ(free_of_all(pool), (Numbers{5, 0, 0}));
  EXPECT_EQ(pool.free_gpus(), 5);
  EXPECT_EQ(pool.nodes_with(1, nullptr), 1);
}

TEST(NodePool, assign_free_sets_free_gpus_per_node) {
  NodePool pool({8, 8, 8, 8});
  pool.set_up(3, false);
  pool.assign_free(std::vector<int>{5, -2, 8, 6});
  EXPECT_EQ(free_of_all(pool), (Numbers{5, 0, 8, 6}));
  EXPECT_EQ(pool.free_gpus(), 13) << "the one that is away does not count";
  EXPECT_EQ(pool.nodes_with(1, nullptr), 2);
  pool.set_up(3, true);
  EXPECT_EQ(pool.free_gpus(), 19);
  EXPECT_EQ(places_of(pool, {.gpus = 6}), Numbers{3});
}

TEST(NodePool, limit_to_caps_free_gpus) {
  NodePool pool({8, 8, 8});
  NodePool there({8, 8, 8});
  take_there(pool, 1, 6);
  take_there(there, 0, 5);
  take_there(there, 1, 1);
  take_there(there, 2, 4);
  pool.limit_to(there, Shares{{.node = 0, .gpus = 1}, {.node = 1, .gpus = 1}});
  EXPECT_EQ(free_of_all(pool), (Numbers{3, 2, 8}));
  EXPECT_EQ(pool.free_gpus(), 13);
}

TEST(NodePool, changes_on_a_down_node_count_when_it_returns) {
  NodePool pool({8, 8});
  pool.set_up(0, false);
  EXPECT_FALSE(pool.is_up(0));
  EXPECT_TRUE(pool.is_up(1));
  pool.limit_to(NodePool({8, 8}), Shares{{.node = 0, .gpus = 1}});
  pool.take_at_most(Shares{{.node = 0, .gpus = 3}});
  EXPECT_EQ(pool.free_on(0), 5);
  EXPECT_EQ(pool.free_gpus(), 8);
  EXPECT_EQ(pool.gpus_up(), 8);
  EXPECT_EQ(places_of(pool, {.gpus = 4}), Numbers{1});
  pool.set_up(0, true);
  EXPECT_EQ(pool.free_gpus(), 13);
  EXPECT_EQ(pool.gpus_up(), 16);
  EXPECT_EQ(places_of(pool, {.gpus = 4}), Numbers{0});
  EXPECT_EQ(pool.gpus_on(0), 8);
}

// Seventy nodes of four: more than the bits of a word.
TEST(NodePool, free_nodes_are_counted_beyond_64) {
  NodePool pool(std::vector<int>(70, 4));
  std::vector<NodeShare> taken{
      {.node = 1, .gpus = 4}, {.node = 66, .gpus = 3}, {.node = 69, .gpus = 1}};
  pool.take(taken);
  EXPECT_EQ(pool.nodes_with(4, nullptr), 67);
  EXPECT_EQ(pool.nodes_with(3, nullptr), 68);
  EXPECT_EQ(pool.nodes_with(2, nullptr), 68);
  EXPECT_EQ(pool.nodes_with(1, nullptr), 69);
  const NodeMask last{0, 0b111100};  // nodes 66 to 69
  EXPECT_EQ(pool.nodes_with(4, &last), 2);
  EXPECT_EQ(pool.nodes_with(3, &last), 3);
  EXPECT_EQ(pool.nodes_with(1, &last), 4);
  pool.set_up(68, false);
  EXPECT_EQ(pool.nodes_with(4, &last), 1);
  NodePool counted({8});
  EXPECT_EQ(counted.nodes_with(8, nullptr), 1);
  EXPECT_EQ(counted.nodes_with(9, nullptr), 0);
  counted.set_up(0, false);
  EXPECT_EQ(counted.nodes_with(1, nullptr), 0);
}

}  // namespace
}  // namespace orrery::cluster
