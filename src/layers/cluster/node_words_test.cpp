// What a pool keeps of each node: which of its GPUs are whose, nodes beyond the first 64, and the
// pools of a plan that know less than the real one.
#include <gtest/gtest.h>

#include "layers/cluster/node_pool.h"

namespace orrery::cluster {
namespace {

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

TEST(NodeWords, the_lowest_free_gpus_are_taken_and_come_back) {
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

TEST(NodeWords, gpus_are_named_up_to_64_of_a_node) {
  NodePool pool({64, 63});
  EXPECT_EQ(take_there(pool, 0, 64).mask, ~std::uint64_t{0});
  EXPECT_EQ(take_there(pool, 1, 62).mask, (std::uint64_t{1} << 62) - 1);
  EXPECT_EQ(take_there(pool, 1, 1).mask, std::uint64_t{1} << 62);
  NodePool large({65, 8});
  EXPECT_EQ(take_there(large, 1, 2).mask, 0U) << "no names where a node has more";
  EXPECT_EQ(take_there(large, 0, 65).mask, 0U);
  EXPECT_EQ(large.free_gpus(), 6);
}

TEST(NodeWords, a_mask_ends_with_the_gpus_of_its_node) {
  NodePool pool({2, 8});
  NodeShare all = take_there(pool, 0, 2);
  EXPECT_EQ(all.mask, 0b11U);
  pool.give({&all, 1});
  EXPECT_EQ(take_there(pool, 0, 1).mask, 0b01U);
  EXPECT_EQ(take_there(pool, 0, 1).mask, 0b10U);
}

TEST(NodeWords, a_pool_of_nothing_has_nothing) {
  const NodePool none;
  EXPECT_EQ(none.nodes(), 0);
  EXPECT_EQ(none.gpus(), 0);
  EXPECT_EQ(none.gpus_up(), 0);
  EXPECT_EQ(none.free_gpus(), 0);
  EXPECT_EQ(none.rule(), PlacementRule::pack);
  Shares where;
  EXPECT_FALSE(none.place({.gpus = 1}, nullptr, where));
  EXPECT_FALSE(none.is_plain());
}

// 130 nodes: two words and two bits of a third.
TEST(NodeWords, nodes_of_every_word_are_found) {
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

TEST(NodeWords, a_gang_of_many_words_is_gathered_in_order) {
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

TEST(NodeWords, spreading_stops_at_what_is_asked) {
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

TEST(NodeWords, what_a_share_says_of_each_node) {
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

// Seven nodes, three a leaf: leaves of 3, 3 and 1; two leaves a spine.
TEST(NodeWords, an_even_tree_has_its_switches_from_the_root_down) {
  const NodeTree tree = even_tree(7, 3, 2);
  std::vector<int> parents;
  for (const TopologySwitch& s : tree.switches) parents.push_back(s.parent);
  EXPECT_EQ(parents, (Numbers{-1, 0, 0, 1, 1, 2}));
  EXPECT_EQ(tree.leaf_of, (std::vector<std::int32_t>{3, 3, 3, 4, 4, 4, 5}));
  const NodeTree exact = even_tree(6, 3, 2);
  EXPECT_EQ(exact.switches.size(), 4U);
  EXPECT_EQ(exact.leaf_of.back(), 3);
}

TEST(NodeWords, a_tree_counts_only_nodes_with_room_that_are_allowed) {
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

TEST(NodeWords, the_least_of_two_pools) {
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

TEST(NodeWords, a_plan_takes_no_more_than_there_is) {
  NodePool pool({8, 8, 8});
  take_there(pool, 1, 6);
  pool.take_at_most(Shares{{.node = 0, .gpus = 3}, {.node = 1, .gpus = 4}, {.node = 2, .gpus = 8}});
  EXPECT_EQ(free_of_all(pool), (Numbers{5, 0, 0}));
  EXPECT_EQ(pool.free_gpus(), 5);
  EXPECT_EQ(pool.nodes_with(1, nullptr), 1);
}

TEST(NodeWords, a_plan_says_what_is_free_on_each) {
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

TEST(NodeWords, a_plan_is_held_to_what_another_has) {
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

TEST(NodeWords, what_is_taken_on_a_node_that_is_away_is_known_when_it_is_back) {
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

}  // namespace
}  // namespace orrery::cluster
