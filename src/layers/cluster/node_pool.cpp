#include "layers/cluster/node_pool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace orrery::cluster {
namespace {

constexpr int kMaskBits = 64;

bool holds_node(std::span<const NodeShare> shares, int node) {
  return std::ranges::any_of(shares, [node](const NodeShare& s) { return s.node == node; });
}

std::uint64_t low_bits(int count) {
  return count >= kMaskBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Returns the lowest `count` set bits of `mask`.
std::uint64_t lowest_set(std::uint64_t mask, int count) {
  std::uint64_t taken = 0;
  for (; count > 0 && mask != 0; --count) {
    const std::uint64_t bit = mask & (~mask + 1);
    taken |= bit;
    mask ^= bit;
  }
  return taken;
}

bool is_allowed(const NodeMask* allowed, std::size_t node) {
  return allowed == nullptr || ((*allowed)[node / 64] >> (node % 64) & 1) != 0;
}

}  // namespace

NodeTree even_tree(int nodes, int per_leaf, int per_spine) {
  NodeTree tree;
  const int leaves = (nodes + per_leaf - 1) / per_leaf;
  const int spines = (leaves + per_spine - 1) / per_spine;
  tree.switches.push_back({.parent = -1});
  for (int s = 0; s < spines; ++s) tree.switches.push_back({.parent = 0});
  for (int l = 0; l < leaves; ++l) tree.switches.push_back({.parent = 1 + l / per_spine});
  for (int n = 0; n < nodes; ++n) tree.leaf_of.push_back(1 + spines + n / per_leaf);
  return tree;
}

NodePool::NodePool(std::vector<int> gpus_on_node, PlacementRule rule, NodeTree tree)
    : total_(gpus_on_node.begin(), gpus_on_node.end()),
      free_(total_),
      up_(total_.size(), 1),
      words_((total_.size() + 63) / 64),
      most_(total_.empty() ? 0 : *std::ranges::max_element(total_)),
      gpus_(std::accumulate(total_.begin(), total_.end(), 0)),
      gpus_up_(gpus_),
      free_gpus_(gpus_),
      rule_(rule),
      tree_(std::make_shared<const NodeTree>(std::move(tree))) {
  if (most_ <= kMaskBits) {
    for (const std::int32_t gpus : total_) mask_.push_back(low_bits(gpus));
  }
  if (is_plain()) return;
  bits_.assign(words_ * at(most_ + 1), 0);
  for (int node = 0; node < nodes(); ++node) index_node(node, true);
}

void NodePool::index_node(int node, bool present) {
  if (bits_.empty()) return;
  std::uint64_t& word = bits_[at(free_[at(node)]) * words_ + at(node) / 64];
  const std::uint64_t bit = std::uint64_t{1} << (at(node) % 64);
  word = present ? word | bit : word & ~bit;
}

void NodePool::set_free(int node, int free) {
  if (!is_up(node)) {
    free_[at(node)] = free;
    return;
  }
  index_node(node, false);
  free_gpus_ += free - free_[at(node)];
  free_[at(node)] = free;
  index_node(node, true);
}

int NodePool::first_in(int free, const NodeMask* allowed,
                       std::span<const NodeShare> without) const {
  const std::uint64_t* words = &bits_[at(free) * words_];
  for (std::size_t w = 0; w < words_; ++w) {
    std::uint64_t word = allowed == nullptr ? words[w] : words[w] & (*allowed)[w];
    for (; word != 0; word &= word - 1) {
      const int node = static_cast<int>(w * 64) + std::countr_zero(word);
      if (without.empty() || !holds_node(without, node)) return node;
    }
  }
  return -1;
}

int NodePool::tightest(int gpus, const NodeMask* allowed,
                       std::span<const NodeShare> without) const {
  for (int free = gpus; free <= most_; ++free) {
    const int node = first_in(free, allowed, without);
    if (node >= 0) return node;
  }
  return -1;
}

int NodePool::loosest(int gpus, const NodeMask* allowed) const {
  for (int free = most_; free >= std::max(gpus, 1); --free) {
    const int node = first_in(free, allowed, {});
    if (node >= 0) return node;
  }
  return -1;
}

int NodePool::nodes_with(int gpus, const NodeMask* allowed) const {
  if (is_plain()) return is_up(0) && free_[0] >= gpus ? 1 : 0;
  int count = 0;
  for (int free = gpus; free <= most_; ++free) {
    const std::uint64_t* words = &bits_[at(free) * words_];
    for (std::size_t w = 0; w < words_; ++w) {
      count += std::popcount(allowed == nullptr ? words[w] : words[w] & (*allowed)[w]);
    }
  }
  return count;
}

bool NodePool::gather_in_tree(int nodes, int gpus, const NodeMask* allowed,
                              std::vector<NodeShare>& where) const {
  TopologyScratch& scratch = scratch_.room;
  scratch.switches.assign(tree_->switches.begin(), tree_->switches.end());
  for (TopologySwitch& s : scratch.switches) s.free_nodes = 0;
  const auto each_fitting = [&](auto&& use) {
    for (std::size_t n = 0; n < total_.size(); ++n) {
      if (up_[n] != 0 && free_[n] >= gpus && is_allowed(allowed, n)) use(n);
    }
  };
  each_fitting([&](std::size_t n) { ++scratch.switches[at(tree_->leaf_of[n])].free_nodes; });
  if (!fit_topology(nodes, scratch)) return false;
  scratch.left.assign(tree_->switches.size(), 0);
  for (const LeafShare& leaf : scratch.fit.leaves) scratch.left[at(leaf.leaf)] = leaf.nodes;
  each_fitting([&](std::size_t n) {
    int& left = scratch.left[at(tree_->leaf_of[n])];
    if (left == 0) return;
    --left;
    where.push_back({.node = static_cast<std::int32_t>(n), .gpus = gpus});
  });
  return true;
}

bool NodePool::gather(int nodes, int gpus, const NodeMask* allowed,
                      std::vector<NodeShare>& where) const {
  if (rule_ == PlacementRule::tree && !tree_->switches.empty()) {
    return gather_in_tree(nodes, gpus, allowed, where);
  }
  const bool is_spread = rule_ == PlacementRule::spread;
  for (int step = gpus; step <= most_ && nodes > 0; ++step) {
    const int free = is_spread ? most_ - (step - gpus) : step;
    const std::uint64_t* words = &bits_[at(free) * words_];
    for (std::size_t w = 0; w < words_ && nodes > 0; ++w) {
      std::uint64_t word = allowed == nullptr ? words[w] : words[w] & (*allowed)[w];
      for (; word != 0 && nodes > 0; word &= word - 1, --nodes) {
        const int node = static_cast<int>(w * 64) + std::countr_zero(word);
        where.push_back({.node = node, .gpus = gpus});
      }
    }
  }
  return nodes == 0;
}

bool NodePool::place(const GpuAsk& ask, const NodeMask* allowed,
                     std::vector<NodeShare>& where) const {
  where.clear();
  if (ask.gpus > free_gpus_ || ask.gpus <= 0) return false;
  if (is_plain()) {
    where.push_back({.node = 0, .gpus = ask.gpus});
    return true;
  }
  if (ask.per_node > 0) {
    return ask.gpus % ask.per_node == 0 && ask.per_node <= most_ &&
           gather(ask.gpus / ask.per_node, ask.per_node, allowed, where);
  }
  if (ask.gpus <= most_) {
    const int node = rule_ == PlacementRule::spread ? loosest(ask.gpus, allowed)
                                                    : tightest(ask.gpus, allowed, {});
    if (node >= 0) where.push_back({.node = node, .gpus = ask.gpus});
    return node >= 0;
  }
  if (!gather(ask.gpus / most_, most_, allowed, where)) return false;
  const int rest = ask.gpus % most_;
  if (rest == 0) return true;
  const int node = tightest(rest, allowed, where);
  if (node >= 0) where.push_back({.node = node, .gpus = rest});
  return node >= 0;
}

bool NodePool::could_ever_fit(const GpuAsk& ask, const NodeMask* allowed) const {
  if (ask.gpus <= 0) return false;
  if (is_plain()) return ask.gpus <= total_[0];
  if (ask.per_node > 0 && ask.gpus % ask.per_node != 0) return false;
  const int single = ask.per_node > 0 ? ask.per_node : std::min(ask.gpus, most_);
  const int rest = ask.per_node > 0 ? 0 : ask.gpus % single;
  int fitting = 0;
  int for_rest = 0;
  for (std::size_t n = 0; n < total_.size(); ++n) {
    if (!is_allowed(allowed, n)) continue;
    if (total_[n] >= single) ++fitting;
    if (total_[n] >= rest) ++for_rest;
  }
  const int whole = ask.gpus / single;
  return fitting >= whole && for_rest >= whole + (rest > 0 ? 1 : 0);
}

void NodePool::take(std::span<NodeShare> shares) {
  for (NodeShare& share : shares) {
    assert(free_[at(share.node)] >= share.gpus);
    if (!mask_.empty()) {
      share.mask = lowest_set(mask_[at(share.node)], share.gpus);
      mask_[at(share.node)] &= ~share.mask;
    }
    set_free(share.node, free_[at(share.node)] - share.gpus);
  }
}

void NodePool::give(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) {
    assert(free_[at(share.node)] + share.gpus <= total_[at(share.node)]);
    if (!mask_.empty()) mask_[at(share.node)] |= share.mask;
    set_free(share.node, free_[at(share.node)] + share.gpus);
  }
}

