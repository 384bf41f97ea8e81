// A collective on networks small enough to be worked out by hand: four nodes on two leaves below
// two spines, what each wire carries, how long it takes, and what a loss takes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "layers/fabric/topology.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "study/compare/network_load.h"

namespace orrery::compare::network_flows_tests {
namespace {

using workload::Collective;

// Nodes 0 and 1 on one leaf, 2 and 3 on the other; cables of 50 GB/s. No fleet is on it, so that
// flows alone say how long anything takes.
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
  // On both cables that go up from a leaf, in GB.
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

// Of 4 GB a ring of four sends 2 x 3/4 = 6 GB from each node: 0.12 s at 50 GB/s.
TEST(NetworkFlows, a_ring_goes_from_each_node_to_the_next) {
  const SmallNetwork n;
  const NetworkLoad load = n.under(Collective::all_reduce);
  EXPECT_EQ(load.ranks, 4);
  EXPECT_EQ(load.note, "Drawn as one ring a rail, in the order of the nodes.");
  expect_time(load.before, 0.12, 50);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(n.of_node(load.before, i), 6, 1e-9);
  EXPECT_NEAR(n.above(load.before, 0), 6, 1e-9) << "from node 1 to node 2";
  EXPECT_NEAR(n.above(load.before, 1), 6, 1e-9) << "from node 3 to node 0";
  // Two messages of two links and two of four, 6 GB each.
  EXPECT_NEAR(std::accumulate(load.before.bytes.begin(), load.before.bytes.end(), 0.0), 72e9, 1);
  EXPECT_FALSE(load.after);
  EXPECT_EQ(load.cut + load.slowed, 0);
  for (const std::uint8_t down : load.down) EXPECT_EQ(down, 0);
}

// 3 GB for a gathering; a broadcast passes all 4 GB on.
TEST(NetworkFlows, each_kind_has_its_bytes) {
  const SmallNetwork n;
  const NetworkLoad gathered = n.under(Collective::all_gather);
  EXPECT_NEAR(n.of_node(gathered.before, 0), 3, 1e-9);
  expect_time(gathered.before, 0.06, 50);
  const NetworkLoad sent = n.under(Collective::broadcast);
  EXPECT_NEAR(n.of_node(sent.before, 0), 4, 1e-9);
  expect_time(sent.before, 0.08, 50);
}

// Three shifts of 1 GB each: two of a node's three messages leave its leaf.
TEST(NetworkFlows, an_exchange_of_all_with_all_is_shifts) {
  const SmallNetwork n;
  const NetworkLoad load = n.under(Collective::all_to_all);
  EXPECT_EQ(load.note, "Drawn as 3 of the 3 shifts of an all_to_all.");
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(n.of_node(load.before, i), 3, 1e-9);
  EXPECT_NEAR(n.above(load.before, 0), 4, 1e-9);
  EXPECT_NEAR(n.above(load.before, 1), 4, 1e-9);
  // Of 24 nodes eight shifts of the 23: by 1, 3, 6, 9, 12, 15, 18 and 21, each an eighth of
  // 4 GB x 23/24. What leaves a leaf of 12: as many nodes as the shift, or as it lacks to 24.
  const SmallNetwork wide(12);
  const NetworkLoad eight = wide.under(Collective::all_to_all);
  EXPECT_EQ(eight.note, "Drawn as 8 of the 23 shifts of an all_to_all.");
  const double each = 4.0 * 23 / 24 / 8;
  EXPECT_NEAR(wide.of_node(eight.before, 5), 8 * each, 1e-9);
  EXPECT_NEAR(wide.above(eight.before, 0), (1 + 3 + 6 + 9 + 12 + 9 + 6 + 3) * each, 1e-6);
}

TEST(NetworkFlows, a_lost_spine_halves_what_crosses) {
  const SmallNetwork n;
  const auto first_up = static_cast<std::size_t>(n.tree().leaf_up(0, 0));
  const fabric::VertexId spine = n.graph.links[first_up].to;
  const NetworkLoad load = n.under(Collective::send_recv, {.switches = {spine}});
  EXPECT_EQ(load.note, "Drawn as every node to the one half-way round.");
  expect_time(load.before, 0.08, 50);
  EXPECT_NEAR(n.above(load.before, 0), 8, 1e-9);
  EXPECT_NEAR(load.before.bytes[first_up] / 1e9, 4, 1e-9) << "a cable each";
  ASSERT_TRUE(load.after);
  expect_time(*load.after, 0.16, 25);
  EXPECT_EQ(load.after->bytes[first_up], 0);
  EXPECT_NEAR(n.above(*load.after, 0), 8, 1e-9) << "both by the other";
  EXPECT_EQ(load.slowed, 4);
  EXPECT_EQ(load.cut, 0);
  EXPECT_TRUE(load.down[first_up]);
  EXPECT_TRUE(load.down[first_up ^ 1u]);
  EXPECT_EQ(std::accumulate(load.down.begin(), load.down.end(), 0), 4) << "two cables of a spine";
}

TEST(NetworkFlows, a_lost_cable_of_a_node_cuts_its_messages_and_no_others) {
  const SmallNetwork n;
  const NetworkLoad load = n.under(Collective::send_recv, {.cables = {n.tree().node_up(0) + 1}});
  EXPECT_EQ(load.cut, 2) << "from it and to it";
  EXPECT_EQ(load.slowed, 0);
  ASSERT_TRUE(load.after);
  expect_time(*load.after, 0.08, 50);
  EXPECT_EQ(n.of_node(*load.after, 0), 0);
  EXPECT_NEAR(n.of_node(*load.after, 1), 4, 1e-9);
  EXPECT_EQ(std::accumulate(load.down.begin(), load.down.end(), 0), 2);
  EXPECT_EQ(load.note,
            "Drawn as every node to the one half-way round. 2 messages have no way left: the job "
            "stops; the time is of the rest.");
}

// Two nodes of two rails: messages stay on their rail, each with half of the bytes.
TEST(NetworkFlows, messages_stay_on_their_rail) {
  SmallNetwork n;
  n.graph.rails = 2;
  const NetworkLoad load = n.under(Collective::all_gather);
  EXPECT_EQ(load.ranks, 2);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(n.of_node(load.before, i), 1, 1e-9) << "4 GB / 2 / 2";
  EXPECT_NEAR(n.above(load.before, 0), 2, 1e-9) << "both rails cross";
  expect_time(load.before, 0.02, 100);
}

// A NIC of two planes: what the lost plane carried goes by the other.
TEST(NetworkFlows, what_a_cut_plane_leaves_goes_by_the_others) {
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
  EXPECT_EQ(load.cut, 0) << "one of the planes is left";
  EXPECT_EQ(load.slowed, 2) << "one message each way carries all";
  EXPECT_NEAR(load.after->seconds.value / load.before.seconds.value, 2, 0.01);
}

// A ring of four wires: each carries what its node sends to the next, however many rails are told.
TEST(NetworkFlows, a_torus_has_one_lane_however_many_rails) {
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

TEST(NetworkFlows, what_is_not_said_is_a_gibibyte_summed_and_nothing_lost) {
  const CollectiveAsk usual;
  EXPECT_EQ(usual.kind, Collective::all_reduce);
  EXPECT_EQ(usual.bytes, gib(1));
  EXPECT_TRUE(NetworkLoss{}.empty());
  EXPECT_FALSE((NetworkLoss{.switches = {1}, .cables = {}}.empty()));
  EXPECT_FALSE((NetworkLoss{.switches = {}, .cables = {1}}.empty()));
}

// Eight nodes of eight rails below leaves of their own: without one of its spines a rail loses
// about that share of what crosses, and no more.
TEST(NetworkFlows, accelerators_lose_the_share_that_their_network_lost) {
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
  EXPECT_EQ(load.ranks, 1016) << "127 nodes of eight";
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

TEST(WidestFleets, are_those_with_most_ports_the_first_of_equals) {
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

}  // namespace
}  // namespace orrery::compare::network_flows_tests
