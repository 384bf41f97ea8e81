#include "layers/fabric/routed_tree.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"

namespace orrery::fabric {
namespace {

using catalog::RoutingKind;

// Useful share of an uplink that adaptive switches balance: simulated permutations on 8 to 64
// leaves keep 0.88 to 0.96 at full load (`orrery fabric compare`), research notes say 0.9 to 0.97.
constexpr double kBalanced = 0.9;
// How many times the bytes of a flow on an overloaded link are sent without pauses. Assumption
// within the 1.5 to 3 by which RoCE without PFC is slower in Mittal, SIGCOMM 2018 (IRN); half of
// the excess if marks slow the senders first.
constexpr double kResent = 2;
constexpr double kResentIfMarked = 1.5;
// More queue pairs than this spread no further, and cost time to sum.
constexpr int kMostQueuePairs = 64;
// Steps of the tables, over 0 .. 1 of the messages.
constexpr int kSteps = 32;
constexpr int kStepsOfCores = 16;
constexpr double kSlowTenth = 0.9;

// The distribution of the other queue pairs on a link.
struct Others {
  explicit Others(double mean) {
    const int most = static_cast<int>(mean + 10 * std::sqrt(mean) + 12);
    double p = math::exp(-mean), sum = 0;
    for (int k = 0; k <= most; ++k) {
      sum += p;
      at.push_back(p);
      up_to.push_back(std::min(1.0, sum));
      p *= mean / (k + 1);
    }
  }
  double below(std::size_t k) const { return k < up_to.size() ? up_to[k] : 1; }