void NodePool::set_up(int node, bool up) {
  if (is_up(node) == up) return;
  const int free = free_[at(node)];
  if (up) {
    up_[at(node)] = 1;
    index_node(node, true);
  } else {
    index_node(node, false);
    up_[at(node)] = 0;
  }
  free_gpus_ += up ? free : -free;
  gpus_up_ += up ? total_[at(node)] : -total_[at(node)];
}

void NodePool::assign_least(const NodePool& a, const NodePool& b) {
  if (this != &a) *this = a;
  for (int node = 0; node < nodes(); ++node) {
    const int free = std::min(a.free_on(node), b.free_on(node));
    if (free != free_[at(node)]) set_free(node, free);
  }
}

void NodePool::take_at_most(std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) {
    set_free(share.node, std::max(0, free_[at(share.node)] - share.gpus));
  }
}

void NodePool::assign_free(std::span<const int> free) {
  for (int node = 0; node < nodes(); ++node) {
    const int wanted = std::max(0, free[at(node)]);
    if (wanted != free_[at(node)]) set_free(node, wanted);
  }
}

void NodePool::limit_to(const NodePool& there, std::span<const NodeShare> nodes) {
  for (const NodeShare& share : nodes) {
    set_free(share.node, std::min(free_[at(share.node)], there.free_on(share.node)));
  }
}

}  // namespace orrery::cluster
