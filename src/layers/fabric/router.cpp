#include "layers/fabric/router.h"

#include <algorithm>
#include <array>
#include <limits>

namespace orrery::fabric {
namespace {

// SplitMix64's finaliser: every input bit affects every output bit.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

constexpr std::int32_t kUnreached = -1;

}  // namespace

Router::Router(const FabricGraph& graph, RoutingOptions options)
    : graph_(graph), options_(options), failed_(graph.links.size(), 0) {
  if (options.kind == catalog::RoutingKind::adaptive) load_.assign(graph.links.size(), 0);
}

void Router::fail_cable(LinkId link) {
  failed_[static_cast<std::size_t>(link)] = 1;
  failed_[static_cast<std::size_t>(FabricGraph::reverse(link))] = 1;
  searched_for_ = -1;
}

void Router::fail_vertex(VertexId switch_id) {
  for (const LinkId l : graph_.out(switch_id)) fail_cable(l);
}

int Router::preferred(const Message& m, int stage, VertexId at, int place, int count) const {
  if (options_.kind == catalog::RoutingKind::fixed) return place % count;
  const std::uint64_t flow = mixed(options_.seed ^
                                   mixed(static_cast<std::uint64_t>(m.source) << 32 |
                                         static_cast<std::uint32_t>(m.destination)) ^
                                   mixed(0x5151u + static_cast<std::uint64_t>(m.queue_pair)));
  // In a polarised network every switch uses the same hash, so the spine's choice follows from the
  // leaf's.
  const std::uint64_t salt =
      options_.polarised
          ? 0
          : mixed(static_cast<std::uint64_t>(stage) << 40 | static_cast<std::uint32_t>(at));
  return static_cast<int>(mixed(flow ^ salt) % static_cast<std::uint64_t>(count));
}

// Finds a link from the spine down to the leaf; parallel cables are tried starting at `prefer`.
bool Router::descend(const TreeLayout& tree, int leaf, int spine, int prefer, LinkId& down) const {
  const TreeLayout::Group& g =
      tree.groups[static_cast<std::size_t>(tree.group_of_leaf[static_cast<std::size_t>(leaf)])];
  const int parallel = tree.uplinks / g.spines;
  for (int i = 0; i < parallel; ++i) {
    const int j = spine + g.spines * ((prefer + i) % parallel);
    down = FabricGraph::reverse(tree.leaf_up(leaf, j));
    if (is_up(down)) return true;
  }
  return false;
}

bool Router::route_in_group(const TreeLayout& tree, const Message& m, std::vector<LinkId>& path) {
  const int a = tree.leaf_of[static_cast<std::size_t>(m.source)];
  const int b = tree.leaf_of[static_cast<std::size_t>(m.destination)];
  const TreeLayout::Group& g =
      tree.groups[static_cast<std::size_t>(tree.group_of_leaf[static_cast<std::size_t>(a)])];
  const int count = tree.uplinks;
  if (g.spines == 0 || count == 0) return false;
  const int place = tree.position_of[static_cast<std::size_t>(m.destination)];
  const int first = preferred(m, 1, a, place, count);
  const bool adaptive = options_.kind == catalog::RoutingKind::adaptive;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  LinkId best_up = -1, best_down = -1;
  for (int i = 0; i < count; ++i) {
    const int j = first + i < count ? first + i : first + i - count;
    const LinkId up = tree.leaf_up(a, j);
    LinkId down;
    if (!is_up(up) || !descend(tree, b, j % g.spines, j / g.spines, down)) continue;
    const std::uint32_t busiest = adaptive ? std::max(load(up), load(down)) : 0;
    if (busiest >= least) continue;
    least = busiest;
    best_up = up;
    best_down = down;
    if (!adaptive || busiest == 0) break;
  }
  if (best_up < 0) return false;
  path.push_back(best_up);
  path.push_back(best_down);
  return true;
}

bool Router::route_over_core(const TreeLayout& tree, const Message& m, std::vector<LinkId>& path) {
  const int a = tree.leaf_of[static_cast<std::size_t>(m.source)];
  const int b = tree.leaf_of[static_cast<std::size_t>(m.destination)];
  const auto group_of = [&](int leaf) -> const TreeLayout::Group& {
    return tree
        .groups[static_cast<std::size_t>(tree.group_of_leaf[static_cast<std::size_t>(leaf)])];
  };
  const TreeLayout::Group &ga = group_of(a), &gb = group_of(b);
  const int place = tree.position_of[static_cast<std::size_t>(m.destination)];
  const int leaf_count = tree.uplinks, spine_count = ga.spine_uplinks;
  if (tree.cores == 0 || spine_count == 0) return false;
  const bool adaptive = options_.kind == catalog::RoutingKind::adaptive;
  const int j0 = preferred(m, 1, a, place, leaf_count);
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  std::array<LinkId, 4> best{-1, -1, -1, -1};
  for (int i = 0; i < leaf_count && least > 0; ++i) {
    const int j = (j0 + i) % leaf_count;
    const LinkId up = tree.leaf_up(a, j);
    if (!is_up(up) || (adaptive && load(up) >= least)) continue;
    const int spine = j % ga.spines;
    const int k0 =
        preferred(m, 2, 1'000'000 + ga.first_spine + spine, place / leaf_count, spine_count);
    for (int k = 0; k < spine_count && least > 0; ++k) {
      const std::int64_t x =
          ga.first_uplink + std::int64_t{spine} * spine_count + (k0 + k) % spine_count;
      const LinkId to_core = tree.spine_up(x);
      if (!is_up(to_core)) continue;
      // Uplinks of the destination group to this core are those whose number is congruent to it.
      const std::int64_t core = x % tree.cores;
      const std::int64_t skew = (core - gb.first_uplink % tree.cores + tree.cores) % tree.cores;
      const auto ways = static_cast<int>((gb.uplinks() - skew + tree.cores - 1) / tree.cores);
      if (ways <= 0) continue;
      const int w0 = preferred(m, 3, 2'000'000 + static_cast<int>(core),
                               place / leaf_count / spine_count, ways);
      for (int w = 0; w < ways; ++w) {
        const std::int64_t y = skew + std::int64_t{(w0 + w) % ways} * tree.cores;
        const LinkId from_core = FabricGraph::reverse(tree.spine_up(gb.first_uplink + y));
        const auto spine_b = static_cast<int>(y / gb.spine_uplinks);
        LinkId down;
        if (!is_up(from_core) || !descend(tree, b, spine_b, j / ga.spines, down)) continue;
        const std::uint32_t busiest =
            adaptive ? std::max({load(up), load(to_core), load(from_core), load(down)}) : 0;
        if (busiest >= least) continue;
        least = busiest;
        best = {up, to_core, from_core, down};
        if (!adaptive) break;
      }
      if (!adaptive && best[0] >= 0) break;
    }
    if (!adaptive && best[0] >= 0) break;
  }
  if (best[0] < 0) return false;
  path.insert(path.end(), best.begin(), best.end());
  return true;
}

bool Router::route_tree(const TreeLayout& tree, const Message& m, std::vector<LinkId>& path) {
  const LinkId up = tree.node_up(m.source);
  const LinkId down = FabricGraph::reverse(tree.node_up(m.destination));
  if (!is_up(up) || !is_up(down)) return false;
  const int a = tree.leaf_of[static_cast<std::size_t>(m.source)];
  const int b = tree.leaf_of[static_cast<std::size_t>(m.destination)];
  path.push_back(up);
  bool found = true;
  if (a != b) {
    const bool same_group = tree.group_of_leaf[static_cast<std::size_t>(a)] ==
                            tree.group_of_leaf[static_cast<std::size_t>(b)];
    found = same_group ? route_in_group(tree, m, path) : route_over_core(tree, m, path);
  }
  path.push_back(down);
  return found;
}

// Goes one dimension after the other, the shorter way round; ties go up.
bool Router::route_torus(const Message& m, std::vector<LinkId>& path) const {
  int at = m.source, stride = 1;
  for (const int k : graph_.torus) {
    const int from = at / stride % k, to = m.destination / stride % k;
    const int ahead = (to - from + k) % k;
    const int step = 2 * ahead <= k ? 1 : k - 1;  // one up, or one down modulo k
    for (int i = 0; i < std::min(ahead, k - ahead); ++i) {
      const int place = at / stride % k;
      const int next = at + ((place + step) % k - place) * stride;
      LinkId taken = -1;
      for (const LinkId l : graph_.out(at)) {
        if (graph_.links[static_cast<std::size_t>(l)].to == next && is_up(l)) taken = l;
      }
      if (taken < 0) return false;
      path.push_back(taken);
      at = next;
    }
    stride *= k;
  }
  return true;
}

// Returns the hops to the destination over links that are up; endpoints do not forward, except in a
// torus.
const std::vector<std::int32_t>& Router::distances_to(VertexId destination) {
  if (searched_for_ == destination) return distance_;
  searched_for_ = destination;
  distance_.assign(graph_.kinds.size(), kUnreached);
  queue_.clear();
  queue_.push_back(destination);
  distance_[static_cast<std::size_t>(destination)] = 0;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const VertexId v = queue_[head];
    const bool forwards = graph_.kinds[static_cast<std::size_t>(v)] != VertexKind::endpoint ||
                          v == destination || !graph_.torus.empty();
    if (!forwards) continue;
    for (const LinkId l : graph_.out(v)) {
      const VertexId to = graph_.links[static_cast<std::size_t>(l)].to;
      if (distance_[static_cast<std::size_t>(to)] != kUnreached) continue;
      if (!is_up(FabricGraph::reverse(l))) continue;
      distance_[static_cast<std::size_t>(to)] = distance_[static_cast<std::size_t>(v)] + 1;
      queue_.push_back(to);
    }
  }
  return distance_;
}

