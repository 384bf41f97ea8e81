#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "fabric/graph.h"

namespace orrery::fabric {
namespace {

// A line of more words than this is not an edge; a file of more lines is not written by hand.
constexpr std::size_t kMostEdges = 1'000'000;

struct Edge {
  std::string a, b;
  double capacity = 0;
  double latency = 500e-9;  // as FabricSpec::link_latency: assumption where the line has none
};

struct EdgeFile {
  std::vector<Edge> edges;
  std::map<std::string, bool, std::less<>> declared;  // name -> is an endpoint
  Diagnostics faults;
};

void read_edge(EdgeFile& out, const std::vector<std::string_view>& words, Place place) {
  const auto bad = [&](std::string code, std::string what, std::string fix) {
    out.faults.push_back({.severity = Severity::error,
                          .code = std::move(code),
                          .place = std::move(place),
                          .what = std::move(what),
                          .why = {},
                          .fix = std::move(fix)});
  };
  if (words.size() < 3 || words.size() > 4) {
    return bad("edges.line", "an edge is two names, a rate and perhaps a latency",
               "write: leaf1 spine1 400Gb/s 500ns");
  }
  const auto rate = parse_quantity<BytesPerSecond>(words[2]);
  if (!rate || !(rate->base() > 0)) {
    return bad("edges.rate", "not a rate: " + std::string(words[2]), "write 400Gb/s or 50GB/s");
  }
  Edge e{.a = std::string(words[0]), .b = std::string(words[1]), .capacity = rate->base()};
  if (words.size() == 4) {
    const auto latency = parse_quantity<Seconds>(words[3]);
    if (!latency || latency->base() < 0) {
      return bad("edges.latency", "not a time: " + std::string(words[3]), "write 500ns");
    }
    e.latency = latency->base();
  }
  if (e.a == e.b) return bad("edges.loop", "an edge from " + e.a + " to itself", "drop the line");
  out.edges.push_back(std::move(e));
}

EdgeFile read_lines(std::string_view text, const std::string& file) {
  EdgeFile out;
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const auto words = split_at_blanks(raw.substr(0, raw.find('#')));
    if (words.empty()) continue;
    if (words[0] == "endpoint" || words[0] == "switch") {
      for (std::size_t i = 1; i < words.size(); ++i) {
        out.declared[std::string(words[i])] = words[0] == "endpoint";
      }
      continue;
    }
    if (out.edges.size() < kMostEdges) read_edge(out, words, {file, number, 1});
  }
  return out;
}

}  // namespace

Result<FabricGraph> parse_edge_list(std::string_view text, const std::string& file) {
  EdgeFile read = read_lines(text, file);
  if (read.edges.empty() && read.faults.empty()) {
    return fail({.severity = Severity::error,
                 .code = "edges.empty",
                 .place = {.file = file},
                 .what = "no edge in the list",
                 .why = {},
                 .fix = "write: leaf1 spine1 400Gb/s 500ns"});
  }
  if (!read.faults.empty()) return std::unexpected(std::move(read.faults));
  std::map<std::string, int, std::less<>> degree;
  for (const Edge& e : read.edges) {
    ++degree[e.a];
    ++degree[e.b];
  }
  FabricGraph g;
  std::map<std::string, VertexId, std::less<>> ids;
  for (const bool endpoints : {true, false}) {
    for (const auto& [name, count] : degree) {
      const auto said = read.declared.find(name);
      const bool endpoint = said != read.declared.end() ? said->second : count == 1;
      if (endpoint != endpoints) continue;
      ids[name] = static_cast<VertexId>(g.kinds.size());
      g.kinds.push_back(endpoint ? VertexKind::endpoint : VertexKind::router);
      g.numbers.push_back(static_cast<std::int32_t>(g.names.size()));
      g.planes_of.push_back(0);
      g.names.push_back(name);
    }
    if (endpoints) g.endpoints = static_cast<int>(g.kinds.size());
  }
  for (const Edge& e : read.edges) {
    g.links.push_back({ids.at(e.a), ids.at(e.b), e.capacity, e.latency});
    g.links.push_back({ids.at(e.b), ids.at(e.a), e.capacity, e.latency});
  }
  index_links(g);
  return g;
}

}  // namespace orrery::fabric
