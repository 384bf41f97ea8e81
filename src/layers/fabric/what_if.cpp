#include "layers/fabric/what_if.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "layers/fabric/fault.h"
#include "layers/fabric/traffic.h"

namespace orrery::fabric {
namespace {

constexpr std::size_t kMostNamed = 64;
// An adaptive switch chooses the path of every packet, so a message is split into pieces: as many
// as keep the study within kMostPieces flows, and at least enough that the size of a piece does not
// distort the result.
constexpr std::size_t kMostPieces = 65'536;
constexpr std::size_t kFewest = 8;
constexpr std::size_t kEnough = 128;

TrafficOptions traffic_of(const LossSpec& spec, std::size_t messages) {
  if (messages == 0) return {};
  const std::size_t most = kMostPieces / messages;
  if (spec.routing.kind == catalog::RoutingKind::adaptive) {
    return {.queue_pairs = static_cast<int>(std::clamp(most, kFewest, kEnough))};
  }
  const auto wanted = static_cast<std::size_t>(std::max(1, spec.queue_pairs));
  return {.queue_pairs = static_cast<int>(std::min(wanted, std::max(kFewest, most)))};
}

// Nodes exchange in pairs that are whole leaves apart, so that static routes do not collide before
// the loss; nodes without a partner take no part.
std::vector<Message> half_way_round(const FabricGraph& g, const FabricSpec& spec, Bytes each) {
  std::vector<Message> out;
  const int per_node = g.rails * g.planes;
  const int unit = std::max(1, spec.radix / 2);
  const int units = (spec.nodes + unit - 1) / unit;
  const int half = units > 1 ? (units + 1) / 2 * unit : std::max(1, spec.nodes / 2);
  for (VertexId e = 0; e < g.endpoints; ++e) {
    const int node = e / per_node;
    const int partner = node < half ? node + half : node - half;
    if (partner >= spec.nodes || partner == node) continue;
    out.push_back({e, partner * per_node + e % per_node, each.base() / g.planes});
  }
  return out;
}

// Every node sends to the next one on the same rail, as in a ring.
std::vector<Message> ring_of_nodes(const FabricGraph& g, const FabricSpec& spec, Bytes each) {
  std::vector<Message> out;
  const int per_node = g.rails * g.planes;
  for (VertexId e = 0; e < g.endpoints && spec.nodes > 1; ++e) {
    const int next = (e / per_node + 1) % spec.nodes;
    out.push_back({e, next * per_node + e % per_node, each.base() / g.planes});
  }
  return out;
}

// Returns the rate of an endpoint's own link.
double port_rate(const FabricGraph& g) {
  const TreeLayout& tree = g.trees.front();
  return g.links[static_cast<std::size_t>(tree.node_up(0))].capacity;
}

// Removes the lost part from the router; returns its name, or an empty string if there is no such
// part.
std::string take_out(const FabricGraph& g, Router& router, Loss loss, int number) {
  const TreeLayout& tree = g.trees.front();
  const auto leaves = static_cast<int>(tree.group_of_leaf.size());
  const auto vertex = [&](VertexKind kind, int which) -> VertexId {
    for (std::size_t v = 0; v < g.kinds.size(); ++v) {
      if (g.kinds[v] == kind && g.numbers[v] == which && g.planes_of[v] == 0) {
        return static_cast<VertexId>(v);
      }
    }
    return -1;
  };
  const auto cable = [&](LinkId l) {
    router.fail_cable(l);
    const GraphLink& link = g.links[static_cast<std::size_t>(l)];
    return g.vertex_name(link.from) + " - " + g.vertex_name(link.to);
  };
  switch (loss) {
    case Loss::nic:
      if (number >= static_cast<int>(tree.leaf_of.size())) return {};
      return cable(tree.node_up(number));
    case Loss::leaf_uplink:
      if (tree.uplinks == 0 || number >= leaves * tree.uplinks) return {};
      return cable(tree.first_leaf_link + 2 * number);
    case Loss::plane:
      if (number >= g.planes) return {};
      for (std::size_t e = 0; e < g.trees[static_cast<std::size_t>(number)].leaf_of.size(); ++e) {
        router.fail_cable(g.trees[static_cast<std::size_t>(number)].node_up(static_cast<int>(e)));
      }
      return "plane " + std::to_string(number);
    case Loss::leaf:
    case Loss::spine: {
      const VertexId v = vertex(loss == Loss::leaf ? VertexKind::leaf : VertexKind::spine, number);
      if (v < 0) return {};
      router.fail_vertex(v);
      return g.vertex_name(v);
    }
  }
  return {};
}

// A NIC's two halves (one per plane) are one message: if a plane is lost, the other half carries
// it.
void move_to_living_planes(const FabricGraph& g, Router& router, std::vector<Message>& messages) {
  if (g.planes < 2) return;
  std::vector<LinkId> path;
  const auto planes = static_cast<std::size_t>(g.planes);
  for (std::size_t i = 0; i + planes <= messages.size(); i += planes) {
    std::vector<std::size_t> alive;
    double bytes = 0;
    for (std::size_t p = 0; p < planes; ++p) {
      path.clear();
      bytes += messages[i + p].bytes;
      if (router.route(messages[i + p].source, messages[i + p].destination, 0, path)) {
        alive.push_back(i + p);
      }
    }
    if (alive.empty() || alive.size() == planes) continue;
    for (std::size_t p = 0; p < planes; ++p) messages[i + p].bytes = 0;
    for (const std::size_t a : alive) messages[a].bytes = bytes / static_cast<double>(alive.size());
  }
}

// Returns the time of the messages before over that after the loss; 0 if one has no path.
double share_of(const FabricGraph& g, const LossSpec& spec, Router broken,
                std::vector<Message> messages) {
  Router whole(g, spec.routing);
  const TrafficOptions traffic = traffic_of(spec, messages.size());
  const double before = run_traffic(g, whole, messages, traffic).last;
  Router probe = broken;
  move_to_living_planes(g, probe, messages);
  const TrafficResult after = run_traffic(g, broken, messages, traffic);
  if (after.unreachable > 0) return 0;
  return after.last > 0 ? std::min(1.0, before / after.last) : 1;
}

void compare(const FabricGraph& g, const std::vector<Message>& messages,
             const TrafficResult& before, const TrafficResult& after, LossReport& report) {
  std::set<int> nodes;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool cut = !std::isfinite(after.finish[i]) && messages[i].bytes > 0;
    const bool slowed = std::isfinite(after.finish[i]) && after.finish[i] > 1.01 * before.finish[i];
    report.cut += cut;
    report.slowed += slowed;
    if (cut || slowed) nodes.insert(messages[i].source / g.planes / g.rails);
  }
  for (const int n : nodes) {
    if (report.nodes.size() < kMostNamed) report.nodes.push_back(n);
  }
}

}  // namespace

