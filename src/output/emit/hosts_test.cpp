#include "output/emit/hosts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "output/emit/host_shape.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using ::testing::HasSubstr;
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

// Leaves of 32 endpoints, five per host: the seventh host has ports on two leaves and belongs to
// the first.
TEST(Hosts, a_host_belongs_to_the_leaf_of_its_first_port) {
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

TEST(Hosts, dragonfly_groups_are_leaves) {
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

// Rented machines, and machines without a port on the fabric, are apart.
TEST(Hosts, hosts_off_the_fabric_have_a_leaf_of_their_own) {
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

TEST(Hosts, pods_are_switches_below_the_core) {
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

// The number belongs to the rack, not to its first host: the second group of 18 hosts is domain 2.
TEST(Hosts, racks_are_numbered_and_spares_are_whole_racks) {
  const auto r = reviewed(read_template("superpod-gb200"));
  const Hosts hosts = hosts_in(*r);
  EXPECT_EQ(hosts.fleets[HostFleetIndex(0)].in_service, 8 * 18);
  EXPECT_EQ(hosts.fleets[HostFleetIndex(0)].spares, 18);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 18)->name, "domain-train-1");
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 19)->name, "domain-train-2");
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 163), nullptr);
}

TEST(Hosts, a_switch_with_two_parents_is_refused) {
  Hosts hosts = hosts_in(*reviewed(read_text(kFabric)));
  hosts.tree.back().switches.push_back(hosts.tree.front().name);
  ASSERT_FALSE(check_tree(hosts).empty());
  EXPECT_EQ(check_tree(hosts).front().code, "emit.tree");
}

TEST(Hosts, host_shape_comes_from_the_design_then_the_catalog_then_a_guess) {
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
  design.fleet[0].node = "hgx-h100-dlc";  // its processors are not known
  EXPECT_TRUE(shape().assumed);
  EXPECT_EQ(shape().cores(), 16 * 8);
}

// The processors of a rack are shared by its hosts.
TEST(Hosts, processors_of_a_rack_are_shared_by_its_hosts) {
  design::Design design = read_template("superpod-gb200");
  design.fleet[0].node = "vr200-nvl72";  // its processors are not known
  const HostShape shape = host_shape(hosts_in(*reviewed(design)).fleets[HostFleetIndex(0)]);
  EXPECT_EQ(shape.sockets, 2);
  EXPECT_EQ(shape.cores(), 16 * 4);
}

// Returns "su-1: one-[1-5] | core: su-1 su-2".
std::string tree_text(const Hosts& hosts) {
  std::string out;
  for (const TreeSwitch& s : hosts.tree) {
    out += (out.empty() ? "" : " | ") + s.name + ":";
    if (!s.hosts.empty()) out += ' ' + hostlist(hosts, s.hosts);
    for (const std::string& below : s.switches) out += ' ' + below;
  }
  return out;
}

std::string tree_of(const std::string& sites, const std::string& fleet,
                    const std::string& topology) {
  const auto r = reviewed(read_text("orrery: 1\nname: t\n" + sites + "\nfleet:\n" + fleet +
                                    "fabric: { compute: { topology: " + topology +
                                    ", switch: qm9700 } }\n"
                                    "scheduler: { kind: slurm }\n"));
  const auto hosts = hosts_of(*r->review, HostsOf::slurm);
  return hosts ? tree_text(*hosts) : to_text(hosts.error());
}

// Leaves of 32 ports where 64 are not enough: at `b` there are ten hosts of eight NICs. Each site
// has a pod.
TEST(Hosts, two_sites_have_two_trees) {
  EXPECT_EQ(tree_of("sites:\n  - { name: a, region: deu }\n  - { name: b, region: fra }",
                    "  - { name: one, site: a, node: dgx-h100, count: 5 }\n"
                    "  - { name: two, site: b, node: dgx-h100, count: 9, spares: 1 }\n"
                    "  - { name: three, site: a, node: a100-4-server, count: 3 }\n",
                    "fat-tree"),
            "su-1: one-[1-5],three-[1-3] | su-2: two-[01-04] | su-3: two-[05-08] | "
            "su-4: two-[09-10] | pod-1: su-1 | pod-2: su-2 su-3 su-4 | core: pod-1 pod-2");
}

constexpr const char* kTwoKinds =
    "  - { name: one, node: dgx-h100, count: 37 }\n"
    "  - { name: wide, node: a100-4-server, count: 9 }\n";

