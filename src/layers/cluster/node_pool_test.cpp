#include "layers/cluster/node_pool.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/base/random.h"

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

TEST(NodePool, PacksTightAndSpreadsWide) {
  NodePool pack(std::vector<int>(4, 8));
  take(pack, 1, 5);
  take(pack, 2, 3);
  EXPECT_EQ(nodes_of(pack, {.gpus = 3}), Nodes{1});
  EXPECT_EQ(nodes_of(pack, {.gpus = 4}), Nodes{2});
  EXPECT_EQ(nodes_of(pack, {.gpus = 8}), Nodes{0});
  EXPECT_EQ(nodes_of(pack, {.gpus = 18}), (Nodes{0, 3, 1}));
  EXPECT_EQ(nodes_of(pack, {.gpus = 24}), Nodes{});  // enough GPUs, no third whole node
  EXPECT_EQ(nodes_of(pack, {.gpus = 12, .per_node = 3}), (Nodes{1, 2, 0, 3}));

  NodePool spread(std::vector<int>(4, 8), PlacementRule::spread);
  take(spread, 0, 1);
  EXPECT_EQ(nodes_of(spread, {.gpus = 1}), Nodes{1});
}

TEST(NodePool, NothingHasNoPlace) {
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

TEST(NodePool, AGangLiesBelowTheLowestSwitch) {
  NodePool pool(std::vector<int>(8, 8), PlacementRule::tree, even_tree(8, 4, 2));
  take(pool, 0, 8);
  EXPECT_EQ(nodes_of(pool, {.gpus = 32}), (Nodes{4, 5, 6, 7}));
  EXPECT_EQ(nodes_of(pool, {.gpus = 24}), (Nodes{1, 2, 3}));  // the tighter leaf
  EXPECT_EQ(nodes_of(pool, {.gpus = 40}).size(), 5u);
}

// A node that is away is nobody's, however much of it is free: below a leaf, too.
TEST(NodePool, AGangPassesOverANodeThatIsAway) {
  NodePool pool(std::vector<int>(8, 8), PlacementRule::tree, even_tree(8, 4, 2));
  pool.set_up(1, false);
  EXPECT_EQ(nodes_of(pool, {.gpus = 24, .per_node = 8}), (Nodes{0, 2, 3}));
  EXPECT_EQ(nodes_of(pool, {.gpus = 64, .per_node = 8}), Nodes{});
}

TEST(NodePool, DownNodesAndPartitionsAreLeftOut) {
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

// Whatever is taken and given, the masks name each GPU once and the counts agree with them.
TEST(NodePool, NoGpuIsHandedOutTwice) {
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

// Whatever was taken, given, lost and found again: as many as counting finds.
TEST(NodePool, NodesWithSoManyAreThoseThatCountingFinds) {
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

// A node that is lost takes its free GPUs from the count and brings back what is free of it then.
TEST(NodePool, CountsWhatIsFreeOnNodesThatAreUp) {
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
  pool.set_up(node, false);  // said twice
  EXPECT_EQ(pool.free_gpus(), 8);
  pool.give(where);
  EXPECT_EQ(pool.free_gpus(), 8) << "nobody can use them";
  pool.set_up(node, true);
  EXPECT_EQ(pool.free_gpus(), 16);
  EXPECT_EQ(pool.gpus_up(), 16);
}

}  // namespace
}  // namespace orrery::cluster