  std::vector<double> at;     // P(k)
  std::vector<double> up_to;  // P(<= k)
};

double to_power(double x, int n) {
  double out = 1;
  for (; n > 0; --n) out *= x;
  return out;
}

// The rate of messages by the largest number of others on their path.
struct Spread {
  double mean = 0;
  double slow = 1;  // rate of the slowest tenth
};

struct Load {
  double leaf = 0;  // mean number of other queue pairs on an uplink
  double core = 0;  // and on a link to a core; negative: none is crossed
  int queue_pairs = 1;
  int stages = 2;  // hashed choices per tier: up, and down
};

double rate_with(std::size_t others, int queue_pairs, double resent) {
  const double load = (1 + static_cast<double>(others)) / queue_pairs;
  return load > 1 ? 1 / (load * resent) : 1;
}

// Sums over the largest number of others on a path; `at_most(k)` is the probability of k or fewer.
template <class AtMost>
Spread sum_over(std::size_t most, int queue_pairs, double resent, AtMost at_most) {
  Spread s;
  double before = 0;
  bool found = false;
  for (std::size_t k = 0; k < most; ++k) {
    const double now = k + 1 == most ? 1 : at_most(k);
    s.mean += (now - before) * rate_with(k, queue_pairs, resent);
    if (!found && now >= kSlowTenth) {
      s.slow = rate_with(k, queue_pairs, resent);
      found = true;
    }
    before = now;
  }
  return s;
}

Spread hashed(const Load& load, double resent) {
  const Others leaf(load.leaf);
  const Others core(std::max(0.0, load.core));
  const bool crosses = load.core >= 0;
  return sum_over(std::max(leaf.at.size(), core.at.size()), load.queue_pairs, resent,
                  [&](std::size_t k) {
                    const double way = to_power(leaf.below(k), load.stages);
                    return crosses ? way * to_power(core.below(k), load.stages) : way;
                  });
}

// Without marks a link's flows all wait for the one whose way down is busiest.
Spread hashed_with_victims(const Load& load) {
  const Others leaf(load.leaf);
  const Others core(std::max(0.0, load.core));
  const bool crosses = load.core >= 0;
  return sum_over(std::max(leaf.at.size(), core.at.size()), load.queue_pairs, 1,
                  [&](std::size_t k) {
                    double down = leaf.below(k);
                    if (crosses) down *= to_power(core.below(k), load.stages);
                    double sum = 0, power = down;
                    for (std::size_t b = 0; b <= k && b < leaf.at.size(); ++b) {
                      sum += leaf.at[b] * power;
                      power *= down;
                    }
                    return sum;
                  });
}

double balanced(double load) { return load > kBalanced ? kBalanced / load : 1; }

// Adaptive switches place a flow where the fewest are, so about 2 (1 - balanced) of them share a
// link with one other; these pause others without marks, and resend without pauses.
double balanced_rate(const RoutedTreeSpec& s, double load) {
  const double even = std::min(1.0, 1 / std::max(1.0, load));
  double slowed = 2 * (1 - balanced(load) / even);
  double kept = 0.5;
  if (!s.lossless) {
    kept /= s.marks ? kResentIfMarked : kResent;
  } else if (!s.marks) {
    slowed = std::min(1.0, slowed * (1 + load));
  }
  return even * (1 - slowed * (1 - kept));
}

double reference_rate(double leaves) { return balanced(leaves); }

Spread routed(const RoutedTreeSpec& s, double leaves, double cores, int queue_pairs) {
  const double leaf_load = leaves * s.endpoints_per_leaf / std::max(1.0, s.uplinks);
  const double core_load =
      cores * s.endpoints_per_leaf / std::max(1.0, s.uplinks) * s.links_per_core_link;
  if (s.routing == RoutingKind::adaptive) {
    const double rate = balanced_rate(s, std::max(leaf_load, core_load));
    return {.mean = rate, .slow = rate};
  }
  const bool fixed = s.routing == RoutingKind::fixed;
  const int q = fixed ? 1 : std::clamp(queue_pairs, 1, kMostQueuePairs);
  Load load{.queue_pairs = q, .stages = fixed ? 1 : 2};
  load.leaf = std::max(0.0, leaf_load * q - 1 / std::max(1.0, s.uplinks));
  load.core = cores > 0 ? core_load * q : -1;
  if (!s.lossless) return hashed(load, s.marks ? kResentIfMarked : kResent);
  return s.marks || fixed ? hashed(load, 1) : hashed_with_victims(load);
}

double near_share(double apart, double width) { return std::min(1.0, apart / width); }

// The double binary tree: half of the edges join next members, a quarter members two apart ...
double tree_share(double apart, double members, double width) {
  double sum = 0, share = 0.5, distance = apart;
  for (double reach = 1; reach < members; reach *= 2) {
    sum += share * near_share(distance, width);
    share /= 2;
    distance *= 2;
  }
  return std::min(1.0, sum + 2 * share * near_share(distance, width));
}

double pairs_share(double apart, double members, double width) {
  if (members <= 1) return 0;
  const double here = std::clamp(width / apart, 1.0, members);
  return 1 - (here - 1) / (members - 1);
}

// Returns the share of messages that leave a switch with `width` hosts below it.
double crossing(CrossingPattern pattern, const GroupPlace& p, double width, double hosts) {
  if (width <= 0 || width >= hosts) return 0;
  const double members = std::max(2.0, p.members), apart = std::max(1e-9, p.hosts_apart);
  const double reach = p.job_hosts > 0                     ? p.job_hosts
                       : pattern == CrossingPattern::shift ? hosts
                                                           : members * apart;
  double ordered = 0;
  if (reach > width) {
    switch (pattern) {
      case CrossingPattern::ring:
      case CrossingPattern::shift:
        ordered = near_share(apart, width);
        break;
      case CrossingPattern::tree:
        ordered = tree_share(apart, members, width);
        break;
      case CrossingPattern::all_pairs:
        ordered = pairs_share(apart, members, width);
        break;
    }
  }
  const double anywhere = hosts > 1 ? std::clamp(1 - (width - 1) / (hosts - 1), 0.0, 1.0) : ordered;
  return ordered + std::clamp(p.scatter, 0.0, 1.0) * std::max(0.0, anywhere - ordered);
}

double hosts_of(const Topology& t, const SwitchGroup& g) {
  double nodes = 0;
  for (const LeafUnit& u : g.units) nodes += u.nodes;
  return t.spec.kind == catalog::TopologyKind::fat_tree ? nodes / std::max(1, t.spec.rails) : nodes;
}

}  // namespace

std::optional<RoutedTreeSpec> tree_spec(const Topology& t, LinksUp up) {
  if (t.groups.empty() || t.leaf_uplinks == 0 || t.leaves == 0) return std::nullopt;
  const SwitchGroup& g = t.groups.front();
  RoutedTreeSpec s;
  s.endpoints_per_leaf = static_cast<double>(t.endpoints) / static_cast<double>(t.leaves);
  s.uplinks = t.leaf_uplinks * up.uplinks;
  s.hosts = t.spec.nodes;
  const double below = hosts_of(t, g);
  s.hosts_per_leaf = below / static_cast<double>(std::max<std::size_t>(1, g.units.size()));
  if (t.tiers > 2 && t.spine_core_links > 0) {
    s.hosts_per_group = below;
    s.links_per_core_link = static_cast<double>(t.leaf_spine_links) /
                            static_cast<double>(t.spine_core_links) * up.uplinks /
                            std::max(1e-9, up.core_links);
  }
  return s;
}

double routed_rate(const RoutedTreeSpec& s, double leaves, double cores, ShareBound bound) {
  if (leaves <= 0) return 1;
  if (s.uplinks < 1e-9) return 0;
  const int q = std::max(1, s.queue_pairs);
  const Spread mean = routed(s, leaves, cores, bound == ShareBound::high ? 2 * q : q);
  return bound == ShareBound::low ? std::min(mean.mean, mean.slow) : mean.mean;
}

RoutedTree::RoutedTree(const RoutedTreeSpec& spec) : spec_(spec) {
  const int cores = spec.links_per_core_link > 0 ? kStepsOfCores : 0;
  for (const ShareBound bound : {ShareBound::mean, ShareBound::low, ShareBound::high}) {
    Table t;
    for (int i = 0; i <= kSteps; ++i) {
      const double leaves = static_cast<double>(i) / kSteps;
      for (int j = 0; j <= cores; ++j) {
        const double over = cores > 0 ? static_cast<double>(j) / cores : 0;
        const double rate = routed_rate(spec, leaves, std::min(over, leaves), bound);
        t.share.push_back(std::min(1.0, rate / reference_rate(leaves)));
        even_ = even_ && t.share.back() >= 1;
      }
    }
    tables_.push_back(std::move(t));
  }
}

double RoutedTree::left_of(double leaves, double cores, ShareBound bound) const {
  const std::vector<double>& share = table(bound).share;
  const double x = std::clamp(leaves, 0.0, 1.0) * kSteps;
  const int i = std::min(kSteps - 1, static_cast<int>(x));
  const double dx = x - i;
  if (spec_.links_per_core_link <= 0) {
    const auto at = static_cast<std::size_t>(i);
    return share[at] + dx * (share[at + 1] - share[at]);
  }
  const double y = std::clamp(cores, 0.0, 1.0) * kStepsOfCores;
  const int j = std::min(kStepsOfCores - 1, static_cast<int>(y));
  const double dy = y - j;
  const auto value = [&](int a, int b) {
    return share[static_cast<std::size_t>(a * (kStepsOfCores + 1) + b)];
  };
  const double low = value(i, j) + dx * (value(i + 1, j) - value(i, j));
  const double high = value(i, j + 1) + dx * (value(i + 1, j + 1) - value(i, j + 1));
  return low + dy * (high - low);
}

double RoutedTree::crossing_leaves(CrossingPattern pattern, const GroupPlace& place) const {
  return crossing(pattern, place, spec_.hosts_per_leaf, spec_.hosts);
}

double RoutedTree::crossing_cores(CrossingPattern pattern, const GroupPlace& place) const {
  return crossing(pattern, place, spec_.hosts_per_group, spec_.hosts);
}

double RoutedTree::left(CrossingPattern pattern, const GroupPlace& place, ShareBound bound) const {
  if (even_) return 1;
  return left_of(crossing_leaves(pattern, place), crossing_cores(pattern, place), bound);
}

double scatter_of(double leaves_used, double job_hosts, double hosts_per_leaf, double hosts) {
  if (job_hosts <= 1 || hosts <= 1 || hosts_per_leaf >= hosts) return 0;
  const double width = std::max(1.0, hosts_per_leaf);
  const double fewest = std::ceil(job_hosts / width);
  const double next = (leaves_used - fewest) / (job_hosts - 1);
  const double anywhere = std::clamp(1 - (width - 1) / (hosts - 1), 0.0, 1.0);
  const double most = anywhere - (fewest - 1) / (job_hosts - 1);
  return most > 0 ? std::clamp(next / most, 0.0, 1.0) : 0;
}

}  // namespace orrery::fabric
