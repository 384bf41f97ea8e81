// Whole trees of small fabrics, what is refused of a tree, and lists of hosts, by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "output/emit/host_shape.h"
#include "output/emit/hosts.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

// "su-1: one-[1-5] | core: su-1 su-2".
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

// Leaves of 32 ports where 64 are not enough: at `b` ten hosts of eight NICs. Each site has a pod.
TEST(HostTrees, OfTwoSites) {
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

// A unit of a rail-optimised fabric has 32 hosts; nine of half the NICs are as wide as 4.5.
TEST(HostTrees, ByTopology) {
  const auto tree = [](const char* topology) {
    return tree_of("site: { region: deu }", kTwoKinds, topology);
  };
  EXPECT_EQ(tree("rail-fat-tree"),
            "su-1: one-[01-32] | su-2: one-[33-37],wide-[1-9] | core: su-1 su-2");
  EXPECT_EQ(tree("three-tier"),
            "su-1: one-[01-32] | su-2: one-[33-37],wide-[1-9] | core: su-1 su-2");
  EXPECT_EQ(tree("rail-only"), "su-1: one-[01-37],wide-[1-9]");
}

// Racks are leaves below their unit; what is rented hangs apart from the fabric.
TEST(HostTrees, OfRacksAndOfWhatIsRented) {
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

Hosts two_leaves(const ReviewedExample& r) {
  Hosts hosts;
  hosts.fleets = hosts_of(*r.review, HostsOf::all)->fleets;
  hosts.fleets[HostFleetIndex(0)].in_service = 4;
  hosts.fleets[HostFleetIndex(0)].spares = 1;
  hosts.fleets[HostFleetIndex(0)].digits = 1;
  hosts.tree = {{"l1", {}, {{HostFleetIndex(0), 1, 3}}},
                {"l2", {}, {{HostFleetIndex(0), 4, 2}}},
                {"core", {"l1", "l2"}, {}}};
  return hosts;
}

std::string tree_faults(const Hosts& hosts) {
  std::string out;
  for (const Diagnostic& d : check_tree(hosts)) {
    EXPECT_EQ(d.code, "emit.tree");
    EXPECT_EQ(d.fix, "change fabric.compute or the fleets so that each host is below one leaf");
    out += d.what + " / " + d.why + '\n';
  }
  return out;
}

TEST(HostTrees, WhatIsRefused) {
  const auto r =
      reviewed(read_text("orrery: 1\nname: t\nsite: { region: deu }\nfleet: [{ name: n, node: "
                         "dgx-h100, count: 4 }]\n"));
  const Hosts whole = two_leaves(*r);
  EXPECT_EQ(tree_faults(whole), "");
  const auto with = [&whole](const auto& change) {
    Hosts hosts = whole;
    change(hosts.tree);
    return tree_faults(hosts);
  };
  using Tree = std::vector<TreeSwitch>;
  const std::string slurm =
      " / Slurm only warns, and then places gangs by a tree that is not there\n";
  const std::string root = " / a tree has one root, and every switch one place in it\n";
  EXPECT_EQ(with([](Tree& t) { t[1].hosts.push_back({HostFleetIndex(0), 3, 1}); }),
            "host `n-3` is in the leaves `l1` and `l2`" + slurm);
  EXPECT_EQ(with([](Tree& t) { t[1].hosts = {{HostFleetIndex(0), 4, 1}}; }),
            "host `n-5` is in no leaf" + slurm);
  EXPECT_EQ(with([](Tree& t) { t[1].hosts = {{HostFleetIndex(0), 4, 3}}; }),
            "leaf `l2` names host 6 of a fleet that has none" + slurm);
  EXPECT_EQ(with([](Tree& t) { t[0].hosts = {{HostFleetIndex(0), 0, 4}}; }),
            "leaf `l1` names host 0 of a fleet that has none" + slurm + "host `n-1` is in no leaf" +
                slurm);
  EXPECT_EQ(with([](Tree& t) { t[1].hosts.push_back({HostFleetIndex(1), 1, 1}); }),
            "leaf `l2` names host 1 of a fleet that has none" + slurm);
  EXPECT_EQ(with([](Tree& t) { t[1].name = "l1"; }),
            "two switches are called `l1`" + root +
                "switch `core` joins `l2`, which is not below "
                "it" +
                root + "no switch reaches all hosts" + root);
  EXPECT_EQ(with([](Tree& t) { t[2].hosts = {{HostFleetIndex(0), 4, 0}}; }),
            "switch `core` has neither or both of hosts and switches" + root);
  EXPECT_EQ(with([](Tree& t) { t[2].switches = {"l1", "l2", "l2"}; }),
            "switch `l2` hangs twice" + root);
  EXPECT_EQ(with([](Tree& t) { t[2].switches = {"l1"}; }), "no switch reaches all hosts" + root);
}

TEST(HostTrees, ListsOfHosts) {
  const auto r = reviewed(read_text(
      "orrery: 1\nname: t\nsite: { region: deu }\nfleet:\n"
      "  - { name: n, node: dgx-h100, count: 14 }\n  - { name: m, node: dgx-h100, count: 3 }\n"));
  const Hosts hosts = hosts_of(*r->review, HostsOf::all).value();
  EXPECT_EQ(hostlist(hosts, {}), "");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 1}}), "n-03");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 0}}), "");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 0}, {HostFleetIndex(0), 5, 1}}), "n-05");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 1}, {HostFleetIndex(0), 5, 1}}), "n-[03,05]");
  EXPECT_EQ(hostlist(hosts, {{HostFleetIndex(0), 3, 2},
                             {HostFleetIndex(1), 1, 1},
                             {HostFleetIndex(1), 3, 1},
                             {HostFleetIndex(0), 9, 5}}),
            "n-[03-04],m-[1,3],n-[09-13]");
  EXPECT_EQ(host_name(hosts.fleets[HostFleetIndex(0)], 7), "n-07");
  EXPECT_EQ(host_name(hosts.fleets[HostFleetIndex(1)], 2), "m-2");
  ASSERT_NE(leaf_of(hosts, HostFleetIndex(0), 1), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 0), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(0), 15), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(1), 4), nullptr);
  EXPECT_EQ(leaf_of(hosts, HostFleetIndex(2), 1), nullptr);
}

TEST(HostTrees, ShapesOfHosts) {
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

}  // namespace
}  // namespace orrery::emit