LinksUp links_up(const FabricGraph& g, const Router& router) {
  double up[2] = {}, all[2] = {};
  for (std::size_t l = 0; l < g.links.size(); ++l) {
    const auto kind = [&](VertexId v) { return g.kinds[static_cast<std::size_t>(v)]; };
    const VertexKind from = kind(g.links[l].from), to = kind(g.links[l].to);
    if (from == VertexKind::endpoint || to == VertexKind::endpoint) continue;
    const std::size_t tier = from == VertexKind::core || to == VertexKind::core ? 1 : 0;
    all[tier] += 1;
    up[tier] += router.is_up(static_cast<LinkId>(l)) ? 1 : 0;
  }
  return {.uplinks = all[0] > 0 ? up[0] / all[0] : 1,
          .core_links = all[1] > 0 ? up[1] / all[1] : 1};
}

double bisection_share(const Topology& t, LinksUp up) {
  const double full = bisection_share(t);
  if (t.groups.empty() || t.leaf_spine_links == 0) return full;
  const auto half = static_cast<double>(t.endpoints);
  const double leaves = static_cast<double>(t.leaf_spine_links) * up.uplinks / half;
  const double cores = t.spine_core_links > 0
                           ? static_cast<double>(t.spine_core_links) * up.core_links / half
                           : leaves;
  return std::min({full, leaves, cores});
}

std::optional<Loss> loss_from(std::string_view text) {
  if (text == "nic") return Loss::nic;
  if (text == "link") return Loss::leaf_uplink;
  if (text == "plane") return Loss::plane;
  if (text == "leaf") return Loss::leaf;
  if (text == "spine") return Loss::spine;
  return std::nullopt;
}

Result<LossReport> study_loss(const Topology& topology, const LossSpec& spec) {
  if (topology.endpoints > kMostStudied) {
    return fail(fault("fabric.too-large", "too many endpoints to simulate as flows",
                      "at most " + std::to_string(kMostStudied)));
  }
  const FabricGraph g = build_graph(topology);
  if (g.trees.empty()) {
    return fail(
        fault("fabric.kind", "losses can be studied on trees only", "use a fat tree or rails"));
  }
  std::vector<Message> messages = half_way_round(g, topology.spec, spec.message);
  Router whole(g, spec.routing);
  const TrafficOptions traffic = traffic_of(spec, messages.size());
  const TrafficResult before = run_traffic(g, whole, messages, traffic);
  Router broken(g, spec.routing);
  LossReport report;
  report.lost = take_out(g, broken, spec.loss, spec.number);
  if (report.lost.empty()) {
    return fail(
        fault("fabric.no-such-part", "the network has no such part to lose", "count from 0"));
  }
  report.bisection_share = bisection_share(topology, links_up(g, broken));
  report.ring_share = share_of(g, spec, broken, ring_of_nodes(g, topology.spec, spec.message));
  Router probe = broken;
  move_to_living_planes(g, probe, messages);
  const TrafficResult after = run_traffic(g, broken, messages, traffic);
  compare(g, messages, before, after, report);
  report.before = Seconds(before.last);
  report.after = Seconds(after.last);
  report.share = after.last > 0 ? std::min(1.0, before.last / after.last) : 0;
  if (report.cut > 0) report.share = 0;
  report.alone = Seconds(messages.empty() ? 0 : messages.front().bytes / port_rate(g));
  if (report.alone > Seconds(0)) {
    report.worst_link = before.limiting_seconds / report.alone.base();
    report.worst_link_after = after.limiting_seconds / report.alone.base();
  }
  if (after.limiting_link >= 0) report.limiting_link = g.link_name(after.limiting_link);
  report.closed_form_share =
      share_after(spec.loss, {.nics_per_node = topology.spec.rails,
                              .leaf_uplinks = topology.leaf_uplinks,
                              .spines = topology.groups.front().spines,
                              .planes = topology.spec.planes,
                              .adaptive = spec.routing.kind == catalog::RoutingKind::adaptive});
  return report;
}

}  // namespace orrery::fabric
