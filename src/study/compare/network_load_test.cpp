#include "study/compare/network_load.h"

#include <gtest/gtest.h>

#include <numeric>

#include "layers/fabric/topology.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "study/compare/diff.h"
#include "study/compare/network_fixture.h"

namespace orrery::compare {
namespace {

using workload::Collective;

TEST(NetworkLoad, a_lost_spine_takes_its_cables_along) {
  const machine::Machine m = jobs::build_machine(pod(), machine::known());
  const machine::Network& n = m.main_networks().compute;
  const fabric::FabricGraph g = fabric::build_graph(*n.topology);
  const fabric::VertexId spine = g.links[static_cast<std::size_t>(g.trees[0].leaf_up(0, 3))].to;
  const CollectiveAsk ask{.kind = workload::Collective::all_reduce, .bytes = gib(1)};
  const NetworkLoad whole = load_network(m, n, g, {}, ask);
  const NetworkLoad load = load_network(m, n, g, {.switches = {spine}}, ask);
  ASSERT_EQ(load.down.size(), g.links.size());
  for (std::size_t l = 0; l < g.links.size(); ++l) {
    const bool touches = g.links[l].from == spine || g.links[l].to == spine;
    EXPECT_EQ(load.down[l] != 0, touches);
    EXPECT_EQ(whole.down[l], 0);
  }
  ASSERT_TRUE(load.after);
  EXPECT_FALSE(whole.after);
  EXPECT_EQ(load.cut, 0);
}

// Fourteen of sixteen spines are lost: bisection and the fullest uplink follow, and a sentence says
// why the collective does not.
TEST(NetworkLoad, dead_spines_cost_bisection) {
  const machine::Machine m = jobs::build_machine(pod(), machine::known());
  const machine::Network& n = m.main_networks().compute;
  const fabric::FabricGraph g = fabric::build_graph(*n.topology);
  const CollectiveAsk ask{.kind = workload::Collective::all_reduce, .bytes = gib(1)};
  NetworkLoss loss;
  std::size_t spines = 0;
  for (std::size_t v = 0; v < g.kinds.size(); ++v) {
    if (g.kinds[v] != fabric::VertexKind::spine) continue;
    if (spines++ >= 2) loss.switches.push_back(static_cast<fabric::VertexId>(v));
  }
  ASSERT_GT(spines, 2U);
  const NetworkLoad whole = load_network(m, n, g, {}, ask);
  const NetworkLoad load = load_network(m, n, g, loss, ask);
  const double full = bisection_share(*n.topology);
  EXPECT_DOUBLE_EQ(whole.bisection_share, full);
  EXPECT_NEAR(load.bisection_share, full * 2 / static_cast<double>(spines), 0.05 * full);
  EXPECT_GT(load.worst_link, whole.worst_link);
  const bool is_felt = load.after->seconds.value > 1.005 * load.before.seconds.value;
  EXPECT_NE(is_felt, load.note.size() > whole.note.size()) << load.note;
}

// Nodes 0 and 1 on one leaf, 2 and 3 on the other; cables of 50 GB/s. No fleet is on it, so only
// the flows give the times.
struct SmallNetwork {
  machine::Machine machine;
  design::Network wanted{.routing = catalog::RoutingKind::fixed};
  machine::Network network;
  fabric::FabricGraph graph;

  explicit SmallNetwork(int hosts_per_leaf = 2) {
    network.wanted = &wanted;
    graph = fabric::build_tree({.hosts_per_leaf = hosts_per_leaf,
                                .leaves_per_group = 2,
                                .leaf_uplinks = 2,
                                .spines_per_group = 2,
                                .rate = gbytes_per_s(50),
                                .latency = microseconds(1)});
  }
  SmallNetwork(const SmallNetwork&) = delete;
  SmallNetwork& operator=(const SmallNetwork&) = delete;

