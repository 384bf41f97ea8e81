// Which links a message takes. One interface over trees (by formula), tori (dimension order) and
// any other graph (shortest paths, searched once a destination).
//
// fixed: D-mod-K. At a leaf the uplink is d mod U, at a spine (d / U) mod u, d the destination's
//   place: the choice of SimGrid's fat-tree zone and of static InfiniBand routing.
// ecmp: a hash of (source, destination, queue pair) picks among equal paths; each switch hashes
// with
//   a salt of its own unless `polarised`, where all use one hash and a spine sees only part of it.
// adaptive: the path whose busiest link carries the fewest flows placed so far.
// pxn: a message to another rail first crosses the scale-up switch to the NIC of the right rail.
// A failed link is skipped: the next choice, cyclically, whose whole way is up.
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

  // Both directions of the cable that the link belongs to.
  void fail_cable(LinkId link);
  void fail_vertex(VertexId switch_id);
  bool is_up(LinkId link) const { return !failed_[static_cast<std::size_t>(link)]; }

  // Appends the links from source to destination; false, and nothing appended, where none is left.
  // An adaptive router counts the flow on them.
  bool route(VertexId source, VertexId destination, int queue_pair, std::vector<LinkId>& path);

 private:
  struct Message {
    int source = 0;
    int destination = 0;
    int queue_pair = 0;
  };
  // Preferred place among `count` equal choices at one stage of the way.
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
  std::vector<std::uint32_t> load_;  // flows placed on a link, adaptive only
  VertexId searched_for_ = -1;
  std::vector<std::int32_t> distance_;
  std::vector<VertexId> queue_;
};

// Sum of the links' latencies, seconds.
double path_latency(const FabricGraph& graph, const std::vector<LinkId>& path);

}  // namespace orrery::fabric
