// Where to place a gang on the fabric: under the lowest switch under which it fits.
//
// Rule (Slurm's topology/tree best fit): among the switches with enough free nodes, take the lowest
// level; among those, the one with the least left over; below it, fill the fewest leaves. Filling
// the fewest leaves is greedy: if one leaf holds all the rest, take the one with the least left
// over, otherwise the fullest free leaf. Ties go to the lower id, so equal input gives equal
// placement. The caller keeps the scratch memory, so that a placement during a run allocates
// nothing.
#pragma once

#include <vector>

namespace orrery::cluster {

// A switch; leaves have nodes. Parents come before their children; the root's parent is -1.
struct TopologySwitch {
  int parent = -1;
  int free_nodes = 0;  // free nodes of a leaf; 0 for switches above
};

struct LeafShare {
  int leaf = 0;
  int nodes = 0;

  bool operator==(const LeafShare&) const = default;
};

struct TopologyFit {
  int subtree = 0;    // the switch under which all nodes are
  int levels = 0;     // levels of switches crossed: 0 within a leaf
  int left_over = 0;  // free nodes of the subtree that remain free
  std::vector<LeafShare> leaves;
};

// `switches` is the input, `fit` the result; the rest is working memory.
struct TopologyScratch {
  std::vector<TopologySwitch> switches;
  TopologyFit fit;
  struct Subtree {
    int free = 0;
    int height = 0;  // 0 for a leaf
  };
  std::vector<Subtree> subtrees;
  std::vector<LeafShare> free_leaves;
  std::vector<LeafShare> sorted_leaves;
  std::vector<int> first_of_size;
  std::vector<int> left;  // owned by the caller
};
// Returns false if the whole tree has too few free nodes; otherwise fills scratch.fit.
bool fit_topology(int nodes, TopologyScratch& scratch);

}  // namespace orrery::cluster
