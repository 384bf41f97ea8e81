// Where a gang lies on the fabric: the lowest switch under which it fits.
//
// Rule (Slurm's topology/tree best fit): among the switches whose free nodes suffice take the
// lowest level; among those the one with the least left over; below it fill the fewest leaves.
// Fewest leaves is greedy: first one leaf that holds all the rest with least left over, else the
// fullest free leaf. Ties go to the lower id, so equal input gives equal placement.
// The caller keeps the scratch, so that a placement in the middle of a run allocates nothing.
#pragma once

#include <vector>

namespace orrery::cluster {

// A switch; leaves have nodes. Parents come before their children; the root's parent is -1.
struct TopologySwitch {
  int parent = -1;
  int free_nodes = 0;  // of a leaf; 0 above
};

struct LeafShare {
  int leaf = 0;
  int nodes = 0;

  bool operator==(const LeafShare&) const = default;
};

struct TopologyFit {
  int subtree = 0;    // the switch under which all lie
  int levels = 0;     // of switches crossed: 0 within a leaf
  int left_over = 0;  // free nodes of the subtree that stay free
  std::vector<LeafShare> leaves;
};

// `switches` is the question, `fit` the answer; the rest is room to think in.
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
  std::vector<int> left;  // of the caller's
};
// False where the whole tree has too few free nodes; scratch.fit is filled otherwise.
bool fit_topology(int nodes, TopologyScratch& scratch);

}  // namespace orrery::cluster
