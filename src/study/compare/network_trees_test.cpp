// A collective of accelerators on the network that joins them: rings and trees with the bytes that
// the closed form puts on a NIC, the time with a share of the network gone, queue pairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "study/compare/network_load.h"

namespace orrery::compare::network_trees_tests {
namespace {

using workload::Collective;

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

TEST(NetworkTrees, the_time_is_the_closed_form_s) {
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

// Node i of a tree of twelve hangs below (i without its lowest bit) with the next bit set, or below
// the former where there is no such node.
std::vector<int> degrees() {
  std::vector<int> all(12, 0);
  const int parents[] = {0, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10};
  for (int i = 1; i < 12; ++i)
    ++all[static_cast<std::size_t>(i)], ++all[static_cast<std::size_t>(parents[i])];
  return all;
}

// Each tree carries a quarter up and a quarter down on each of its edges; the second is the first
// one node on.
TEST(NetworkTrees, two_trees_carry_a_sum) {
  const TwelveHosts& h = twelve();
  bool seen = false;
  for (const Bytes bytes : {kib(64), mib(1), mib(16), mib(64)}) {
    const auto closed = h.closed(Collective::all_reduce, bytes);
    const NetworkLoad load = h.under(Collective::all_reduce, bytes);
    if (closed.detail.algorithm == fabric::CollectiveAlgorithm::ring) continue;
    seen = true;
    EXPECT_EQ(load.note, "Drawn as two binary trees a rail, in the order of the nodes.");
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

TEST(NetworkTrees, a_ring_carries_a_gathering) {
  const TwelveHosts& h = twelve();
  const auto closed = h.closed(Collective::all_gather, gib(1));
  ASSERT_EQ(closed.detail.algorithm, fabric::CollectiveAlgorithm::ring);
  const NetworkLoad load = h.under(Collective::all_gather, gib(1));
  EXPECT_EQ(load.note, "Drawn as one ring a rail, in the order of the nodes.");
  const double nic = closed.detail.nic_rate.base() * closed.seconds.value;
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(h.sent(load.before, i), nic, 1e-6 * nic);
}

// A cable of a node: its rail's messages from and to that node are cut, and the time is of the
// rest.
TEST(NetworkTrees, a_cable_that_is_lost_cuts_one_rail_of_one_node) {
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
}  // namespace orrery::compare::network_trees_tests