bool Router::route_searched(const Message& m, std::vector<LinkId>& path) {
  const auto& distance = distances_to(m.destination);
  VertexId at = m.source;
  if (distance[static_cast<std::size_t>(at)] == kUnreached) return false;
  std::vector<LinkId> choices;
  for (int stage = 1; at != m.destination; ++stage) {
    choices.clear();
    for (const LinkId l : graph_.out(at)) {
      const VertexId to = graph_.links[static_cast<std::size_t>(l)].to;
      const bool nearer =
          distance[static_cast<std::size_t>(to)] == distance[static_cast<std::size_t>(at)] - 1;
      if (nearer && is_up(l)) choices.push_back(l);
    }
    if (choices.empty()) return false;
    const auto count = static_cast<int>(choices.size());
    std::size_t pick = static_cast<std::size_t>(preferred(m, stage, at, m.destination, count));
    if (options_.kind == catalog::RoutingKind::adaptive) {
      for (std::size_t i = 0; i < choices.size(); ++i) {
        if (load(choices[i]) < load(choices[pick])) pick = i;
      }
    }
    path.push_back(choices[pick]);
    at = graph_.links[static_cast<std::size_t>(choices[pick])].to;
  }
  return true;
}

bool Router::route(VertexId source, VertexId destination, int queue_pair,
                   std::vector<LinkId>& path) {
  if (source == destination) return true;
  const std::size_t before = path.size();
  const int planes = graph_.planes, rails = graph_.rails;
  bool found = false;
  const bool scaleup = graph_.first_scaleup_link >= 0;
  const auto node_of = [&](VertexId v) { return v / planes / rails; };
  const auto scaleup_link = [&](VertexId v) {
    return graph_.first_scaleup_link + 2 * (v / planes);
  };
  if (scaleup && node_of(source) == node_of(destination)) {
    path.push_back(scaleup_link(source));
    path.push_back(FabricGraph::reverse(scaleup_link(destination)));
    found = is_up(path[before]) && is_up(path[before + 1]);
  } else if (!graph_.trees.empty()) {
    // Ports of a plane reach only ports of that plane; the source's plane decides.
    const int plane = source % planes;
    VertexId from = source;
    const int rail_from = source / planes % rails, rail_to = destination / planes % rails;
    if (options_.pxn && scaleup && rail_from != rail_to) {
      from = (node_of(source) * rails + rail_to) * planes + plane;
      path.push_back(scaleup_link(source));
      path.push_back(FabricGraph::reverse(scaleup_link(from)));
    }
    found = route_tree(graph_.trees[static_cast<std::size_t>(plane)],
                       {from / planes, destination / planes, queue_pair}, path);
  } else if (!graph_.torus.empty()) {
    found = route_torus({source, destination, queue_pair}, path);
    if (!found) {
      path.resize(before);
      found = route_searched({source, destination, queue_pair}, path);
    }
  } else {
    found = route_searched({source, destination, queue_pair}, path);
  }
  if (!found) {
    path.resize(before);
    return false;
  }
  if (options_.kind == catalog::RoutingKind::adaptive) {
    for (std::size_t i = before; i < path.size(); ++i) {
      ++load_[static_cast<std::size_t>(path[i])];
    }
  }
  return true;
}

double path_latency(const FabricGraph& graph, const std::vector<LinkId>& path) {
  double sum = 0;
  for (const LinkId l : path) sum += graph.links[static_cast<std::size_t>(l)].latency;
  return sum;
}

}  // namespace orrery::fabric
