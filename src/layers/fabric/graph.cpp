#include "layers/fabric/graph.h"

#include <algorithm>
#include <utility>

namespace orrery::fabric {
namespace {

VertexId add_vertices(FabricGraph& g, VertexKind kind, int count, int plane) {
  const auto first = static_cast<VertexId>(g.kinds.size());
  for (int i = 0; i < count; ++i) {
    g.kinds.push_back(kind);
    g.numbers.push_back(i);
    g.planes_of.push_back(static_cast<std::uint8_t>(plane));
  }
  return first;
}

struct Wire {
  double capacity = 0;
  double latency = 0;
};

LinkId add_cable(FabricGraph& g, VertexId a, VertexId b, const Wire& w) {
  const auto id = static_cast<LinkId>(g.links.size());
  g.links.push_back({a, b, w.capacity, w.latency});
  g.links.push_back({b, a, w.capacity, w.latency});
  return id;
}

void add_endpoints(FabricGraph& g, int per_plane) {
  g.endpoints = per_plane * g.planes;
  for (int e = 0; e < g.endpoints; ++e) {
    g.kinds.push_back(VertexKind::endpoint);
    g.numbers.push_back(e / g.planes);
    g.planes_of.push_back(static_cast<std::uint8_t>(e % g.planes));
  }
}

// Assigns every endpoint of one plane its leaf and position, by the units of the topology.
void place_endpoints(TreeLayout& tree, const Topology& t) {
  // Plain trees and single switches fill their leaves in the order of endpoints.
  const bool by_endpoint = t.spec.kind == catalog::TopologyKind::fat_tree ||
                           (t.tiers == 1 && t.spec.kind != catalog::TopologyKind::rail_only);
  const int rails = t.spec.rails;
  tree.leaf_of.assign(static_cast<std::size_t>(t.spec.nodes) * static_cast<std::size_t>(rails), 0);
  tree.position_of = tree.leaf_of;
  int leaf = 0, position = 0;
  for (const SwitchGroup& g : t.groups) {
    for (const LeafUnit& u : g.units) {
      for (int i = 0; i < u.leaves; ++i, ++leaf) {
        const int first_rail = u.rail_from + i * u.rails_per_leaf;
        const int last_rail = std::min(first_rail + u.rails_per_leaf, u.rail_from + u.rails);
        for (int n = u.node_from; n < u.node_from + u.nodes; ++n) {
          for (int r = first_rail; r < last_rail; ++r) {
            const auto e = static_cast<std::size_t>(by_endpoint ? n : n * rails + r);
            tree.leaf_of[e] = leaf;
            tree.position_of[e] = position++;
          }
        }
      }
    }
  }
}

TreeLayout layout_of(const Topology& t) {
  TreeLayout tree;
  tree.uplinks = t.leaf_uplinks;
  tree.cores = static_cast<int>(t.cores / t.spec.planes);
  int leaf = 0, spine = 0;
  std::int64_t uplink = 0;
  for (const SwitchGroup& g : t.groups) {
    TreeLayout::Group out{.first_leaf = leaf,
                          .leaves = g.leaves,
                          .first_spine = spine,
                          .spines = g.spines,
                          .first_uplink = uplink};
    if (tree.cores > 0) out.spine_uplinks = g.leaves * t.leaf_uplinks / g.spines;
    for (int i = 0; i < g.leaves; ++i) {
      tree.group_of_leaf.push_back(static_cast<int>(tree.groups.size()));
    }
    leaf += g.leaves;
    spine += g.spines;
    uplink += out.uplinks();
    tree.groups.push_back(out);
  }
  place_endpoints(tree, t);
  return tree;
}

// Adds the switches and cables of one plane, using the layout's numbers.
void wire_tree(FabricGraph& g, TreeLayout& tree, int plane, const Wire& wire) {
  const auto leaves = static_cast<int>(tree.group_of_leaf.size());
  const int spines = tree.groups.back().first_spine + tree.groups.back().spines;
  const VertexId leaf0 = add_vertices(g, VertexKind::leaf, leaves, plane);
  const VertexId spine0 = add_vertices(g, VertexKind::spine, spines, plane);
  const VertexId core0 = add_vertices(g, VertexKind::core, tree.cores, plane);
  tree.first_node_link = static_cast<LinkId>(g.links.size());
  for (std::size_t e = 0; e < tree.leaf_of.size(); ++e) {
    add_cable(g, static_cast<VertexId>(e) * g.planes + plane, leaf0 + tree.leaf_of[e], wire);
  }
  tree.first_leaf_link = static_cast<LinkId>(g.links.size());
  for (const TreeLayout::Group& group : tree.groups) {
    for (int l = 0; l < group.leaves && group.spines > 0; ++l) {
      for (int j = 0; j < tree.uplinks; ++j) {
        const int spine = group.first_spine + j % group.spines;
        add_cable(g, leaf0 + group.first_leaf + l, spine0 + spine, wire);
      }
    }
  }
  tree.first_spine_link = static_cast<LinkId>(g.links.size());
  for (const TreeLayout::Group& group : tree.groups) {
    for (std::int64_t i = 0; i < group.uplinks(); ++i) {
      const auto spine = static_cast<int>(group.first_spine + i / group.spine_uplinks);
      const auto core = static_cast<int>((group.first_uplink + i) % tree.cores);
      add_cable(g, spine0 + spine, core0 + core, wire);
    }
  }
}

void build_torus(FabricGraph& g, const Topology& t, const Wire& wire) {
  g.torus = t.spec.torus;
  add_endpoints(g, t.spec.nodes * t.spec.rails);
  int stride = 1;
  for (const int k : g.torus) {
    for (int v = 0; v < g.endpoints; ++v) {
      const int place = v / stride % k;
      // A ring of two is one cable, so its far end adds none.
      if (k < 2 || (k == 2 && place == 1)) continue;
      add_cable(g, v, v + (place + 1 == k ? -(k - 1) : 1) * stride, wire);
    }
    stride *= k;
  }
}

void build_dragonfly(FabricGraph& g, const Topology& t, const Wire& wire) {
  const int h = t.dragonfly_h, a = 2 * h, groups = t.dragonfly_groups;
  add_endpoints(g, t.spec.nodes * t.spec.rails);
  const VertexId router0 = add_vertices(g, VertexKind::router, groups * a, 0);
  // Endpoints are spread evenly; the last group need not be full.
  for (int e = 0; e < g.endpoints; ++e) add_cable(g, e, router0 + e / h % (groups * a), wire);
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < a; ++i) {
      for (int j = i + 1; j < a; ++j) {
        add_cable(g, router0 + group * a + i, router0 + group * a + j, wire);
      }
    }
  }
  // The global ports of a group are assigned to the other groups in turn. Each pair is wired once,
  // from the lower group, port by port.
  std::vector<int> used(static_cast<std::size_t>(groups), 0);
  const int rounds = a * h / std::max(1, groups - 1);
  for (int round = 0; round < std::max(1, rounds); ++round) {
    for (int x = 0; x < groups; ++x) {
      for (int y = x + 1; y < groups; ++y) {
        const int px = used[static_cast<std::size_t>(x)]++,
                  py = used[static_cast<std::size_t>(y)]++;
        if (px >= a * h || py >= a * h) continue;
        add_cable(g, router0 + x * a + px / h, router0 + y * a + py / h, wire);
      }
    }
  }
}

