#include "cluster/topology_fit.h"

#include <algorithm>
#include <cstddef>

namespace orrery::cluster {
namespace {

struct Subtree {
  int free = 0;
  int height = 0;  // 0 for a leaf
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Children follow their parents, so one pass from the back sums every subtree.
std::vector<Subtree> measure(std::span<const TopologySwitch> tree) {
  std::vector<Subtree> subtrees(tree.size());
  for (int i = static_cast<int>(tree.size()) - 1; i >= 0; --i) {
    subtrees[at(i)].free += tree[at(i)].free_nodes;
    const int parent = tree[at(i)].parent;
    if (parent < 0) continue;
    subtrees[at(parent)].free += subtrees[at(i)].free;
    subtrees[at(parent)].height = std::max(subtrees[at(parent)].height, subtrees[at(i)].height + 1);
  }
  return subtrees;
}

bool is_below(std::span<const TopologySwitch> tree, int node, int ancestor) {
  while (node >= 0 && node != ancestor) node = tree[at(node)].parent;
  return node == ancestor;
}

// Whether to fill leaf `a` before `b`: the tightest that holds all that is left, else the fullest.
bool comes_before(const LeafShare& a, const LeafShare& b, int left) {
  const bool a_holds = a.nodes >= left;
  const bool b_holds = b.nodes >= left;
  if (a_holds != b_holds) return a_holds;
  return a_holds ? a.nodes < b.nodes : a.nodes > b.nodes;
}

std::size_t next_leaf(const std::vector<LeafShare>& free, int left) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < free.size(); ++i) {
    if (comes_before(free[i], free[best], left)) best = i;
  }
  return best;
}

std::vector<LeafShare> fill_leaves(std::span<const TopologySwitch> tree, int subtree, int nodes) {
  std::vector<LeafShare> free;
  for (int i = 0; i < static_cast<int>(tree.size()); ++i) {
    if (tree[at(i)].free_nodes > 0 && is_below(tree, i, subtree)) {
      free.push_back({.leaf = i, .nodes = tree[at(i)].free_nodes});
    }
  }
  std::vector<LeafShare> taken;
  while (nodes > 0) {
    const std::size_t i = next_leaf(free, nodes);
    const int share = std::min(nodes, free[i].nodes);
    taken.push_back({.leaf = free[i].leaf, .nodes = share});
    nodes -= share;
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return taken;
}

}  // namespace

std::optional<TopologyFit> fit_topology(std::span<const TopologySwitch> tree, int nodes) {
  const std::vector<Subtree> subtrees = measure(tree);
  int best = -1;
  for (int i = 0; i < static_cast<int>(tree.size()); ++i) {
    const Subtree& s = subtrees[at(i)];
    if (s.free < nodes) continue;
    const bool better = best < 0 || s.height < subtrees[at(best)].height ||
                        (s.height == subtrees[at(best)].height && s.free < subtrees[at(best)].free);
    if (better) best = i;
  }
  if (best < 0 || nodes <= 0) return std::nullopt;
  return TopologyFit{.subtree = best,
                     .levels = subtrees[at(best)].height,
                     .left_over = subtrees[at(best)].free - nodes,
                     .leaves = fill_leaves(tree, best, nodes)};
}

int fewest_leaves(int nodes, int nodes_per_leaf) {
  return (nodes + nodes_per_leaf - 1) / nodes_per_leaf;
}

}  // namespace orrery::cluster
