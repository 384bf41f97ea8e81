// The free GPUs of a set of nodes, and where a request would be placed on them.
//
// A request is packed on the fewest nodes that hold it: whole nodes first, then one node for the
// rest; or it says how many GPUs it wants per node. Among the nodes that fit:
//   pack    the fullest, so that empty nodes stay whole for gangs (best fit)
//   spread  the emptiest, so that one lost node hurts fewer jobs (worst fit)
//   tree    like pack for one node; a gang goes below the lowest switch that holds it
//           (topology_fit.h)
// Ties go to the lower index, so equal input gives equal placement. A pool with a single node only
// counts GPUs: the plain pool of queueing theory, where all GPUs are interchangeable. Nodes are
// kept in one bitmap per number of free GPUs, so finding a node takes a few word operations. Wrong
// if nodes of different sizes share a gang: a "whole node" is one of the largest size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/words.h"
#include "layers/cluster/topology_fit.h"

namespace orrery::cluster {

struct GpuAsk {
  int gpus = 1;      // total
  int per_node = 0;  // GPUs on each node; 0: packed

  bool operator==(const GpuAsk&) const = default;
};

// GPUs on one node; the bits of `mask` name them (0 in a pool with a single large node).
struct NodeShare {
  std::int32_t node = 0;
  std::int32_t gpus = 0;
  std::uint64_t mask = 0;

  bool operator==(const NodeShare&) const = default;
};

enum class PlacementRule { pack, spread, tree };
inline constexpr Word<PlacementRule> kPlacementRuleWords[] = {{PlacementRule::pack, "pack"},
                                                              {PlacementRule::spread, "spread"},
                                                              {PlacementRule::tree, "tree"}};
constexpr WordTable<PlacementRule> words_of(PlacementRule) { return kPlacementRuleWords; }

// The switches above the nodes; empty if no rule needs them.
struct NodeTree {
  std::vector<TopologySwitch> switches;  // free_nodes is not used here
  std::vector<std::int32_t> leaf_of;     // one per node
};
// Makes a tree with `per_leaf` nodes per leaf, `per_spine` leaves per spine, and one core switch.
NodeTree even_tree(int nodes, int per_leaf, int per_spine);

// One bit per node: the nodes that a partition or reservation allows a job to use.
using NodeMask = std::vector<std::uint64_t>;

class NodePool {
 public:
  NodePool() : NodePool(std::vector<int>{}) {}
  explicit NodePool(std::vector<int> gpus_on_node, PlacementRule rule = PlacementRule::pack,
                    NodeTree tree = {});

  int nodes() const { return static_cast<int>(total_.size()); }
  int gpus() const { return gpus_; }  // GPUs on all nodes, up or down
  int gpus_up() const { return gpus_up_; }
  int free_gpus() const { return free_gpus_; }  // free GPUs on nodes that are up
  int free_on(int node) const { return free_[at(node)]; }
  int gpus_on(int node) const { return total_[at(node)]; }
  bool is_up(int node) const { return up_[at(node)] != 0; }
  bool is_plain() const { return total_.size() == 1; }
  PlacementRule rule() const { return rule_; }

  // Finds a placement for the request; returns false if it does not fit now. If `allowed` is null,
  // all nodes may be used.
  bool place(const GpuAsk& ask, const NodeMask* allowed, std::vector<NodeShare>& where) const;
  // Returns true if the request would fit with nothing running and every node up.
  bool could_ever_fit(const GpuAsk& ask, const NodeMask* allowed) const;
  // Returns the number of nodes with at least `gpus` free GPUs.
  int nodes_with(int gpus, const NodeMask* allowed) const;

  // Marks the shares as used and fills in which GPUs they got.
  void take(std::span<NodeShare> shares);
  void give(std::span<const NodeShare> shares);
  // Marks a node as up or down. A node that is down has nothing free; the holders of its GPUs give
  // them back themselves.
  void set_up(int node, bool up);

  // Sets every node's free GPUs to the smaller of two pools' values; the pools must otherwise be
  // equal. `this` may be one of them; masks are copied from `a`.
  void assign_least(const NodePool& a, const NodePool& b);
  // Like take, for a future plan: a node that has less than the share is emptied.
  void take_at_most(std::span<const NodeShare> shares);
  // Sets the number of free GPUs of every node; negative numbers count as 0.
  void assign_free(std::span<const int> free);
  // Limits the free GPUs on these nodes to what `there` has.
  void limit_to(const NodePool& there, std::span<const NodeShare> nodes);

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void set_free(int node, int free);
  void index_node(int node, bool present);
  int tightest(int gpus, const NodeMask* allowed, std::span<const NodeShare> without) const;
  int loosest(int gpus, const NodeMask* allowed) const;
  int first_in(int free, const NodeMask* allowed, std::span<const NodeShare> without) const;
  bool gather(int nodes, int gpus, const NodeMask* allowed, std::vector<NodeShare>& where) const;
  bool gather_in_tree(int nodes, int gpus, const NodeMask* allowed,
                      std::vector<NodeShare>& where) const;

  std::vector<std::int32_t> total_;
  std::vector<std::int32_t> free_;
  std::vector<std::uint64_t> mask_;  // free GPUs, if nodes have at most 64
  std::vector<std::uint8_t> up_;
  std::vector<std::uint64_t> bits_;  // one bitmap of nodes per number of free GPUs
  std::size_t words_ = 0;            // words per bitmap
  int most_ = 0;                     // GPUs of the largest node
  int gpus_ = 0;
  int gpus_up_ = 0;
  int free_gpus_ = 0;
  PlacementRule rule_ = PlacementRule::pack;
  std::shared_ptr<const NodeTree> tree_;  // never null; copies of a pool share it
  // Working memory, which is not copied with the pool.
  struct Scratch {
    Scratch() = default;
    Scratch(const Scratch&) {}
    Scratch& operator=(const Scratch&) { return *this; }

    TopologyScratch room;
  };
  mutable Scratch scratch_;
};

}  // namespace orrery::cluster
