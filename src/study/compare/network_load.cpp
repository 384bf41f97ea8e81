#include "study/compare/network_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/sim/kernel.h"
#include "layers/fabric/flow_engine.h"
#include "layers/fabric/router.h"
#include "layers/fabric/traffic.h"
#include "layers/fabric/what_if.h"
#include "model/figures/assumptions.h"

namespace orrery::compare {
namespace {

using figures::assumptions::kFlowsAbove;
using figures::assumptions::kFlowsBelow;
// Shifts that stand for an all_to_all. Equally spaced ones load the upper links as all of them do;
// in a large network four are enough, and a page of the console waits for them.
constexpr int kShifts = 8;
constexpr int kShiftsOfLarge = 4;
constexpr int kLargeEndpoints = 8192;
// Completions within this share of the run are merged: enough for a picture, and a page of the
// console waits.
constexpr double kTolerance = 0.004;
// Most queue pairs that are drawn: more of them do not spread further on a picture.
constexpr int kMostQueuePairs = 8;

struct Pattern {
  std::vector<fabric::Message> messages;
  std::string name;
};

// Endpoints by node, rail and plane; messages stay on their rail and plane.
class Sender {
 public:
  Sender(const fabric::FabricGraph& g, double bytes)
      : lanes_(g.torus.empty() ? g.rails * g.planes : 1),
        nodes_(g.endpoints / std::max(1, lanes_)),
        bytes_(bytes / g.planes) {}

  int nodes() const { return nodes_; }
  void send(int from, int to, double share) {
    if (from == to) return;
    for (int lane = 0; lane < lanes_; ++lane) {
      pattern.messages.push_back({from * lanes_ + lane, to * lanes_ + lane, bytes_ * share});
    }
  }
  void shift(int by, double share) {
    for (int i = 0; i < nodes_; ++i) send(i, (i + by) % nodes_, share);
  }

  Pattern pattern;

 private:
  int lanes_;
  int nodes_;
  double bytes_;
};

void send_ring(Sender& s) {
  s.pattern.name = "one ring per rail, in the order of the nodes";
  s.shift(1, 1);
}

// Leaves of one tree are inner nodes of the other tree, which is the first shifted by one node:
// each carries half, up and down, so a node sends about four quarters.
void send_trees(Sender& s) {
  s.pattern.name = "two binary trees per rail, in the order of the nodes";
  const int n = s.nodes();
  for (int tree = 0; tree < 2; ++tree) {
    for (int i = 1; i < n; ++i) {
      const int bit = i & -i;
      int parent = (i ^ bit) | (bit << 1);
      if (parent >= n) parent = i ^ bit;
      const int child_node = (i + tree) % n, parent_node = (parent + tree) % n;
      s.send(child_node, parent_node, 0.25);
      s.send(parent_node, child_node, 0.25);
    }
  }
}

void send_shifts(Sender& s, int endpoints) {
  const int wanted = endpoints > kLargeEndpoints ? kShiftsOfLarge : kShifts;
  const int shifts = std::min(wanted, std::max(1, s.nodes() - 1));
  s.pattern.name = fmt::format("{} of the {} shifts of an all_to_all", shifts, s.nodes() - 1);
  for (int i = 0; i < shifts; ++i) {
    const int by = 1 + static_cast<int>(static_cast<std::int64_t>(i) * (s.nodes() - 1) / shifts);
    s.shift(by, 1.0 / shifts);
  }
}

void send_halfway(Sender& s) {
  s.pattern.name = "every node to the one half-way round";
  s.shift(std::max(1, s.nodes() / 2), 1);
}

Pattern pattern_of(const fabric::FabricGraph& g, workload::Collective kind,
                   fabric::CollectiveAlgorithm algorithm, double nic_bytes) {
  Sender s(g, nic_bytes);
  if (kind == workload::Collective::all_to_all) {
    send_shifts(s, g.endpoints);
  } else if (kind == workload::Collective::send_recv) {
    send_halfway(s);
  } else if (algorithm == fabric::CollectiveAlgorithm::ring) {
    send_ring(s);
  } else {
    send_trees(s);
  }
  return std::move(s.pattern);
}

void take_out(fabric::Router& router, const NetworkLoss& loss) {
  for (const fabric::VertexId v : loss.switches) router.fail_vertex(v);
  for (const fabric::LinkId l : loss.cables) router.fail_cable(l);
}

// One queue pair of a message.
struct Flow {
  std::size_t message = 0;
  double bytes = 0;
  std::vector<fabric::LinkId> path;
};

struct Routed {
  std::vector<Flow> flows;
  std::vector<double> bytes;      // by link
  std::vector<std::uint8_t> cut;  // by message: no path is left
};

// Returns the queue pairs of one message; nothing if one of them has no path.
std::vector<Flow> ways_of(fabric::Router& router, const fabric::Message& m, std::size_t number,
                          int queue_pairs) {
  std::vector<Flow> ways;
  for (int qp = 0; qp < queue_pairs; ++qp) {
    Flow f{.message = number};
    if (!router.route(m.source, m.destination, qp, f.path)) return {};
    ways.push_back(std::move(f));
  }
  return ways;
}

// A NIC's messages, one per plane, count as one: what a cut plane cannot carry goes over the
// others.
Routed route_all(const fabric::FabricGraph& g, fabric::Router router, int queue_pairs,
                 const std::vector<fabric::Message>& messages) {
  Routed out{.bytes = std::vector<double>(g.links.size(), 0),
             .cut = std::vector<std::uint8_t>(messages.size(), 0)};
  const auto planes = static_cast<std::size_t>(g.planes);
  for (std::size_t first = 0; first < messages.size(); first += planes) {
    const std::size_t end = std::min(first + planes, messages.size());
    std::vector<Flow> ways;
    double whole = 0;
    for (std::size_t i = first; i < end; ++i) {
      whole += messages[i].bytes;
      for (Flow& f : ways_of(router, messages[i], i, queue_pairs)) ways.push_back(std::move(f));
    }
    if (ways.empty())
      std::fill_n(out.cut.begin() + static_cast<std::ptrdiff_t>(first), end - first, 1);
    for (Flow& f : ways) {
      f.bytes = whole / static_cast<double>(ways.size());
      for (const fabric::LinkId l : f.path) out.bytes[static_cast<std::size_t>(l)] += f.bytes;
      out.flows.push_back(std::move(f));
    }
  }
  return out;
}

// When the last queue pair of each message is done, in seconds.
struct Finished {
  std::vector<double> at;  // 0 if it has no path
  double last = 0;
};

class Arrivals final : public fabric::FlowObserver {
 public:
  Arrivals(const fabric::FlowEngine& engine, std::size_t messages)
      : finished{std::vector<double>(messages, 0)}, engine_(engine) {}
  void on_flow_done(sim::Kernel&, fabric::FlowId flow, std::uint64_t tag) override {
    const double at = engine_.finish_time(flow).seconds().base();
    finished.at[tag] = std::max(finished.at[tag], at);
    finished.last = std::max(finished.last, at);
  }

