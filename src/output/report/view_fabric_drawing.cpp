#include "output/report/view_fabric_drawing.h"

#include <algorithm>

namespace orrery::report {
namespace {

constexpr std::size_t kWholeFactor = 4;
// Number of slabs of a torus, or of bundles of scale-up domains, when they are drawn together.
constexpr int kMostBundles = 256;

// Key of the switches that are drawn as one.
struct Bundle {
  fabric::VertexKind kind = fabric::VertexKind::leaf;
  int plane = 0;
  int number = 0;  // number of the switch, the group or the bundle
  int group = -1;
  bool many = false;

  auto operator<=>(const Bundle&) const = default;
};

std::string id_of(const Bundle& b, int planes) {
  std::string id = planes > 1 ? "p" + std::to_string(b.plane) + "-" : "";
  id += b.kind == fabric::VertexKind::endpoint ? "nodes" : word_of(b.kind);
  if (b.many) id += b.kind == fabric::VertexKind::node_switch ? "es" : "s";
  if (b.many && b.group < 0 && b.number == 0) return id;
  return id + '-' + std::to_string(b.number);
}

int group_of_spine(const fabric::TreeLayout& tree, int spine) {
  const auto after =
      std::ranges::upper_bound(tree.groups, spine, {}, &fabric::TreeLayout::Group::first_spine);
  return static_cast<int>(after - tree.groups.begin()) - 1;
}

class Drawer {
 public:
  Drawer(const fabric::FabricGraph& g, bool aggregate) : g_(g), aggregate_(aggregate) {
    const auto routers = std::ranges::count(g.kinds, fabric::VertexKind::router);
    if (routers > 0) routers_per_group_ = clique_size();
    const std::ptrdiff_t direct = g.torus.empty()
                                      ? std::ranges::count(g.kinds, fabric::VertexKind::node_switch)
                                      : g.endpoints;
    bundle_size_ = static_cast<int>((direct + kMostBundles - 1) / kMostBundles);
    if (!g.torus.empty() && aggregate) {
      // Bundle whole rows of the first dimension, so that a slab only touches its neighbours.
      const int row = std::max(1, g.torus.front());
      bundle_size_ = std::max(row, (bundle_size_ + row - 1) / row * row);
    }
  }

  FabricDrawing draw() {
    FabricDrawing out{.aggregated = aggregate_};
    place_switches();
    place_endpoints();
    for (auto& [bundle, members] : switches_) add(out, bundle, std::move(members));
    index(out);
    add_lines(out);
    return out;
  }

 private:
  bool is_joined(fabric::VertexId from, fabric::VertexId to) const {
    return std::ranges::any_of(g_.out(from), [&](fabric::LinkId l) {
      return g_.links[static_cast<std::size_t>(l)].to == to;
    });
  }

  // Returns the size of the first dragonfly group, which is a clique. The first router outside it
  // may be reached by a global cable, but by only one.
  int clique_size() const {
    const fabric::VertexId first = static_cast<fabric::VertexId>(
        std::ranges::find(g_.kinds, fabric::VertexKind::router) - g_.kinds.begin());
    const auto joins_all = [&](int size) {
      for (int i = 0; i < size; ++i) {
        if (!is_joined(first + i, first + size)) return false;
      }
      return true;
    };
    int size = 1;
    while (joins_all(size)) ++size;
    return size;
  }

  Bundle bundle_of(fabric::VertexId v) const {
    const auto i = static_cast<std::size_t>(v);
    Bundle b{.kind = g_.kinds[i], .plane = g_.planes_of[i], .number = g_.numbers[i]};
    switch (b.kind) {
      case fabric::VertexKind::leaf:
        b.group = g_.trees[i_plane(i)].group_of_leaf[static_cast<std::size_t>(b.number)];
        return b;
      case fabric::VertexKind::spine:
        b.group = group_of_spine(g_.trees[i_plane(i)], b.number);
        if (aggregate_) b.number = b.group, b.many = true;
        return b;
      case fabric::VertexKind::core:
        if (aggregate_) b.number = 0, b.many = true;
        return b;
      case fabric::VertexKind::router:
        b.group = b.number / routers_per_group_;
        if (aggregate_) b.number = b.group, b.many = true;
        return b;
      case fabric::VertexKind::endpoint:  // in a torus
        b.kind = fabric::VertexKind::router;
        b.number = v;
        [[fallthrough]];
      case fabric::VertexKind::node_switch:
        b.group = aggregate_ ? b.number / bundle_size_ : 0;
        if (aggregate_) b.number = b.group, b.many = true;
        return b;
    }
    return b;
  }
  std::size_t i_plane(std::size_t i) const { return g_.planes_of[i]; }

