#include "output/report/view_fabric.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/json_writer.h"
#include "layers/fabric/what_if.h"
#include "model/machine/fleet.h"
#include "output/report/bill_json.h"
#include "output/report/view_fabric_drawing.h"

namespace orrery::report {
namespace {

const machine::Network* network_of(const machine::Networks& views, const std::string& name) {
  for (const machine::Network* v : {&views.compute, &views.storage, &views.management}) {
    if (name.empty() ? v->topology.has_value() : v->name == name) return v;
  }
  return nullptr;
}

// An endpoint that is drawn among the switches belongs to a torus, where endpoints route.
std::string_view tier_of(fabric::VertexKind kind) {
  return word_of(kind == fabric::VertexKind::endpoint ? fabric::VertexKind::router : kind);
}

Diagnostic no_such_part(const std::string& id) {
  return {.code = "fabric.no-such-part",
          .what = "the network has no part '" + id.substr(0, 80) + "' that is still up",
          .fix = "use the ids of `switches` and `links`, such as leaf-0 and leaf-0:spine-1"};
}

// Returns the parts to fail. An id may represent several parts; each time it is named, one more of
// them fails.
Result<compare::NetworkLoss> loss_of(const FabricDrawing& d,
                                     const std::vector<std::string>& failed) {
  std::map<std::string_view, const DrawnVertex*> vertices;
  std::map<std::string, const DrawnLine*> lines;
  for (const DrawnVertex& v : d.vertices) {
    if (v.kind != fabric::VertexKind::endpoint || v.leaf < 0) vertices.emplace(v.id, &v);
  }
  if (!failed.empty()) {
    for (const DrawnLine& l : d.lines) lines.emplace(d.line_id(l), &l);
  }
  std::map<std::string, std::size_t> used;
  compare::NetworkLoss loss;
  Diagnostics faults;
  for (const std::string& id : failed) {
    const std::size_t n = used[id]++;
    const auto vertex = vertices.find(id);
    const auto line = lines.find(id);
    if (vertex != vertices.end() && n < vertex->second->members.size()) {
      loss.switches.push_back(vertex->second->members[n]);
    } else if (line != lines.end() && n < line->second->up.size()) {
      loss.cables.push_back(line->second->up[n]);
    } else {
      faults.push_back(no_such_part(id));
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return loss;
}

// Writes the number of switches of each tier, in the order in which the tiers are drawn.
void write_tiers(JsonWriter& w, const FabricDrawing& d) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const DrawnVertex& v : d.vertices) {
    if (v.kind == fabric::VertexKind::endpoint) continue;
    auto at = std::ranges::find(counts, tier_of(v.kind), [](const auto& c) { return c.first; });
    if (at == counts.end()) at = counts.emplace(at, tier_of(v.kind), 0);
    at->second += v.members.size();
  }
  w.key("switch_counts").begin_array();
  for (const auto& [tier, count] : counts) {
    w.begin_object().field("tier", tier).field("count", count).end_object();
  }
  w.end_array();
}

void write_switches(JsonWriter& w, const FabricDrawing& d, const compare::NetworkLoss& loss) {
  const std::set<fabric::VertexId> lost(loss.switches.begin(), loss.switches.end());
  w.key("switches").begin_array();
  for (const DrawnVertex& v : d.vertices) {
    if (v.kind == fabric::VertexKind::endpoint) continue;
    w.begin_object().field("id", v.id).field("tier", tier_of(v.kind)).field("plane", v.plane);
    w.field("group", v.group).key("rail");
    v.rail ? w.value(*v.rail) : w.null();
    w.field("count", v.members.size());
    const bool failed =
        std::ranges::any_of(v.members, [&](fabric::VertexId m) { return lost.contains(m); });
    w.field("failed", failed).end_object();
  }
  w.end_array();
  write_tiers(w, d);
  w.key("endpoint_groups").begin_array();
  for (const DrawnVertex& v : d.vertices) {
    if (v.kind != fabric::VertexKind::endpoint) continue;
    w.begin_object().field("id", v.id);
    w.field("leaf", d.vertices[static_cast<std::size_t>(v.leaf)].id).field("plane", v.plane);
    w.field("node_from", v.node_from).field("nodes", v.nodes).field("rail_from", v.rail_from);
    w.field("rails", v.rails).field("endpoints", v.members.size()).end_object();
  }
  w.end_array();
}

// Remaining cables of a line and how busy they are.
struct LineLoad {
  int failed = 0;
  double capacity = 0;
  double up = 0;  // shares of the capacity
  double down = 0;