  NetworkLoad under(Collective kind, const NetworkLoss& loss = {}) const {
    return load_network(machine, network, graph, loss, {.kind = kind, .bytes = gigabytes(4)});
  }
  const fabric::TreeLayout& tree() const { return graph.trees.front(); }
  // Bytes on both cables up from a leaf, in GB.
  double above(const LoadedTime& load, int leaf) const {
    return (load.bytes[static_cast<std::size_t>(tree().leaf_up(leaf, 0))] +
            load.bytes[static_cast<std::size_t>(tree().leaf_up(leaf, 1))]) /
           1e9;
  }
  double of_node(const LoadedTime& load, int node) const {
    return load.bytes[static_cast<std::size_t>(tree().node_up(node))] / 1e9;
  }
};

void expect_time(const LoadedTime& time, double seconds, double bus_gbytes_per_s) {
  EXPECT_NEAR(time.seconds.value, seconds, 0.005 * seconds);
  EXPECT_DOUBLE_EQ(time.seconds.low, 0.9 * time.seconds.value);
  EXPECT_DOUBLE_EQ(time.seconds.high, 1.5 * time.seconds.value);
  EXPECT_EQ(time.seconds.basis, Basis::derived);
  EXPECT_EQ(time.seconds.reference, "docs/models/fabric.md");
  EXPECT_NEAR(time.bus_bandwidth.base() / 1e9, bus_gbytes_per_s, 0.005 * bus_gbytes_per_s);
  EXPECT_TRUE(time.network_binds);
}

// With 4 GB, a ring of four sends 2 x 3/4 = 6 GB from each node: 0.12 s at 50 GB/s.
TEST(NetworkLoad, a_ring_goes_to_the_next_node) {
  const SmallNetwork n;
  const NetworkLoad load = n.under(Collective::all_reduce);
  EXPECT_EQ(load.ranks, 4);
  EXPECT_NE(load.note, "");
  expect_time(load.before, 0.12, 50);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(n.of_node(load.before, i), 6, 1e-9);
  EXPECT_NEAR(n.above(load.before, 0), 6, 1e-9);
  EXPECT_NEAR(n.above(load.before, 1), 6, 1e-9);
  // Two messages of two links and two of four, 6 GB each.
  EXPECT_NEAR(std::accumulate(load.before.bytes.begin(), load.before.bytes.end(), 0.0), 72e9, 1);
  EXPECT_FALSE(load.after);
  EXPECT_EQ(load.cut + load.slowed, 0);
  for (const std::uint8_t down : load.down) EXPECT_EQ(down, 0);
}

// 3 GB for an all-gather; a broadcast passes all 4 GB on.
TEST(NetworkLoad, each_collective_has_its_bytes) {
  const SmallNetwork n;
  const NetworkLoad gathered = n.under(Collective::all_gather);
  EXPECT_NEAR(n.of_node(gathered.before, 0), 3, 1e-9);
  expect_time(gathered.before, 0.06, 50);
  const NetworkLoad sent = n.under(Collective::broadcast);
  EXPECT_NEAR(n.of_node(sent.before, 0), 4, 1e-9);
  expect_time(sent.before, 0.08, 50);
}

// Three shifts of 1 GB each: two of a node's three messages leave its leaf.
TEST(NetworkLoad, all_to_all_is_drawn_as_shifts) {
  const SmallNetwork n;
  const NetworkLoad load = n.under(Collective::all_to_all);
  EXPECT_NE(load.note, "");
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(n.of_node(load.before, i), 3, 1e-9);
  EXPECT_NEAR(n.above(load.before, 0), 4, 1e-9);
  EXPECT_NEAR(n.above(load.before, 1), 4, 1e-9);
  // With 24 nodes, eight of the 23 shifts are drawn: by 1, 3, 6, 9, 12, 15, 18 and 21, each an
  // eighth of
  // 4 GB x 23/24. What leaves a leaf of 12: as many nodes as the shift, or as it lacks to 24.
  const SmallNetwork wide(12);
  const NetworkLoad eight = wide.under(Collective::all_to_all);
  EXPECT_NE(eight.note, "");
  const double each = 4.0 * 23 / 24 / 8;
  EXPECT_NEAR(wide.of_node(eight.before, 5), 8 * each, 1e-9);
  EXPECT_NEAR(wide.above(eight.before, 0), (1 + 3 + 6 + 9 + 12 + 9 + 6 + 3) * each, 1e-6);
}

TEST(NetworkLoad, a_lost_spine_halves_the_bandwidth) {
  const SmallNetwork n;
  const auto first_up = static_cast<std::size_t>(n.tree().leaf_up(0, 0));
  const fabric::VertexId spine = n.graph.links[first_up].to;
  const NetworkLoad load = n.under(Collective::send_recv, {.switches = {spine}});
  EXPECT_NE(load.note, "");
  expect_time(load.before, 0.08, 50);
  EXPECT_NEAR(n.above(load.before, 0), 8, 1e-9);
  EXPECT_NEAR(load.before.bytes[first_up] / 1e9, 4, 1e-9) << "a cable each";
  ASSERT_TRUE(load.after);
  expect_time(*load.after, 0.16, 25);
  EXPECT_EQ(load.after->bytes[first_up], 0);
  EXPECT_NEAR(n.above(*load.after, 0), 8, 1e-9);
  EXPECT_EQ(load.slowed, 4);
  EXPECT_EQ(load.cut, 0);
  EXPECT_TRUE(load.down[first_up]);
  EXPECT_TRUE(load.down[first_up ^ 1u]);
  EXPECT_EQ(std::accumulate(load.down.begin(), load.down.end(), 0), 4);
}

TEST(NetworkLoad, a_lost_node_cable_cuts_its_messages_only) {
  const SmallNetwork n;
  const NetworkLoad load = n.under(Collective::send_recv, {.cables = {n.tree().node_up(0) + 1}});
  EXPECT_EQ(load.cut, 2);
  EXPECT_EQ(load.slowed, 0);
  ASSERT_TRUE(load.after);
  expect_time(*load.after, 0.08, 50);
  EXPECT_EQ(n.of_node(*load.after, 0), 0);
  EXPECT_NEAR(n.of_node(*load.after, 1), 4, 1e-9);
  EXPECT_EQ(std::accumulate(load.down.begin(), load.down.end(), 0), 2);
  EXPECT_NE(load.note, "");
}

// Two nodes of two rails: messages stay on their rail, each with half of the bytes.
TEST(NetworkLoad, messages_stay_on_their_rail) {
  SmallNetwork n;
  n.graph.rails = 2;
  const NetworkLoad load = n.under(Collective::all_gather);
  EXPECT_EQ(load.ranks, 2);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(n.of_node(load.before, i), 1, 1e-9) << "4 GB / 2 / 2";
  EXPECT_NEAR(n.above(load.before, 0), 2, 1e-9);
  expect_time(load.before, 0.02, 100);
}

// A NIC with two planes: the other plane carries what the lost one did.
TEST(NetworkLoad, other_planes_carry_the_traffic_of_a_lost_one) {
  SmallNetwork n;
  n.graph.planes = 2;
  const fabric::LinkId second = n.tree().node_up(1);
  n.graph.trees.clear();
  const NetworkLoad load = n.under(Collective::broadcast, {.cables = {second}});
  EXPECT_EQ(load.ranks, 2);
  EXPECT_NEAR(load.before.bytes[static_cast<std::size_t>(second)] / 1e9, 2, 1e-9);
  EXPECT_NEAR(load.before.bytes[static_cast<std::size_t>(second - 2)] / 1e9, 2, 1e-9);
  ASSERT_TRUE(load.after);
  EXPECT_EQ(load.after->bytes[static_cast<std::size_t>(second)], 0);
  EXPECT_NEAR(load.after->bytes[static_cast<std::size_t>(second - 2)] / 1e9, 4, 1e-9);
  EXPECT_EQ(load.cut, 0);
  EXPECT_EQ(load.slowed, 2);
  EXPECT_NEAR(load.after->seconds.value / load.before.seconds.value, 2, 0.01);
}

// A ring of four wires: each carries what its node sends to the next, however many rails are given.
TEST(NetworkLoad, a_torus_has_one_lane) {
  SmallNetwork n;
  const auto topology = fabric::make_topology({.kind = catalog::TopologyKind::torus,
                                               .nodes = 4,
                                               .rails = 1,
                                               .link_rate = gbytes_per_s(50),
                                               .torus = {4}});
  ASSERT_TRUE(topology);
  n.graph = fabric::build_graph(*topology);
  n.graph.rails = 2;
  const NetworkLoad load = n.under(Collective::all_gather);
  EXPECT_EQ(load.ranks, 4);
  EXPECT_NEAR(std::accumulate(load.before.bytes.begin(), load.before.bytes.end(), 0.0), 12e9, 1);
}

// Eight nodes with eight rails below separate leaves: without one of its spines a rail loses about
// that share of the traffic across, and no more.
TEST(NetworkLoad, a_lost_part_slows_its_accelerators) {
  const machine::Machine m = jobs::build_machine(
      design_text::read_design(design_text::find_template("superpod-h100")->text,
                               machine::known().catalog())
          .value(),
      machine::known());
  const machine::Network& network = m.main_networks().compute;
  const fabric::FabricGraph g = fabric::build_graph(*network.topology);
  const fabric::VertexId spine = g.links[static_cast<std::size_t>(g.trees[0].leaf_up(0, 0))].to;
  const NetworkLoad load = load_network(m, network, g, {.switches = {spine}},
                                        {.kind = Collective::all_to_all, .bytes = gib(1)});
  EXPECT_EQ(load.ranks, 1016);
  ASSERT_TRUE(load.after);
  const double slower = load.after->seconds.value / load.before.seconds.value;
  EXPECT_GE(slower, 1);
  EXPECT_LT(slower, 2.5);
  EXPECT_EQ(load.cut, 0);
}

machine::Machine of_fleets(const std::string& fleets) {
  return jobs::build_machine(
      design_text::read_design(
          "orrery: 1\nname: d\nsite: { region: usa }\nfleet: [" + fleets + "]\n",
          machine::known().catalog())
          .value(),
      machine::known());
}

TEST(NetworkLoad, the_widest_fleet_has_most_ports) {
  const std::string eight = "{ name: eight, node: dgx-h100, count: 2 }";
  const std::string more = "{ name: more, node: gb200-nvl72, count: 1 }";
  const std::string again = "{ name: again, node: dgx-h200, count: 2 }";
  const auto widest = [](const std::string& fleets) {
    const machine::Machine m = of_fleets(fleets);
    const machine::Fleet* found = widest_fleet(m, m.main_networks().compute);
    EXPECT_EQ(widest_fleet(m, m.main_networks().storage), nullptr);
    return found ? found->fleet->name : "none";
  };
  EXPECT_EQ(widest(eight + ", " + more), "more");
  EXPECT_EQ(widest(more + ", " + eight), "more");
  EXPECT_EQ(widest(eight + ", " + again), "eight");
}

// Twelve hosts of eight accelerators and eight NICs each.
struct TwelveHosts {
  machine::Machine machine = jobs::build_machine(
      design_text::read_design("orrery: 1\nname: d\nsite: { region: usa }\n"
                               "fleet: [{ name: a, node: dgx-h100, count: 12 }]\n"
                               "fabric: { compute: { topology: rail-fat-tree, switch: qm9700 } }\n",
                               machine::known().catalog())
          .value(),
      machine::known());
  const machine::Network& network = machine.main_networks().compute;
  fabric::FabricGraph graph = fabric::build_graph(*network.topology);

