// Groups a fabric's graph into a drawing: vertices become dots, cables become lines.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/fabric/graph.h"

namespace orrery::report {

// One switch, several alike, or the endpoints of a leaf.
struct DrawnVertex {
  std::string id;  // "leaf-0", "spines-3", "nodes-0"; "p1-leaf-0" in the second plane
  fabric::VertexKind kind = fabric::VertexKind::leaf;
  int plane = 0;
  int group = -1;  // pod, rail group or dragonfly group
  std::optional<int> rail;
  std::vector<fabric::VertexId> members;
  // For endpoints: their leaf, and which nodes and rails they are.
  int leaf = -1;  // index of the drawn leaf
  int node_from = 0;
  int nodes = 0;
  int rail_from = 0;
  int rails = 0;
};

struct DrawnLine {
  int from = 0;  // lower end: index of a drawn vertex
  int to = 0;
  std::vector<fabric::LinkId> up;  // one per cable; the reverse link goes down
};

struct FabricDrawing {
  bool aggregated = false;
  std::vector<DrawnVertex> vertices;  // endpoints first, then leaves, spines, cores
  std::vector<DrawnLine> lines;       // ordered by their ends

  std::string line_id(const DrawnLine& l) const {
    return vertices[static_cast<std::size_t>(l.from)].id + ':' +
           vertices[static_cast<std::size_t>(l.to)].id;
  }
};

// Largest drawing: switches drawn one by one, and lines between them. A larger page would be too
// slow to send and impossible to read.
inline constexpr std::size_t kMostDrawnSwitches = 1500;
inline constexpr std::size_t kMostDrawnLines = 11'000;

// `whole` draws every switch even in a large network, up to four times those limits.
FabricDrawing draw_fabric(const fabric::FabricGraph& graph, bool aggregate, bool whole);

}  // namespace orrery::report
