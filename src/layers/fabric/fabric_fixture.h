// Small graphs for the tests of this room.
#pragma once

#include "layers/fabric/graph.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

inline FabricGraph graph_of(const FabricSpec& spec, const GraphOptions& options = {}) {
  return build_graph(make_topology(spec).value(), options);
}

// A 3 x 2 torus: two rings of three, joined by three cables.
inline FabricGraph torus_3_2() {
  return graph_of({.kind = catalog::TopologyKind::torus, .nodes = 6, .rails = 1, .torus = {3, 2}});
}

// Two groups of two leaves; each leaf has two hosts and four uplinks to two spines; each spine has
// three uplinks to four cores, assigned in turn where the previous group ended.
inline TreeShape small_shape() {
  return {.hosts_per_leaf = 2,
          .leaves_per_group = 2,
          .groups = 2,
          .leaf_uplinks = 4,
          .spines_per_group = 2,
          .spine_uplinks = 3,
          .cores = 4,
          .rate = BytesPerSecond(7),
          .latency = Seconds(0.5)};
}

}  // namespace orrery::fabric
