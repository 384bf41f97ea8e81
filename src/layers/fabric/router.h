// Which links a message takes. One interface for trees (by formula), tori (dimension order) and any
// other graph (shortest paths, searched once per destination).
//
// fixed: D-mod-K. At a leaf the uplink is d mod U, at a spine (d / U) mod u, with d the position of
//   the destination: the choice of SimGrid's fat-tree zone and of static InfiniBand routing.
// ecmp: a hash of (source, destination, queue pair) chooses among equal paths. Each switch has its
//   own salt unless `polarised`; then all use one hash, and a spine sees only part of its values.
// adaptive: the path whose busiest link carries the fewest flows placed so far.
// pxn: a message to another rail first crosses the scale-up switch to the NIC of the right rail.
// A failed link is skipped: the router takes the next choice, cyclically, whose whole path is up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/catalog/vocabulary.h"
#include "layers/fabric/graph.h"

namespace orrery::fabric {

struct RoutingOptions {
  catalog::RoutingKind kind = catalog::RoutingKind::fixed;
  std::uint64_t seed = 1;
  bool polarised = false;
  bool pxn = false;
};

class Router {
 public:
  Router(const FabricGraph& graph, RoutingOptions options);

  // Fails both directions of the cable to which the link belongs.
  void fail_cable(LinkId link);
  void fail_vertex(VertexId switch_id);
  bool is_up(LinkId link) const { return !failed_[static_cast<std::size_t>(link)]; }

  // Appends the links from source to destination. If no path is left, returns false and appends
  // nothing. An adaptive router counts the flow on these links.
  bool route(VertexId source, VertexId destination, int queue_pair, std::vector<LinkId>& path);

 private:
  struct Message {
    int source = 0;
    int destination = 0;
    int queue_pair = 0;
  };
  // Returns the preferred choice among `count` equal ones at one stage of the path.
  int preferred(const Message& m, int stage, VertexId at, int place, int count) const;
  bool route_tree(const TreeLayout& tree, const Message& m, std::vector<LinkId>& path);
  bool route_in_group(const TreeLayout& tree, const Message& m, std::vector<LinkId>& path);
  bool route_over_core(const TreeLayout& tree, const Message& m, std::vector<LinkId>& path);
  bool descend(const TreeLayout& tree, int leaf, int spine_in_group, int prefer,
               LinkId& down) const;
  bool route_torus(const Message& m, std::vector<LinkId>& path) const;
  bool route_searched(const Message& m, std::vector<LinkId>& path);
  const std::vector<std::int32_t>& distances_to(VertexId destination);
  std::uint32_t load(LinkId l) const { return load_[static_cast<std::size_t>(l)]; }

  const FabricGraph& graph_;
  RoutingOptions options_;
  std::vector<std::uint8_t> failed_;
  std::vector<std::uint32_t> load_;  // flows placed on a link; adaptive routing only
  VertexId searched_for_ = -1;
  std::vector<std::int32_t> distance_;
  std::vector<VertexId> queue_;
};

// Returns the sum of the links' latencies in seconds.
double path_latency(const FabricGraph& graph, const std::vector<LinkId>& path);

}  // namespace orrery::fabric
