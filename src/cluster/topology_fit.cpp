#include "cluster/topology_fit.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace orrery::cluster {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Children follow their parents, so one pass from the back sums every subtree.
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

void fill_leaves(int subtree, int nodes, TopologyScratch& s) {
  s.free_leaves.clear();
  for (int i = 0; i < static_cast<int>(s.switches.size()); ++i) {
    if (s.switches[at(i)].free_nodes > 0 && is_below(s.switches, i, subtree)) {
      s.free_leaves.push_back({.leaf = i, .nodes = s.switches[at(i)].free_nodes});
    }
  }
  s.fit.leaves.clear();
  while (nodes > 0) {
    const std::size_t i = next_leaf(s.free_leaves, nodes);
    const int share = std::min(nodes, s.free_leaves[i].nodes);
    s.fit.leaves.push_back({.leaf = s.free_leaves[i].leaf, .nodes = share});
    nodes -= share;
    s.free_leaves.erase(s.free_leaves.begin() + static_cast<std::ptrdiff_t>(i));
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

int fewest_leaves(int nodes, int nodes_per_leaf) {
  return (nodes + nodes_per_leaf - 1) / nodes_per_leaf;
}

}  // namespace orrery::cluster