// Connects each accelerator with one fat link to its domain's switch: the chips are equal and used
// evenly.
void add_node_switches(FabricGraph& g, int nodes, int per_node, const Wire& wire) {
  const VertexId first = add_vertices(g, VertexKind::node_switch, nodes, 0);
  g.first_scaleup_link = static_cast<LinkId>(g.links.size());
  for (int e = 0; e < nodes * per_node; ++e) {
    add_cable(g, e * g.planes, first + e / per_node, wire);
  }
}

}  // namespace

void index_links(FabricGraph& g) {
  const std::size_t vertices = g.kinds.size();
  g.out_begin.assign(vertices + 1, 0);
  for (const GraphLink& l : g.links) ++g.out_begin[static_cast<std::size_t>(l.from) + 1];
  for (std::size_t v = 0; v < vertices; ++v) g.out_begin[v + 1] += g.out_begin[v];
  g.out_links.resize(g.links.size());
  std::vector<std::int32_t> at(g.out_begin.begin(), g.out_begin.end() - 1);
  for (std::size_t l = 0; l < g.links.size(); ++l) {
    const auto slot = static_cast<std::size_t>(at[static_cast<std::size_t>(g.links[l].from)]++);
    g.out_links[slot] = static_cast<LinkId>(l);
  }
}