  void place_switches() {
    for (std::size_t v = 0; v < g_.kinds.size(); ++v) {
      if (g_.kinds[v] == fabric::VertexKind::endpoint && g_.torus.empty()) continue;
      switches_[bundle_of(static_cast<fabric::VertexId>(v))].push_back(
          static_cast<fabric::VertexId>(v));
    }
  }

  // Places endpoints in the bundle of their switch; in a torus they are the switches.
  void place_endpoints() {
    if (!g_.torus.empty()) return;
    for (fabric::VertexId e = 0; e < g_.endpoints; ++e) {
      const std::span<const fabric::LinkId> out = g_.out(e);
      if (out.empty()) continue;
      const Bundle at = bundle_of(g_.links[static_cast<std::size_t>(out.front())].to);
      // The group has the number of its leaf within its plane.
      Bundle group{fabric::VertexKind::endpoint, at.plane, at.number, at.group, false};
      leaf_of_group_.emplace(group, at);
      switches_[group].push_back(e);
    }
  }

  void add(FabricDrawing& out, const Bundle& b, std::vector<fabric::VertexId> members) {
    DrawnVertex v{.id = id_of(b, g_.planes), .kind = b.kind, .plane = b.plane, .group = b.group};
    if (b.kind == fabric::VertexKind::endpoint) describe_endpoints(v, members);
    v.members = std::move(members);
    drawn_.emplace(b, static_cast<int>(out.vertices.size()));
    out.vertices.push_back(std::move(v));
  }

  void describe_endpoints(DrawnVertex& v, const std::vector<fabric::VertexId>& members) const {
    int node_to = 0, rail_to = 0;
    v.node_from = v.rail_from = g_.endpoints;
    for (const fabric::VertexId e : members) {
      const int number = g_.numbers[static_cast<std::size_t>(e)];
      v.node_from = std::min(v.node_from, number / g_.rails);
      node_to = std::max(node_to, number / g_.rails);
      v.rail_from = std::min(v.rail_from, number % g_.rails);
      rail_to = std::max(rail_to, number % g_.rails);
    }
    v.nodes = node_to - v.node_from + 1;
    v.rails = rail_to - v.rail_from + 1;
  }

  void index(FabricDrawing& out) {
    vertex_of_.assign(g_.kinds.size(), -1);
    for (std::size_t i = 0; i < out.vertices.size(); ++i) {
      for (const fabric::VertexId m : out.vertices[i].members) {
        vertex_of_[static_cast<std::size_t>(m)] = static_cast<int>(i);
      }
    }
    for (const auto& [group, leaf] : leaf_of_group_) {
      DrawnVertex& nodes = out.vertices[static_cast<std::size_t>(drawn_.at(group))];
      nodes.leaf = drawn_.at(leaf);
      // A leaf whose nodes have one rail belongs to that rail, unless the network has only one.
      if (nodes.rails == 1 && g_.rails > 1) {
        out.vertices[static_cast<std::size_t>(nodes.leaf)].rail = nodes.rail_from;
      }
    }
  }

  void add_lines(FabricDrawing& out) const {
    std::map<std::pair<int, int>, std::vector<fabric::LinkId>> all;
    for (std::size_t l = 0; l < g_.links.size(); l += 2) {
      const int from = vertex_of_[static_cast<std::size_t>(g_.links[l].from)];
      const int to = vertex_of_[static_cast<std::size_t>(g_.links[l].to)];
      if (from == to || from < 0 || to < 0) continue;
      const auto up = static_cast<fabric::LinkId>(l);
      if (from < to) {
        all[{from, to}].push_back(up);
      } else {
        all[{to, from}].push_back(fabric::FabricGraph::reverse(up));
      }
    }
    for (auto& [ends, up] : all) out.lines.push_back({ends.first, ends.second, std::move(up)});
  }

  const fabric::FabricGraph& g_;
  bool aggregate_;
  int routers_per_group_ = 1;
  int bundle_size_ = 1;
  // includes endpoints, which sort first
  std::map<Bundle, std::vector<fabric::VertexId>> switches_;
  std::map<Bundle, Bundle> leaf_of_group_;
  std::map<Bundle, int> drawn_;
  std::vector<int> vertex_of_;
};

}  // namespace

FabricDrawing draw_fabric(const fabric::FabricGraph& g, bool aggregate, bool whole) {
  const std::size_t factor = whole ? kWholeFactor : 1;
  const std::size_t switches =
      g.torus.empty() ? g.kinds.size() - static_cast<std::size_t>(g.endpoints) : g.kinds.size();
  if (!aggregate && switches <= factor * kMostDrawnSwitches) {
    FabricDrawing one_by_one = Drawer(g, false).draw();
    if (one_by_one.lines.size() <= factor * kMostDrawnLines) return one_by_one;
  }
  return Drawer(g, true).draw();
}

}  // namespace orrery::report