  NetworkLoad under(Collective kind, Bytes bytes, const NetworkLoss& loss = {}) const {
    return load_network(machine, network, graph, loss, {.kind = kind, .bytes = bytes});
  }
  machine::CollectivePrediction closed(Collective kind, Bytes bytes, double free = 1) const {
    const machine::Fleet& fleet = machine.fleets.front();
    const machine::Links links(wiring_of(fleet, machine.networks_of(fleet)),
                               machine.models().collectives);
    return links.left(free).predict({kind, bytes, links.group_of(96)});
  }
  // What the first NIC of a node sends.
  double sent(const LoadedTime& time, int node) const {
    return time.bytes[static_cast<std::size_t>(graph.trees.front().node_up(node * 8))];
  }
};

const TwelveHosts& twelve() {
  static const TwelveHosts* const kHosts = new TwelveHosts;
  return *kHosts;
}

void expect_closed(const LoadedTime& time, const machine::CollectivePrediction& p) {
  EXPECT_DOUBLE_EQ(time.seconds.value, p.seconds.value);
  EXPECT_DOUBLE_EQ(time.seconds.low, p.seconds.low);
  EXPECT_DOUBLE_EQ(time.seconds.high, p.seconds.high);
  EXPECT_EQ(time.bus_bandwidth, p.detail.bus_bandwidth);
}

TEST(NetworkLoad, times_equal_the_closed_form) {
  const TwelveHosts& h = twelve();
  ASSERT_EQ(h.graph.endpoints, 96);
  ASSERT_EQ(h.graph.rails, 8);
  for (const Collective kind :
       {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
    for (const Bytes bytes : {mib(1), gib(4)}) {
      const NetworkLoad load = h.under(kind, bytes);
      EXPECT_EQ(load.ranks, 96);
      expect_closed(load.before, h.closed(kind, bytes));
      EXPECT_FALSE(load.after);
      const fabric::LimitingLink limit = h.closed(kind, bytes).detail.limit;
      EXPECT_EQ(load.before.network_binds,
                limit == fabric::LimitingLink::nic || limit == fabric::LimitingLink::fabric);
    }
  }
}

// Node i of a tree of twelve is below (i without its lowest bit) with the next bit set, or below
// the former if there is no such node.
std::vector<int> degrees() {
  std::vector<int> all(12, 0);
  const int parents[] = {0, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10};
  for (int i = 1; i < 12; ++i)
    ++all[static_cast<std::size_t>(i)], ++all[static_cast<std::size_t>(parents[i])];
  return all;
}

// Each tree carries a quarter up and a quarter down on each of its edges; the second tree is the
// first shifted by one node.
TEST(NetworkLoad, an_all_reduce_uses_two_trees) {
  const TwelveHosts& h = twelve();
  bool seen = false;
  for (const Bytes bytes : {kib(64), mib(1), mib(16), mib(64)}) {
    const auto closed = h.closed(Collective::all_reduce, bytes);
    const NetworkLoad load = h.under(Collective::all_reduce, bytes);
    if (closed.detail.algorithm == fabric::CollectiveAlgorithm::ring) continue;
    seen = true;
    EXPECT_NE(load.note, "");
    const double nic = closed.detail.nic_rate.base() * closed.seconds.value;
    const std::vector<int> degree = degrees();
    for (int i = 0; i < 12; ++i) {
      const int edges =
          degree[static_cast<std::size_t>(i)] + degree[static_cast<std::size_t>((i + 11) % 12)];
      EXPECT_NEAR(h.sent(load.before, i), 0.25 * edges * nic, 1e-6 * nic) << i;
    }
  }
  EXPECT_TRUE(seen);
}

TEST(NetworkLoad, an_all_gather_uses_a_ring) {
  const TwelveHosts& h = twelve();
  const auto closed = h.closed(Collective::all_gather, gib(1));
  ASSERT_EQ(closed.detail.algorithm, fabric::CollectiveAlgorithm::ring);
  const NetworkLoad load = h.under(Collective::all_gather, gib(1));
  EXPECT_NE(load.note, "");
  const double nic = closed.detail.nic_rate.base() * closed.seconds.value;
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(h.sent(load.before, i), nic, 1e-6 * nic);
}

// A cable of a node is lost: its rail's messages from and to that node are cut, and the time is for
// the others.
TEST(NetworkLoad, a_lost_cable_cuts_one_rail_of_one_node) {
  const TwelveHosts& h = twelve();
  const NetworkLoad load =
      h.under(Collective::all_gather, gib(1), {.cables = {h.graph.trees.front().node_up(0)}});
  EXPECT_EQ(load.cut, 2);
  ASSERT_TRUE(load.after);
  expect_closed(*load.after, h.closed(Collective::all_gather, gib(1)));
  EXPECT_EQ(h.sent(*load.after, 0), 0);
  EXPECT_GT(h.sent(*load.after, 1), 0);
  EXPECT_EQ(std::accumulate(load.down.begin(), load.down.end(), 0), 2);
}

}  // namespace
}  // namespace orrery::compare