  double busiest() const { return std::max(up, down); }
};

LineLoad load_of(const DrawnLine& l, const fabric::FabricGraph& g, const compare::NetworkLoad& load,
                 const compare::LoadedTime& now) {
  LineLoad out;
  double up = 0, down = 0;
  for (const fabric::LinkId link : l.up) {
    const auto i = static_cast<std::size_t>(link);
    up += now.bytes[i];
    down += now.bytes[static_cast<std::size_t>(fabric::FabricGraph::reverse(link))];
    out.failed += load.down[i];
    if (!load.down[i]) out.capacity += g.links[i].capacity;
  }
  const double most = out.capacity * now.seconds.value;
  if (most > 0) {
    out.up = std::min(1.0, up / most);
    out.down = std::min(1.0, down / most);
  }
  return out;
}

std::string busiest_line(const FabricDrawing& d, const fabric::FabricGraph& g,
                         const compare::NetworkLoad& load, const compare::LoadedTime& now) {
  std::string id;
  double most = 0;
  if (!now.network_binds) return id;
  for (const DrawnLine& l : d.lines) {
    const double share = load_of(l, g, load, now).busiest();
    if (share <= most) continue;
    most = share;
    id = d.line_id(l);
  }
  return id;
}

// Rounds to four digits: a drawing cannot show more, and the answer stays small.
double rounded(double share) { return std::round(share * 1e4) / 1e4; }

void write_lines(JsonWriter& w, const FabricDrawing& d, const fabric::FabricGraph& g,
                 const compare::NetworkLoad& load) {
  const compare::LoadedTime& now = load.after ? *load.after : load.before;
  w.key("links").begin_array();
  for (const DrawnLine& l : d.lines) {
    const LineLoad share = load_of(l, g, load, now);
    w.begin_object().field("id", d.line_id(l));
    w.field("from", d.vertices[static_cast<std::size_t>(l.from)].id);
    w.field("to", d.vertices[static_cast<std::size_t>(l.to)].id);
    w.field("count", l.up.size()).field("failed", share.failed);
    w.field("capacity_bytes_per_s", share.capacity);
    w.field("load_up_ratio", rounded(share.up)).field("load_down_ratio", rounded(share.down));
    w.end_object();
  }
  w.end_array();
}

void write_time(JsonWriter& w, const compare::LoadedTime& t, const std::string& limiting) {
  w.begin_object().field("time_s", t.seconds.value).field("time_low_s", t.seconds.low);
  w.field("time_high_s", t.seconds.high);
  w.field("bus_bandwidth_bytes_per_s", t.bus_bandwidth.base());
  w.field("limiting_link", limiting).end_object();
}

void write_collective(JsonWriter& w, const compare::CollectiveAsk& ask, const FabricDrawing& d,
                      const fabric::FabricGraph& g, const compare::NetworkLoad& load) {
  w.key("collective").begin_object().field("kind", to_text(ask.kind));
  w.field("bytes", ask.bytes.base()).field("ranks", load.ranks);
  // Before the loss no cable is missing.
  compare::NetworkLoad intact{.down = std::vector<std::uint8_t>(load.down.size(), 0)};
  w.key("before");
  write_time(w, load.before, busiest_line(d, g, intact, load.before));
  w.key("after");
  if (load.after) {
    write_time(w, *load.after, busiest_line(d, g, load, *load.after));
  } else {
    w.null();
  }
  const bool slower = load.after && load.before.seconds.value > 0;
  w.field("slower_ratio", slower ? load.after->seconds.value / load.before.seconds.value - 1 : 0.0);
  w.field("cut", load.cut).field("slowed", load.slowed).field("note", load.note).end_object();
}

void write_networks(JsonWriter& w, const machine::Networks& views) {
  w.key("networks").begin_array();
  for (const machine::Network* v : {&views.compute, &views.storage, &views.management}) {
    if (v->topology) w.value(v->name);
  }
  w.end_array();
}

void write_topology(JsonWriter& w, const fabric::Topology& t, const compare::NetworkLoad& load,
                    bool aggregated) {
  w.field("topology", to_text(t.spec.kind)).field("nodes", t.spec.nodes);
  w.field("endpoints", t.endpoints).field("rails", t.spec.rails).field("planes", t.spec.planes);
  w.field("tiers", t.tiers).field("link_rate_bytes_per_s", t.spec.link_rate.base());
  w.field("bisection_share_ratio", load.bisection_share);
  w.field("worst_link_ratio", load.worst_link).field("diameter_links", diameter_links(t));
  w.field("aggregated", aggregated);
}

void write_bill_and_totals(JsonWriter& w, const catalog::Bill& bill) {
  write_bill(w, bill);
  const catalog::PriceRange price = bill.price();
  w.key("bill_totals").begin_object().field("price_low_usd", price.low.base());
  w.field("price_high_usd", price.high.base()).field("power_w", bill.power().base());
  w.field("unpriced", bill.unpriced().size()).end_object();
}

Result<const machine::Network*> built(const machine::Networks& views, const std::string& name) {
  const machine::Network* v = network_of(views, name);
  if (v && !v->faults.empty()) return std::unexpected(v->faults);
  if (v == nullptr || !v->topology) {
    return fail({.code = "fabric.no-network",
                 .what = name.empty() ? "the design has no network of its own"
                                      : "the design has no network '" + name.substr(0, 40) + "'",
                 .fix = "describe fabric.compute, fabric.storage or fabric.management"});
  }
  if (v->topology->endpoints > fabric::kMostStudied) {
    return fail({.code = "fabric.too-large",
                 .what = "the network has too many endpoints to draw",
                 .fix = "at most " + std::to_string(fabric::kMostStudied)});
  }
  return v;
}

}  // namespace

Result<std::string> fabric_view_json(const machine::Machine& machine, const FabricViewQuestion& q) {
  const machine::Networks& views = machine.main_networks();
  const auto network = built(views, q.network);
  if (!network) return std::unexpected(network.error());
  const machine::Network& v = **network;
  const fabric::FabricGraph graph = build_graph(*v.topology);
  const FabricDrawing drawing =
      draw_fabric(graph, q.detail == FabricDetail::aggregated, q.detail == FabricDetail::full);
  if (q.failed.size() > kMostFailed) {
    return fail({.code = "fabric.no-such-part", .what = "more than 64 failed parts were named"});
  }
  const auto loss = loss_of(drawing, q.failed);
  if (!loss) return std::unexpected(loss.error());
  const machine::Fleet* fleet = compare::widest_fleet(machine, v);
  const compare::NetworkLoad load = load_network(machine, v, graph, *loss, q.collective);

  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "fabric").field("network", v.name);
  write_networks(w, views);
  write_topology(w, *v.topology, load, drawing.aggregated);
  write_switches(w, drawing, *loss);
  write_lines(w, drawing, graph, load);
  write_collective(w, q.collective, drawing, graph, load);
  write_bill_and_totals(w, v.bill);
  w.key("notes").begin_array();
  if (fleet == nullptr)
    w.value("No accelerators use this network; times are those of the links alone.");
  if (drawing.aggregated) {
    w.value(
        "Identical switches are drawn together; failing the drawn switch fails the first of them.");
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