// A unit of a rail-optimised fabric has 32 hosts; nine hosts with half the NICs count as 4.5.
TEST(Hosts, the_tree_follows_the_topology) {
  const auto tree = [](const char* topology) {
    return tree_of("site: { region: deu }", kTwoKinds, topology);
  };
  EXPECT_EQ(tree("rail-fat-tree"),
            "su-1: one-[01-32] | su-2: one-[33-37],wide-[1-9] | core: su-1 su-2");
  EXPECT_EQ(tree("three-tier"),
            "su-1: one-[01-32] | su-2: one-[33-37],wide-[1-9] | core: su-1 su-2");
  EXPECT_EQ(tree("rail-only"), "su-1: one-[01-37],wide-[1-9]");
}

// Racks are leaves below their unit; rented machines are apart from the fabric.
TEST(Hosts, racks_and_rented_fleets_are_leaves) {
  EXPECT_EQ(tree_of("site: { region: deu }",
                    "  - { name: racks, node: gb200-nvl72, count: 2, spares: 1 }\n"
                    "  - { name: gold, node: gaudi3-ubb, count: 2 }\n"
                    "  - { name: loose, node: dgx-h100, count: 1, rent: { provider: aws } }\n",
                    "fat-tree"),
            "domain-racks-1: racks-[01-18] | domain-racks-2: racks-[19-36] | "
            "domain-racks-3: racks-[37-54] | su-4: gold-[1-2] | su-1: domain-racks-1 | "
            "su-2: domain-racks-2 | su-3: domain-racks-3 | net-loose: loose-1 | "
            "core: su-1 su-2 su-3 su-4 net-loose");
}

TEST(Hosts, hosts_are_listed_by_leaf) {
  const auto r = reviewed(read_text(
      "orrery: 1\nname: t\nsite: { region: deu }\nfleet:\n"
      "  - { name: n, node: dgx-h100, count: 14 }\n  - { name: m, node: dgx-h100, count: 3 }\n"));
  const Hosts hosts = hosts_of(*r->review, HostsOf::all).value();
  EXPECT_EQ(hostlist(hosts, {}), "");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 1}}), "n-03");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 0}}), "");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 0}, {HostFleetIndex(0), 5, 1}}), "n-05");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 1}, {HostFleetIndex(0), 5, 1}}), "n-[03,05]");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 2}, {HostFleetIndex(1), 1, 1}, {HostFleetIndex(1), 3, 1}, {HostFleetIndex(0), 9, 5}}),
            "n-[03-04],m-[1,3],n-[09-13]");
  EXPECT_EQ(host_name(hosts.fleets[HostFleetIndex(0)], 7), "n-07");
  EXPECT_EQ(host_name(hosts.fleets[HostFleetIndex(1)], 2), "m-2");
  ASSERT_NE(leaf_of(hosts, HostFleetIndex(0), 1), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 0), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 15), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(1), 4), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(2), 1), nullptr);
}

TEST(Hosts, host_shapes_of_catalog_nodes) {
  const auto shape = [](const std::string& node) {
    const auto r = reviewed(
        read_text("orrery: 1\nname: t\nsite: { region: deu }\nfleet: [{ name: n, count: 2, " +
                  node + " }]\n"));
    const HostShape s = host_shape(hosts_of(*r->review, HostsOf::all)->fleets[HostFleetIndex(0)]);
    return std::to_string(s.sockets) + " x " + std::to_string(s.cores_per_socket) +
           (s.memory ? ", " + std::to_string(std::llround(*s.memory / gib(1))) : "") +
           (s.assumed ? ", assumed" : "");
  };
  EXPECT_EQ(shape("node: dgx-a100"), "2 x 64, 2048");
  EXPECT_EQ(shape("node: gb300-nvl72"), "2 x 72, 960");
  EXPECT_EQ(shape("node: l4-1-edge"), "1 x 16, assumed");
  EXPECT_EQ(shape("node: l4-2-edge"), "1 x 32, assumed");
  EXPECT_EQ(shape("node: cpu-2s-server"), "2 x 8, assumed");
  EXPECT_EQ(shape("node: cpu-2s-server, custom: { cores: 96 }"), "2 x 48");
  EXPECT_EQ(shape("node: dgx-h100, custom: { cores: 95 }"), "1 x 95, 2048");
}

TEST(Hosts, host_ranges_may_start_at_zero) {
  EXPECT_EQ(HostFleet{}.hosts(), 0);
  EXPECT_EQ(HostFleet{}.hosts_per_node, 1);
  EXPECT_EQ(HostFleet{}.digits, 1);
  EXPECT_EQ(HostRange{}.from, 1);
  EXPECT_EQ(HostRange{}.count, 0);
  EXPECT_EQ(HostRange{}.fleet, HostFleetIndex(0));
}

}  // namespace
}  // namespace orrery::emit
