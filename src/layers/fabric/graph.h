// A network as wires: vertices, cables of two directed links, and the tree structure that routers
// need.
//
// Endpoints are vertices 0 .. endpoints-1, in the order (node, rail, plane); switches follow, node
// switches (NVLink) last. Cable c has links 2c (the direction in which it was added: up) and 2c+1
// (back: down). In a tree, leaf l has `uplinks` cables; its cable j goes to spine j mod S of its
// group. The uplinks of all spines are numbered consecutively (x); number x goes to core x mod C,
// which reaches every group evenly. If a group has as many uplinks as there are cores, this is the
// standard k-ary wiring. Built from a Topology (so that the bill and the flows describe the same
// object), from a plain shape, or from an edge list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "core/base/words.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

using VertexId = std::int32_t;
using LinkId = std::int32_t;

enum class VertexKind : std::uint8_t { endpoint, leaf, spine, core, router, node_switch };
inline constexpr Word<VertexKind> kVertexWords[] = {
    {VertexKind::endpoint, "node"}, {VertexKind::leaf, "leaf"},
    {VertexKind::spine, "spine"},   {VertexKind::core, "core"},
    {VertexKind::router, "router"}, {VertexKind::node_switch, "node-switch", "scale-up switch"},
};
constexpr WordTable<VertexKind> words_of(VertexKind) { return kVertexWords; }

struct GraphLink {
  VertexId from = 0;
  VertexId to = 0;
  double capacity = 0;  // bytes per second, this direction
  double latency = 0;   // seconds
};

// One plane's tree. Leaves, spines and cores are numbered within the plane.
struct TreeLayout {
  struct Group {
    int first_leaf = 0;
    int leaves = 0;
    int first_spine = 0;
    int spines = 0;
    int spine_uplinks = 0;
    std::int64_t first_uplink = 0;  // number x of the first uplink of its spines
    std::int64_t uplinks() const { return std::int64_t{spines} * spine_uplinks; }
  };
  std::vector<Group> groups;
  std::vector<int> leaf_of;      // indexed by endpoint / planes
  std::vector<int> position_of;  // rank among all endpoints, leaf by leaf: D-mod-K's destination
  std::vector<int> group_of_leaf;
  int uplinks = 0;  // per leaf
  int cores = 0;
  LinkId first_node_link = 0;  // up link of the plane's first endpoint; the next is at + 2
  LinkId first_leaf_link = 0;
  LinkId first_spine_link = 0;

  LinkId node_up(int endpoint) const { return first_node_link + 2 * endpoint; }
  LinkId leaf_up(int leaf, int j) const { return first_leaf_link + 2 * (leaf * uplinks + j); }
  LinkId spine_up(std::int64_t x) const { return first_spine_link + static_cast<LinkId>(2 * x); }
};

struct FabricGraph {
  std::vector<VertexKind> kinds;
  std::vector<std::int32_t> numbers;  // the vertex's number within its kind and plane
  std::vector<std::uint8_t> planes_of;
  std::vector<GraphLink> links;
  int endpoints = 0;
  int planes = 1;
  int rails = 1;                   // endpoints per node and plane
  std::vector<TreeLayout> trees;   // one per plane; empty if routes are searched
  std::vector<int> torus;          // sizes, if it is a torus
  LinkId first_scaleup_link = -1;  // endpoint 0's cable to its node switch; -1: none
  std::vector<std::string> names;  // the vertices' names in an edge list

  // Adjacency: the links that leave v.
  std::vector<std::int32_t> out_begin;
  std::vector<LinkId> out_links;

  std::span<const LinkId> out(VertexId v) const {
    return std::span(out_links).subspan(static_cast<std::size_t>(out_begin[v]),
                                        static_cast<std::size_t>(out_begin[v + 1] - out_begin[v]));
  }
  static LinkId reverse(LinkId l) { return l ^ 1; }
  std::string vertex_name(VertexId v) const;  // "node 3 rail 2", "leaf 7", "plane 1 spine 0"
  std::string link_name(LinkId l) const;      // "leaf 7 -> spine 2"
};

struct GraphOptions {
  BytesPerSecond scaleup_rate;  // if above 0, a node switch joins the endpoints of a node
  Seconds scaleup_latency = nanoseconds(500);
};

// Fills the adjacency from the links.
void index_links(FabricGraph& graph);

FabricGraph build_graph(const Topology& topology, const GraphOptions& options = {});

// A plain tree by its sizes, for studies whose switch sizes are not those of a catalog part: groups
// x leaves_per_group x hosts_per_leaf endpoints; spines_per_group divides leaf_uplinks.
struct TreeShape {
  int hosts_per_leaf = 32;
  int leaves_per_group = 32;
  int groups = 1;
  int leaf_uplinks = 32;
  int spines_per_group = 32;
  int spine_uplinks = 0;  // 0: two levels
  int cores = 0;
  BytesPerSecond rate = gbytes_per_s(50);
  Seconds latency = microseconds(1);
};
FabricGraph build_tree(const TreeShape& shape);

}  // namespace orrery::fabric
