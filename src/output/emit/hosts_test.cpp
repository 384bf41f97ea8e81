// Where hosts hang: by fabric, by rack, by scheduler; and the shape of a host that nobody told.
#include "output/emit/hosts.h"

#include <gmock/gmock.h>

#include <set>

#include "output/emit/host_shape.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;

Hosts hosts_in(const ReviewedExample& r, HostsOf which = HostsOf::all) {
  auto hosts = hosts_of(*r.review, which);
  EXPECT_TRUE(hosts.has_value()) << (hosts ? "" : to_text(hosts.error()));
  return hosts ? *std::move(hosts) : Hosts{};
}

constexpr std::string_view kFabric = R"(
orrery: 1
name: fabric
site: { region: gcp-us-east4 }
fleet:
  - { name: n, node: dgx-h100, count: 24 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler: { kind: slurm }
)";

// Leaves of 32 endpoints, five a host: the seventh has ports on two of them, and hangs on the
// first.
TEST(Hosts, HangWhereTheirFirstPortDoes) {
  design::Design design = read_text(kFabric);
  design.fleet[0].custom = design::CustomNode{.compute_nics = 5};
  const auto r = reviewed(design);
  const Hosts hosts = hosts_in(*r);
  const fabric::Topology& t = *r->review->networks().compute.topology;
  ASSERT_EQ(t.spec.rails, 5);
  std::vector<const TreeSwitch*> first;
  bool some_straddle = false;
  for (const fabric::SwitchGroup& g : t.groups) {
    for (const fabric::LeafUnit& u : g.units) {
      const TreeSwitch* shared = nullptr;
      some_straddle = some_straddle || (u.node_from + u.nodes) % t.spec.rails != 0;
      for (int n = 0; n < 24; ++n) {
        const int port = n * t.spec.rails;
        if (port < u.node_from || port >= u.node_from + u.nodes) continue;
        const TreeSwitch* leaf = leaf_of(hosts, HostFleetIndex(0), n + 1);
        if (shared) EXPECT_EQ(leaf, shared) << n;
        shared = leaf;
      }
      if (shared) first.push_back(shared);
    }
  }
  EXPECT_TRUE(some_straddle);
  EXPECT_GT(first.size(), 2U);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
}

TEST(Hosts, OfADragonflyLieInItsGroups) {
  design::Design design = read_text(kFabric);
  design.fleet[0].count = 96;
  design.fabric.compute.topology = design::NamedTopology::dragonfly;
  const auto r = reviewed(design);
  const auto& t = r->review->networks().compute.topology;
  ASSERT_TRUE(t.has_value());
  ASSERT_GT(t->dragonfly_groups, 1);
  const Hosts hosts = hosts_in(*r);
  std::size_t leaves = 0;
  for (const TreeSwitch& s : hosts.tree) leaves += s.switches.empty() ? 1 : 0;
  EXPECT_EQ(leaves, static_cast<std::size_t>(t->dragonfly_groups));
}

// What is rented, and what has no port on the fabric, hangs apart.
TEST(Hosts, OffTheFabricHangApart) {
  design::Design design = read_text(kFabric);
  design.fleet.push_back(design.fleet[0]);
  design.fleet[1].name = "rented";
  design.fleet[1].count = 4;
  design.fleet[1].rent = read_template("cloud-rental").fleet[0].rent;
  const Hosts hosts = hosts_in(*reviewed(design));
  ASSERT_NE(leaf_of(hosts, HostFleetIndex(1), 4), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(1), 4)->name, "net-rented");
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(1), 4)->hosts,
            (std::vector<HostRange>{{HostFleetIndex(1), 1, 4}}));
}

TEST(Hosts, SeveralPodsAreSwitchesBelowTheCore) {
  design::Design design = read_template("superpod-h100");
  design.fleet[0].count = 4096;
  design.fabric.compute.topology = design::NamedTopology::fat_tree;
  const auto r = reviewed(design);
  const auto& t = r->review->networks().compute.topology;
  ASSERT_TRUE(t.has_value());
  ASSERT_GT(t->groups.size(), 1U);
  const Hosts hosts = hosts_in(*r);
  std::size_t pods = 0;
  for (const TreeSwitch& s : hosts.tree) pods += s.name.starts_with("pod-") ? 1 : 0;
  EXPECT_EQ(pods, t->groups.size());
  EXPECT_EQ(hosts.tree.back().switches.size(), pods);
}

// A rack is numbered, not its first host: the second of 18 hosts is domain 2.
TEST(Hosts, RacksAreNumberedAndTheirSparesAreWhole) {
  const auto r = reviewed(read_template("superpod-gb200"));
  const Hosts hosts = hosts_in(*r);
  EXPECT_EQ(hosts.fleets[HostFleetIndex(0)].in_service, 8 * 18);
  EXPECT_EQ(hosts.fleets[HostFleetIndex(0)].spares, 18);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 18)->name, "domain-train-1");
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 19)->name, "domain-train-2");
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 163), nullptr);
}

TEST(Hosts, ASwitchThatHangsTwiceIsRefused) {
  Hosts hosts = hosts_in(*reviewed(read_text(kFabric)));
  hosts.tree.back().switches.push_back(hosts.tree.front().name);
  ASSERT_FALSE(check_tree(hosts).empty());
  EXPECT_THAT(check_tree(hosts).front().what, HasSubstr("hangs twice"));
}

TEST(HostShapes, FollowTheDesignThenTheFactsThenAGuess) {
  design::Design design = read_text(kFabric);
  const auto shape = [&design] {
    return host_shape(hosts_in(*reviewed(design)).fleets[HostFleetIndex(0)]);
  };
  EXPECT_EQ(shape().sockets, 2);
  EXPECT_EQ(shape().cores_per_socket, 56);
  EXPECT_FALSE(shape().assumed);
  design.fleet[0].custom = design::CustomNode{.cores = 96};
  EXPECT_EQ(shape().sockets, 2);
  EXPECT_EQ(shape().cores_per_socket, 48);
  design.fleet[0].custom->cores = 97;  // not two equal sockets
  EXPECT_EQ(shape().sockets, 1);
  EXPECT_EQ(shape().cores_per_socket, 97);
  design.fleet[0].custom.reset();
  design.fleet[0].node = "hgx-h100-dlc";  // nobody says its processors
  EXPECT_TRUE(shape().assumed);
  EXPECT_EQ(shape().cores(), 16 * 8);
}

// A rack's processors are shared by its hosts.
TEST(HostShapes, OfARackAreThoseOfOneHost) {
  design::Design design = read_template("superpod-gb200");
  design.fleet[0].node = "vr200-nvl72";  // nobody says its processors
  const HostShape shape = host_shape(hosts_in(*reviewed(design)).fleets[HostFleetIndex(0)]);
  EXPECT_EQ(shape.sockets, 2);
  EXPECT_EQ(shape.cores(), 16 * 4);
}

}  // namespace
}  // namespace orrery::emit