FabricGraph build_graph(const Topology& t, const GraphOptions& options) {
  FabricGraph g;
  g.planes = t.spec.planes;
  g.rails = t.spec.rails;
  const Wire wire{t.spec.link_rate.base(), t.spec.link_latency.base()};
  switch (t.spec.kind) {
    case catalog::TopologyKind::torus:
      build_torus(g, t, wire);
      break;
    case catalog::TopologyKind::dragonfly:
      build_dragonfly(g, t, wire);
      break;
    case catalog::TopologyKind::scale_up:
      add_endpoints(g, t.spec.nodes * t.spec.rails);
      add_node_switches(g, t.spec.nodes, t.spec.rails,
                        {wire.capacity * t.spec.scaleup_chips, wire.latency});
      break;
    default:
      add_endpoints(g, t.spec.nodes * t.spec.rails);
      for (int plane = 0; plane < g.planes; ++plane) {
        g.trees.push_back(layout_of(t));
        wire_tree(g, g.trees.back(), plane, wire);
      }
  }
  if (options.scaleup_rate > BytesPerSecond(0) && g.first_scaleup_link < 0) {
    add_node_switches(g, t.spec.nodes, t.spec.rails,
                      {options.scaleup_rate.base(), options.scaleup_latency.base()});
  }
  index_links(g);
  return g;
}

FabricGraph build_tree(const TreeShape& s) {
  FabricGraph g;
  const int leaves = s.groups * s.leaves_per_group;
  add_endpoints(g, leaves * s.hosts_per_leaf);
  TreeLayout tree;
  tree.uplinks = s.leaf_uplinks;
  tree.cores = s.cores;
  for (int i = 0; i < s.groups; ++i) {
    const std::int64_t uplinks = std::int64_t{s.spines_per_group} * s.spine_uplinks;
    tree.groups.push_back({.first_leaf = i * s.leaves_per_group,
                           .leaves = s.leaves_per_group,
                           .first_spine = i * s.spines_per_group,
                           .spines = s.spines_per_group,
                           .spine_uplinks = s.spine_uplinks,
                           .first_uplink = i * uplinks});
  }
  for (int l = 0; l < leaves; ++l) tree.group_of_leaf.push_back(l / s.leaves_per_group);
  for (int e = 0; e < g.endpoints; ++e) {
    tree.leaf_of.push_back(e / s.hosts_per_leaf);
    tree.position_of.push_back(e);
  }
  g.trees.push_back(std::move(tree));
  wire_tree(g, g.trees.back(), 0, {s.rate.base(), s.latency.base()});
  index_links(g);
  return g;
}

std::string FabricGraph::vertex_name(VertexId v) const {
  const auto i = static_cast<std::size_t>(v);
  if (i < names.size()) return names[i];
  std::string number = std::to_string(numbers[i]);
  const VertexKind kind = kinds[i];
  if (kind == VertexKind::endpoint && rails > 1) {
    number = std::to_string(numbers[i] / rails) + " rail " + std::to_string(numbers[i] % rails);
  }
  const bool in_plane = planes > 1 && kind != VertexKind::router && kind != VertexKind::node_switch;
  const std::string plane = in_plane ? "plane " + std::to_string(planes_of[i]) + " " : "";
  return plane + std::string(other_word_of(kind)) + ' ' + number;
}

std::string FabricGraph::link_name(LinkId l) const {
  const GraphLink& link = links[static_cast<std::size_t>(l)];
  return vertex_name(link.from) + " -> " + vertex_name(link.to);
}

}  // namespace orrery::fabric
