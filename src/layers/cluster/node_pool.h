// What is free on a set of nodes, and where a request would lie on them.
//
// A request is packed on the fewest nodes that hold it: whole nodes first, then one node for the
// rest; or it names how many GPUs it wants on each. Among the nodes that fit:
//   pack    the tightest, so that whole nodes stay whole for gangs (best fit)
//   spread  the emptiest, so that one lost node hurts fewer jobs (worst fit)
//   tree    as pack on one node; a gang goes below the lowest switch that holds it (topology_fit.h)
// Ties go to the lower index, so equal input gives equal placement. A pool of one node counts GPUs
// and nothing else: the plain pool of queueing theory, where any GPUs are as good as any others.
// Nodes are kept in one bitmap for each number of free GPUs: finding a node is a few words' work.
// Wrong where nodes of different sizes share a gang: a whole node is one of the largest size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/words.h"
#include "layers/cluster/topology_fit.h"

namespace orrery::cluster {

struct GpuAsk {
  int gpus = 1;      // in all
  int per_node = 0;  // so many on each node; 0: packed

  bool operator==(const GpuAsk&) const = default;
};

// GPUs of one node; the bits of `mask` name them (0 in a pool of one large node).
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

// Switches above the nodes; empty where no rule asks for them.
struct NodeTree {
  std::vector<TopologySwitch> switches;  // free_nodes is not used here
  std::vector<std::int32_t> leaf_of;     // one a node
};
// Leaves of `per_leaf` nodes below spines of `per_spine` leaves below one core.
NodeTree even_tree(int nodes, int per_leaf, int per_spine);

// One bit a node: those that a partition or a reservation leaves to a job.
using NodeMask = std::vector<std::uint64_t>;

class NodePool {
 public:
  NodePool() : NodePool(std::vector<int>{}) {}
  explicit NodePool(std::vector<int> gpus_on_node, PlacementRule rule = PlacementRule::pack,
                    NodeTree tree = {});

  int nodes() const { return static_cast<int>(total_.size()); }
  int gpus() const { return gpus_; }  // of all nodes, up or down
  int gpus_up() const { return gpus_up_; }
  int free_gpus() const { return free_gpus_; }  // on nodes that are up
  int free_on(int node) const { return free_[at(node)]; }
  int gpus_on(int node) const { return total_[at(node)]; }
  bool is_up(int node) const { return up_[at(node)] != 0; }
  bool is_plain() const { return total_.size() == 1; }
  PlacementRule rule() const { return rule_; }

  // Where the request would lie; false where it does not fit now. `allowed`: none for all nodes.
  bool place(const GpuAsk& ask, const NodeMask* allowed, std::vector<NodeShare>& where) const;
  // Whether it would fit on this pool with nothing running and every node up.
  bool could_ever_fit(const GpuAsk& ask, const NodeMask* allowed) const;
  // Nodes with at least so many GPUs free.
  int nodes_with(int gpus, const NodeMask* allowed) const;

  // Marks the shares as used, and fills in which GPUs they are.
  void take(std::span<NodeShare> shares);
  void give(std::span<const NodeShare> shares);
  // Of a node that is down nothing is free; what runs there is given back by whoever holds it.
  void set_up(int node, bool up);

  // Makes every node's free GPUs the lesser of two pools' that differ in nothing else. `this` may
  // be one of them; masks follow `a`.
  void assign_least(const NodePool& a, const NodePool& b);
  // As take, for a plan of the future: a node that has less than the share is emptied.
  void take_at_most(std::span<const NodeShare> shares);
  // As take_at_most for every node at once: so many are free on each that is up.
  void assign_free(std::span<const int> free);
  // No more free on these nodes than there.
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
  std::vector<std::uint64_t> mask_;  // free GPUs, where a node has 64 at most
  std::vector<std::uint8_t> up_;
  std::vector<std::uint64_t> bits_;  // one bitmap of nodes for each number of free GPUs
  std::size_t words_ = 0;            // of one bitmap
  int most_ = 0;                     // GPUs of the largest node
  int gpus_ = 0;
  int gpus_up_ = 0;
  int free_gpus_ = 0;
  PlacementRule rule_ = PlacementRule::pack;
  std::shared_ptr<const NodeTree> tree_;  // never null; copies of a pool share it
  // Room to think in, which a copy of the pool does not need.
  struct Scratch {
    Scratch() = default;
    Scratch(const Scratch&) {}
    Scratch& operator=(const Scratch&) { return *this; }

    TopologyScratch room;
  };
  mutable Scratch scratch_;
};

}  // namespace orrery::cluster