  Finished finished;

 private:
  const fabric::FlowEngine& engine_;
};

Finished run_flows(const fabric::FabricGraph& g, const Routed& routed) {
  sim::Kernel kernel;
  fabric::FlowEngine engine(kernel, capacities_of(g), {.tolerance = kTolerance});
  engine.reserve(routed.flows.size(), routed.flows.size() * 6);
  Arrivals arrivals(engine, routed.cut.size());
  engine.observe(&arrivals);
  for (const Flow& f : routed.flows) {
    engine.start(
        {.path = f.path, .bytes = f.bytes, .latency = path_latency(g, f.path), .tag = f.message});
  }
  kernel.run();
  return std::move(arrivals.finished);
}

struct LoadedLinks {
  machine::Links links;
  workload::CollectiveCall call;
};

LoadedLinks links_of(const machine::Machine& m, const machine::Fleet& fleet,
                     const fabric::FabricGraph& g, const CollectiveAsk& ask) {
  const int lanes = g.torus.empty() ? std::max(1, g.rails * g.planes) : 1;
  const int ranks = g.endpoints / lanes * std::max(1, fleet.accelerators_per_host);
  machine::Links links(wiring_of(fleet, m.networks_of(fleet)), m.models().collectives);
  const workload::GroupShape group = links.group_of(ranks);
  return {links, {ask.kind, ask.bytes, group}};
}

LoadedTime by_closed_form(const LoadedLinks& loaded, double free, fabric::CollectiveTime& detail) {
  const machine::CollectivePrediction p = loaded.links.left(free).predict(loaded.call);
  detail = p.detail;
  return {.seconds = p.seconds,
          .bus_bandwidth = p.detail.bus_bandwidth,
          .network_binds = p.detail.limit == fabric::LimitingLink::nic ||
                           p.detail.limit == fabric::LimitingLink::fabric};
}

// Returns the bytes of one endpoint's port if no accelerator is known: a ring over all nodes.
double ring_bytes(const CollectiveAsk& ask, int nodes, int lanes) {
  if (ask.kind == workload::Collective::send_recv || ask.kind == workload::Collective::broadcast) {
    return ask.bytes.base() / lanes;
  }
  return ask.bytes.base() * fabric::bus_factor(ask.kind, std::max(2, nodes)) / lanes;
}

LoadedTime by_flows(double seconds, const CollectiveAsk& ask, int ranks) {
  const double rate =
      seconds > 0 ? ask.bytes.base() / seconds * fabric::bus_factor(ask.kind, ranks) : 0;
  return {
      .seconds = within(seconds, kFlowsBelow, kFlowsAbove, Basis::derived, "docs/models/fabric.md"),
      .bus_bandwidth = BytesPerSecond(rate),
      .network_binds = true};
}

void count_felt(const Finished& before, const Finished& after, const Routed& was, const Routed& is,
                NetworkLoad& load) {
  for (std::size_t i = 0; i < is.cut.size(); ++i) {
    if (was.cut[i]) continue;
    if (is.cut[i]) {
      ++load.cut;
    } else if (after.at[i] > 1.01 * before.at[i] && before.at[i] > 0) {
      ++load.slowed;
    }
  }
}

// Returns the bytes of the fullest link between switches over those of the busiest port.
double worst_link_of(const fabric::FabricGraph& g, const std::vector<double>& bytes) {
  double port = 0, uplink = 0;
  for (std::size_t l = 0; l < bytes.size(); ++l) {
    const auto is_endpoint = [&](fabric::VertexId v) {
      return g.kinds[static_cast<std::size_t>(v)] == fabric::VertexKind::endpoint;
    };
    const bool at_port = is_endpoint(g.links[l].from) || is_endpoint(g.links[l].to);
    double& most = at_port ? port : uplink;
    most = std::max(most, bytes[l] / g.links[l].capacity);
  }
  return port > 0 ? uplink / port : 0;
}

// Returns why a loss costs this collective nothing, or almost nothing.
std::string why_unfelt(const NetworkLoad& load, const LoadedLinks* loaded, double share) {
  constexpr double kFelt = 1.005;
  if (load.cut > 0 || load.after->seconds.value > kFelt * load.before.seconds.value) return {};
  const std::string left =
      fmt::format(" {} % of full bisection is left", significant(100 * load.bisection_share, 3));
  if (share < 1 / kFelt && loaded) {
    return left +
           ", but another limit hides the loss: the scale-up link or the launch takes "
           "longer than the network.";
  }
  return left + fmt::format(
                    ", and it is no slower because the fullest uplink still carries only "
                    "{} of a NIC's traffic: most messages do not leave their leaf.",
                    significant(load.worst_link, 2));
}

}  // namespace

const machine::Fleet* widest_fleet(const machine::Machine& m, const machine::Network& network) {
  const machine::Fleet* widest = nullptr;
  for (const machine::Fleet& f : m.fleets) {
    if (&network != &m.networks_of(f).compute) continue;
    if (f.rented() || f.accelerator() == nullptr || f.node.part.compute_nics == 0) continue;
    if (!widest || f.node.part.compute_nics > widest->node.part.compute_nics) widest = &f;
  }
  return widest;
}

NetworkLoad load_network(const machine::Machine& m, const machine::Network& v,
                         const fabric::FabricGraph& g, const NetworkLoss& loss,
                         const CollectiveAsk& ask) {
  NetworkLoad load;
  const machine::Fleet* fleet = widest_fleet(m, v);
  const int lanes = g.torus.empty() ? std::max(1, g.rails * g.planes) : 1;
  const int nodes = g.endpoints / lanes;
  std::optional<LoadedLinks> loaded;
  fabric::CollectiveTime detail{.algorithm = fabric::CollectiveAlgorithm::ring};
  double nic_bytes = ring_bytes(ask, nodes, lanes / g.planes);
  load.ranks = nodes;
  if (fleet) {
    loaded = links_of(m, *fleet, g, ask);
    load.ranks = loaded->call.group.ranks;
    load.before = by_closed_form(*loaded, 1, detail);
    nic_bytes = detail.nic_rate.base() * load.before.seconds.value;
  }
  const Pattern pattern = pattern_of(g, ask.kind, detail.algorithm, nic_bytes);
  load.note = fmt::format("Drawn as {}.", pattern.name);
  const int queue_pairs = std::clamp(v.wanted->queue_pairs, 1, kMostQueuePairs);
  fabric::Router router(g, {.kind = v.wanted->routing});
  Routed whole = route_all(g, router, queue_pairs, pattern.messages);
  std::optional<Finished> before;
  if (!fleet || !loss.empty()) before = run_flows(g, whole);
  if (!fleet) load.before = by_flows(before->last, ask, std::max(2, nodes));
  load.before.bytes = std::move(whole.bytes);
  load.worst_link = worst_link_of(g, load.before.bytes);
  take_out(router, loss);
  if (v.topology) {
    load.bisection_share = bisection_share(*v.topology, fabric::links_up(g, router));
  }
  for (std::size_t l = 0; l < g.links.size(); ++l) {
    load.down.push_back(!router.is_up(static_cast<fabric::LinkId>(l)));
  }
  if (loss.empty()) return load;

  Routed broken = route_all(g, router, queue_pairs, pattern.messages);
  const Finished after = run_flows(g, broken);
  count_felt(*before, after, whole, broken, load);
  const double share = after.last > 0 && before->last > 0 ? before->last / after.last : 1;
  load.after = fleet ? by_closed_form(*loaded, std::min(1.0, share), detail)
                     : by_flows(after.last, ask, std::max(2, nodes));
  load.after->bytes = std::move(broken.bytes);
  load.worst_link = worst_link_of(g, load.after->bytes);
  load.note += why_unfelt(load, loaded ? &*loaded : nullptr, share);
  if (load.cut > 0) {
    load.note += fmt::format(
        " {} messages have no path left: the job stops; the time is for the others.", load.cut);
  }
  return load;
}

}  // namespace orrery::compare
