#include "layers/cluster/topology_fit.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace orrery::cluster {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Children come after their parents, so one pass from the back sums every subtree.
void measure(TopologyScratch& s) {
  s.subtrees.assign(s.switches.size(), {});
  for (int i = static_cast<int>(s.switches.size()) - 1; i >= 0; --i) {
    TopologyScratch::Subtree& own = s.subtrees[at(i)];
    own.free += s.switches[at(i)].free_nodes;
    const int parent = s.switches[at(i)].parent;
    if (parent < 0) continue;
    s.subtrees[at(parent)].free += own.free;
    s.subtrees[at(parent)].height = std::max(s.subtrees[at(parent)].height, own.height + 1);
  }
}

bool is_below(std::span<const TopologySwitch> tree, int node, int ancestor) {
  while (node >= 0 && node != ancestor) node = tree[at(node)].parent;
  return node == ancestor;
}

// Returns the next leaf to fill from `next` on, where leaves are sorted fullest first (ties by id):
// the fullest, or, once one leaf can hold all that is left, the tightest that does.
std::size_t next_leaf(const std::vector<LeafShare>& free, std::size_t next, int left) {
  if (free[next].nodes < left) return next;
  const auto after =
      std::partition_point(free.begin() + static_cast<std::ptrdiff_t>(next), free.end(),
                           [left](const LeafShare& leaf) { return leaf.nodes >= left; });
  const int tightest = std::prev(after)->nodes;
  const auto first =
      std::partition_point(free.begin() + static_cast<std::ptrdiff_t>(next), after,
                           [tightest](const LeafShare& leaf) { return leaf.nodes > tightest; });
  return static_cast<std::size_t>(first - free.begin());
}

// Sorts fullest first and keeps the order of ties. Leaves have few distinct sizes, so each size is
// one pass.
void sort_fullest_first(TopologyScratch& s) {
  int most = 0;
  for (const LeafShare& leaf : s.free_leaves) most = std::max(most, leaf.nodes);
  s.first_of_size.assign(at(most) + 2, 0);
  for (const LeafShare& leaf : s.free_leaves) ++s.first_of_size[at(most - leaf.nodes) + 1];
  for (std::size_t i = 1; i < s.first_of_size.size(); ++i) {
    s.first_of_size[i] += s.first_of_size[i - 1];
  }
  s.sorted_leaves.resize(s.free_leaves.size());
  for (const LeafShare& leaf : s.free_leaves) {
    s.sorted_leaves[at(s.first_of_size[at(most - leaf.nodes)]++)] = leaf;
  }
}

void fill_leaves(int subtree, int nodes, TopologyScratch& s) {
  s.free_leaves.clear();
  for (int i = 0; i < static_cast<int>(s.switches.size()); ++i) {
    if (s.switches[at(i)].free_nodes > 0 && is_below(s.switches, i, subtree)) {
      s.free_leaves.push_back({.leaf = i, .nodes = s.switches[at(i)].free_nodes});
    }
  }
  s.fit.leaves.clear();
  sort_fullest_first(s);
  for (std::size_t next = 0; nodes > 0; ++next) {
    const LeafShare& leaf = s.sorted_leaves[next_leaf(s.sorted_leaves, next, nodes)];
    const int share = std::min(nodes, leaf.nodes);
    s.fit.leaves.push_back({.leaf = leaf.leaf, .nodes = share});
    nodes -= share;
  }
}

}  // namespace

bool fit_topology(int nodes, TopologyScratch& s) {
  measure(s);
  int best = -1;
  for (int i = 0; i < static_cast<int>(s.switches.size()); ++i) {
    const auto& own = s.subtrees[at(i)];
    if (own.free < nodes) continue;
    const bool better =
        best < 0 || own.height < s.subtrees[at(best)].height ||
        (own.height == s.subtrees[at(best)].height && own.free < s.subtrees[at(best)].free);
    if (better) best = i;
  }
  if (best < 0 || nodes <= 0) return false;
  s.fit.subtree = best;
  s.fit.levels = s.subtrees[at(best)].height;
  s.fit.left_over = s.subtrees[at(best)].free - nodes;
  fill_leaves(best, nodes, s);
  return true;
}

}  // namespace orrery::cluster
