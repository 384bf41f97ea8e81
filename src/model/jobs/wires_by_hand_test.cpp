// The networks of a site counted out by hand: ports of hosts, servers and switches, what they are
// built of, how RoCE marks and pauses, and which wires lead from a fleet to a tier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

using testing::IsEmpty;

// Two sites; what stands there comes after.
machine::Machine wired(const std::string& fleets, const std::string& more) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa }\n  - { name: two, region: deu "
      "}\nfleet:\n" +
          fleets + more,
      machine::known().catalog());
  EXPECT_TRUE(read) << to_text(read.error());
  return build_machine(read.value(), machine::known());
}

constexpr const char* kThreeNetworks =
    "fabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n"
    "  storage: { topology: fat-tree, switch: qm9700 }\n"
    "  management: { topology: fat-tree, switch: oob-sn2201 }\n";

std::string part_of(const catalog::Bill& bill, const std::string& item) {
  for (const catalog::BillLine& l : bill.lines) {
    if (l.item == item) return l.part_id;
  }
  return "no such line";
}

// At 50 GB/s: 2 x 7.5 kB in 30 m of cable, 30 kB in 600 ns, two packets of 4.2 kB are 53.4 kB, less
// than the 150 kB of three steps. At 125 MB/s the 8,512.5 B are more than 375 B.
TEST(WiresPause, room_is_for_what_comes_until_a_pause_acts) {
  design::Network wanted;
  machine::Network n{.wanted = &wanted, .port_rate = gbits_per_s(400)};
  fabric::PauseOptions o = pause_options(n);
  EXPECT_TRUE(o.pauses);
  EXPECT_EQ(o.xoff, bytes(1e6));
  EXPECT_DOUBLE_EQ(o.headroom.base(), 150e3);
  ASSERT_TRUE(o.marking);
  EXPECT_EQ(o.marking->kmin, bytes(150e3));
  EXPECT_EQ(o.marking->kmax, bytes(1500e3));
  EXPECT_EQ(o.marking->pmax, 1);
  EXPECT_FALSE(o.watchdog);
  n.port_rate = gbits_per_s(1);
  EXPECT_DOUBLE_EQ(pause_options(n).headroom.base(), 8512.5);
  // A link of a network in planes is narrower than the port.
  n.topology.emplace();
  n.topology->spec.link_rate = gbits_per_s(200);
  EXPECT_DOUBLE_EQ(pause_options(n).headroom.base(), 75e3);
}

TEST(WiresPause, what_is_declared_is_taken) {
  design::Network wanted;
  const machine::Network n{.wanted = &wanted, .port_rate = gbits_per_s(400)};
  design::RoceChecklist& roce = wanted.roce;
  roce = {.pfc = false, .ecn = false, .pfc_watchdog = true, .xoff = bytes(77)};
  EXPECT_FALSE(pause_options(n).pauses);
  EXPECT_FALSE(pause_options(n).marking);
  EXPECT_EQ(pause_options(n).xoff, bytes(77));
  EXPECT_EQ(pause_options(n).watchdog, milliseconds(200));
  roce = {.pfc = true, .ecn = true, .pfc_watchdog = true, .watchdog_time = milliseconds(70)};
  EXPECT_TRUE(pause_options(n).pauses);
  EXPECT_TRUE(pause_options(n).marking);
  EXPECT_EQ(pause_options(n).watchdog, milliseconds(70));
  roce = {.pfc_watchdog = false, .watchdog_time = milliseconds(70)};
  EXPECT_FALSE(pause_options(n).watchdog);
}

TEST(WiresPause, of_one_mark_given_alone_the_other_follows) {
  design::Network wanted;
  const machine::Network n{.wanted = &wanted, .port_rate = gbits_per_s(400)};
  design::RoceChecklist& roce = wanted.roce;
  roce = {.ecn_kmin = bytes(2e6), .ecn_pmax = 0.25};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(2e6));
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(2e6));
  EXPECT_EQ(pause_options(n).marking->pmax, 0.25);
  roce = {.ecn_kmin = bytes(2e5)};
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(15e5)) << "it lies above";
  roce = {.ecn_kmax = bytes(1e5)};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(1e5));
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(1e5));
  roce = {.ecn_kmax = bytes(2e5)};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(15e4)) << "it lies below";
  roce = {.ecn_kmin = bytes(3e5), .ecn_kmax = bytes(2e5)};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(3e5));
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(2e5));
}

TEST(WiresParts, a_network_speaks_what_is_declared_or_what_its_switch_does) {
  const catalog::Switch* ethernet = machine::known().catalog().switch_part("sn5600");
  const catalog::Switch* infiniband = machine::known().catalog().switch_part("qm9700");
  design::Network n{.topology = design::NamedTopology::fat_tree};
  EXPECT_TRUE(machine::speaks_roce(n, ethernet));
  EXPECT_FALSE(machine::speaks_roce(n, infiniband));
  EXPECT_FALSE(machine::speaks_roce(n, nullptr));
  n.protocol = design::Protocol::roce;
  EXPECT_TRUE(machine::speaks_roce(n, infiniband));
  EXPECT_TRUE(machine::speaks_roce(n, nullptr));
  n.protocol = design::Protocol::ethernet;
  EXPECT_FALSE(machine::speaks_roce(n, ethernet));
  n = {};
  EXPECT_FALSE(machine::speaks_roce(n, ethernet)) << "no network is declared";
  EXPECT_TRUE(machine::is_co_packaged(machine::known().catalog().switch_part("sn6810-cpo")));
  EXPECT_FALSE(machine::is_co_packaged(ethernet));
  EXPECT_FALSE(machine::is_co_packaged(nullptr));
}

TEST(WiresParts, a_port_is_split_into_eight_at_the_most) {
  const catalog::Switch part{.ports = 10, .port_rate = gbits_per_s(800)};
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(100)), 80);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(50)), 80);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(112)), 70);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(801)), 10) << "slower than what hangs on it";
  EXPECT_EQ(machine::radix_at(part, BytesPerSecond(-1)), 10);
}

// 16 leaves of 8 rails are two sets.
TEST(WiresParts, hosts_of_a_leaf_are_those_of_its_set) {
  machine::Network n;
  EXPECT_EQ(machine::hosts_per_leaf(n, 5), 5) << "no network";
  EXPECT_EQ(machine::hosts_per_leaf(n, 0), 1);
  n.topology.emplace();
  n.topology->spec.rails = 8;
  EXPECT_EQ(machine::hosts_per_leaf(n, 5), 5) << "no leaves";
  n.topology->leaves = 16;
  EXPECT_EQ(machine::hosts_per_leaf(n, 63), 32);
  EXPECT_EQ(machine::hosts_per_leaf(n, 64), 32);
  EXPECT_EQ(machine::hosts_per_leaf(n, 65), 33);
  EXPECT_EQ(machine::hosts_per_leaf(n, 0), 1);
  n.topology->leaves = 4;
  EXPECT_EQ(machine::hosts_per_leaf(n, 7), 7) << "rails share leaves: one set";
  n.topology->leaves = 1;
  EXPECT_EQ(machine::hosts_per_leaf(n, 7), 7);
  n.topology->spec.rails = 0;
  n.topology->leaves = 3;
  EXPECT_EQ(machine::hosts_per_leaf(n, 7), 3);
}

// Site one: three nodes and a spare of 8 NICs; two storage ports each; three servers of 100 GB/s on
// two ports each and two for names: 8 + 6 + 2 ports. One switch each, so that 4 hosts, 5 servers
// and 2 switches are managed. A rented fleet is on its provider's wires.
TEST(WiresCounted, hosts_servers_and_switches_have_ports) {
  const machine::Machine m = wired(
      "  - { name: a, node: dgx-h100, count: 3, spares: 1, site: one }\n"
      "  - { name: r, node: dgx-h100, count: 9, site: one, rent: { provider: aws } }\n"
      "  - { name: b, node: gb200-nvl72, count: 2, spares: 1, site: two }\n",
      std::string(kThreeNetworks) +
          "storage:\n  - { tier: hot, site: one, kind: parallel-fs, device: tlc-gen4, servers: 3, "
          "devices_per_server: 5, server_network: 800 Gb/s, metadata: { servers: 2 } }\n");
  ASSERT_EQ(m.networks.size(), 2U);
  const machine::Networks& one = m.networks[design::SiteIndex(0)];
  EXPECT_EQ(one.site->name, "one");
  EXPECT_EQ(one.compute.name, "compute");
  EXPECT_EQ(one.compute.path, "fabric.compute");
  EXPECT_EQ(one.compute.nic_ports, 32);
  EXPECT_EQ(one.compute.ports_per_node, 8);
  EXPECT_EQ(one.compute.per_node(), gbytes_per_s(400));
  EXPECT_EQ(one.compute.topology->endpoints, 32);
  EXPECT_EQ(one.compute.topology->spec.nodes, 4);
  EXPECT_EQ(one.compute.topology->spec.radix, 64);
  EXPECT_EQ(one.compute.topology->spec.manager_ports, 4);
  EXPECT_EQ(one.compute.topology->spec.link_latency, nanoseconds(150));
  EXPECT_EQ(one.compute.topology->switches(), 1);
  EXPECT_FALSE(one.compute.is_roce);
  EXPECT_EQ(one.storage.topology->endpoints, 16);
  EXPECT_EQ(one.storage.ports_per_node, 2);
  EXPECT_EQ(one.storage.port_rate, gbits_per_s(400));
  EXPECT_EQ(one.storage.topology->switches(), 1);
  EXPECT_EQ(one.storage.nic_ports, 0);
  EXPECT_EQ(one.management.topology->endpoints, 4 + 5 + 2);
  EXPECT_EQ(one.management.port_rate, gbits_per_s(1));
  EXPECT_EQ(one.management.topology->spec.radix, 48);
  EXPECT_EQ(one.management.topology->spec.manager_ports, 0) << "Ethernet";
  // 54 hosts of 4 NICs in three racks.
  const machine::Networks& two = m.networks[design::SiteIndex(1)];
  EXPECT_EQ(two.compute.nic_ports, 216);
  EXPECT_EQ(two.compute.ports_per_node, 4);
  EXPECT_EQ(two.compute.topology->endpoints, 216);
  EXPECT_EQ(two.storage.topology->endpoints, 108);
  EXPECT_EQ(two.management.topology->endpoints,
            54 + two.compute.topology->switches() + two.storage.topology->switches());
  EXPECT_EQ(&m.main_networks(), &one);
  EXPECT_EQ(&m.networks_of(m.fleets[design::FleetIndex(2)]), &two);
  EXPECT_EQ(&m.storage_wires(m.fleets[design::FleetIndex(2)]), &two.storage);
}

// A port of 400 Gb/s carries a server of 50 GB/s; a little more takes two.
TEST(WiresCounted, a_server_has_the_ports_that_carry_it) {
  const auto ports = [](const std::string& network) {
    const machine::Machine m = wired(
        "  - { name: a, node: dgx-h100, count: 4, site: one }\n",
        std::string(kThreeNetworks) +
            "storage:\n  - { tier: hot, site: one, kind: parallel-fs, device: tlc-gen4, servers: "
            "2, devices_per_server: 5, server_network: " +
            network + " }\n");
    return m.networks[design::SiteIndex(0)].storage.topology->endpoints - 8;
  };
  EXPECT_EQ(ports("100 Gb/s"), 2);
  EXPECT_EQ(ports("400 Gb/s"), 2);
  EXPECT_EQ(ports("401 Gb/s"), 4);
  EXPECT_EQ(ports("1200 Gb/s"), 6);
}

// Ports, their rate and the NIC may be given; a card of two ports of 200 Gb/s is bought.
TEST(WiresCounted, what_the_design_gives_is_taken) {
  const auto fabric = [](const std::string& compute) {
    return wired("  - { name: a, node: dgx-h100, count: 4, site: one }\n",
                 "fabric:\n  compute: { topology: rail-fat-tree, switch: sn5600" + compute +
                     " }\n  storage: { topology: fat-tree, switch: sn5600, ports_per_node: 3, "
                     "port_rate: 200 Gb/s }\n");
  };
  const machine::Machine own = fabric("");
  EXPECT_EQ(compute_port_rate(own.networks[design::SiteIndex(0)].compute,
                              own.fleets[design::FleetIndex(0)]),
            gbits_per_s(400));
  EXPECT_EQ(own.networks[design::SiteIndex(0)].compute.nic, nullptr);
  EXPECT_TRUE(own.networks[design::SiteIndex(0)].compute.is_roce);
  EXPECT_EQ(own.networks[design::SiteIndex(0)].compute.topology->spec.radix, 128);
  EXPECT_EQ(own.networks[design::SiteIndex(0)].compute.topology->spec.link_latency,
            nanoseconds(600));
  EXPECT_EQ(own.networks[design::SiteIndex(0)].storage.ports_per_node, 3);
  EXPECT_EQ(own.networks[design::SiteIndex(0)].storage.port_rate, gbits_per_s(200));
  EXPECT_FALSE(own.networks[design::SiteIndex(0)].management.topology);
  EXPECT_THAT(own.networks[design::SiteIndex(0)].management.bill.lines, IsEmpty());
  EXPECT_EQ(part_of(own.networks[design::SiteIndex(0)].compute.bill, "NIC (part of the node)"), "");
  const machine::Machine bought = fabric(", nic: cx6-vpi");
  EXPECT_EQ(bought.networks[design::SiteIndex(0)].compute.nic->id, "cx6-vpi");
  EXPECT_EQ(bought.networks[design::SiteIndex(0)].compute.port_rate, gbits_per_s(200));
  EXPECT_EQ(part_of(bought.networks[design::SiteIndex(0)].compute.bill, "NIC"), "cx6-vpi");
  const machine::Machine given =
      fabric(", nic: cx6-vpi, port_rate: 100 Gb/s, ports_per_node: 2, planes: 2");
  EXPECT_EQ(compute_port_rate(given.networks[design::SiteIndex(0)].compute,
                              given.fleets[design::FleetIndex(0)]),
            gbits_per_s(100));
  EXPECT_EQ(machine::compute_ports(*given.networks[design::SiteIndex(0)].compute.wanted,
                                   given.fleets[design::FleetIndex(0)]),
            2);
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.nic_ports, 32) << "wired or not";
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.topology->endpoints, 4 * 2 * 2);
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.topology->spec.link_rate, gbits_per_s(50));
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.topology->spec.radix, 512);
}

TEST(WiresCounted, a_topology_has_its_tiers_and_its_sizes) {
  const auto built = [](const std::string& compute) {
    const machine::Machine m = wired("  - { name: a, node: dgx-h100, count: 4, site: one }\n",
                                     "fabric:\n  compute: { switch: qm9700, " + compute + " }\n");
    return m.networks[design::SiteIndex(0)].compute;
  };
  EXPECT_EQ(built("topology: rail-fat-tree").topology->tiers, 1);
  EXPECT_EQ(built("topology: three-tier").topology->tiers, 3);
  const machine::Network torus = built("topology: torus, dimensions: [4, 8]");
  ASSERT_TRUE(torus.topology);
  EXPECT_EQ(torus.topology->node_links, 2 * 32);
  const machine::Network wrong = built("topology: torus, dimensions: [4, 7]");
  EXPECT_FALSE(wrong.topology);
  ASSERT_EQ(wrong.faults.size(), 1U);
  EXPECT_EQ(wrong.faults[0].code, "fabric.torus");
  EXPECT_EQ(built("topology: twin-plane").topology->spec.planes, 2);
  EXPECT_EQ(built("topology: rail-fat-tree, rails: 4").topology->spec.rails, 4);
}

// One host has nobody to talk to; hosts without NICs for it have 100 Gb/s to storage.
TEST(WiresCounted, what_is_alone_or_has_no_ports) {
  const machine::Machine single =
      wired("  - { name: a, node: dgx-h100, count: 1, site: one }\n", std::string(kThreeNetworks));
  EXPECT_FALSE(single.networks[design::SiteIndex(0)].compute.topology);
  EXPECT_THAT(single.networks[design::SiteIndex(0)].compute.faults, IsEmpty()) << "it needs none";
  EXPECT_EQ(single.networks[design::SiteIndex(0)].compute.ports_per_node, 8);
  EXPECT_EQ(single.networks[design::SiteIndex(0)].storage.port_rate, gbits_per_s(400));
  EXPECT_EQ(single.networks[design::SiteIndex(0)].storage.topology->endpoints, 2);
  EXPECT_FALSE(single.networks[design::SiteIndex(1)].storage.topology) << "nothing stands there";
  const machine::Machine bare = wired(
      "  - { name: a, count: 2, site: one, custom: { accelerators: 0, cores: 64, sockets: 2, "
      "compute_nics: 0, storage_nics: 3 } }\n  - { name: b, count: 2, site: two, custom: { "
      "accelerators: 0, cores: 64, sockets: 2, compute_nics: 0, storage_nic_rate: 25 Gb/s } }\n",
      std::string(kThreeNetworks));
  EXPECT_EQ(bare.networks[design::SiteIndex(0)].compute.nic_ports, 0);
  EXPECT_EQ(bare.networks[design::SiteIndex(0)].storage.ports_per_node, 3);
  EXPECT_EQ(bare.networks[design::SiteIndex(0)].storage.port_rate, gbits_per_s(100));
  EXPECT_EQ(bare.networks[design::SiteIndex(1)].storage.ports_per_node, 2);
  EXPECT_EQ(bare.networks[design::SiteIndex(1)].storage.port_rate, gbits_per_s(25));
}

// Modules are those of two links, the nearest above: 800G for 400G links, 400G for 200G. Up to 10
// Gb/s cables are copper, unless an optic is asked for.
TEST(WiresBought, modules_and_cables_follow_from_the_rate) {
  const auto management = [](const std::string& more) {
    const machine::Machine m =
        wired("  - { name: a, node: dgx-h100, count: 4, site: one }\n",
              "fabric:\n  management: { topology: fat-tree, switch: sn4600c, " + more + " }\n");
    return m.networks[design::SiteIndex(0)].management.bill;
  };
  const auto twin = [&](const std::string& more) {
    return part_of(management(more), "switch optics (twin-port)");
  };
  EXPECT_EQ(part_of(management("port_rate: 10 Gb/s"), "cable node-leaf"), "cat5e");
  EXPECT_EQ(twin("port_rate: 10 Gb/s"), "no such line");
  EXPECT_EQ(part_of(management("port_rate: 11 Gb/s"), "cable node-leaf"), "mpo-trunk");
  EXPECT_EQ(twin("port_rate: 10 Gb/s, link: 400g-sr4"), "400g-sr4");
  EXPECT_EQ(part_of(management("port_rate: 10 Gb/s, link: 400g-sr4"), "cable node-leaf"),
            "mpo-trunk");
  EXPECT_EQ(twin("port_rate: 100 Gb/s"), "400g-dr4");
  EXPECT_EQ(twin("port_rate: 200 Gb/s"), "400g-dr4");
  EXPECT_EQ(twin("port_rate: 201 Gb/s"), "800g-2xdr4");
  EXPECT_EQ(twin("port_rate: 401 Gb/s"), "1600g-dr8");
  EXPECT_EQ(part_of(management("port_rate: 200 Gb/s"), "node optics"), "400g-dr4");
  EXPECT_EQ(part_of(management("port_rate: 201 Gb/s"), "node optics"), "800g-2xdr4");
  EXPECT_EQ(part_of(management("port_rate: 100 Gb/s"), "leaf switch"), "sn4600c");
}

// 127 nodes of 8 NICs: 32 leaves and 16 spines of 64 ports (DGX SuperPOD H100, table 7).
TEST(WiresBought, a_network_by_itself) {
  const catalog::Catalog& c = machine::known().catalog();
  machine::PlainNetwork wanted{.nodes = 127,
                               .ports_per_node = 8,
                               .switch_part = c.switch_part("qm9700"),
                               .port_rate = gbits_per_s(400)};
  const auto built = machine::build_network(wanted, c);
  ASSERT_TRUE(built);
  EXPECT_EQ(built->topology.leaves, 32);
  EXPECT_EQ(built->topology.spines, 16);
  EXPECT_EQ(built->topology.manager_links, 4);
  EXPECT_EQ(built->topology.spec.link_latency, nanoseconds(150));
  EXPECT_EQ(built->bill.count("compute fabric", "leaf switch"), 32);
  EXPECT_EQ(part_of(built->bill, "leaf switch"), "qm9700");
  EXPECT_EQ(part_of(built->bill, "spine switch"), "qm9700");
  EXPECT_EQ(part_of(built->bill, "NIC (part of the node)"), "cx7");
  EXPECT_EQ(part_of(built->bill, "switch optics (twin-port)"), "800g-2xdr4");
  EXPECT_EQ(part_of(built->bill, "node optics"), "800g-2xdr4");
  EXPECT_EQ(part_of(built->bill, "cable node-leaf"), "mpo-trunk");
  wanted.planes = 2;
  EXPECT_EQ(machine::build_network(wanted, c)->topology.spec.radix, 128) << "planes of 200 Gb/s";
  EXPECT_EQ(machine::build_network(wanted, c)->topology.endpoints, 127 * 8 * 2);
  wanted.radix = 96;
  wanted.oversubscription = 2;
  EXPECT_EQ(machine::build_network(wanted, c)->topology.spec.radix, 96);
  EXPECT_EQ(machine::build_network(wanted, c)->topology.leaf_uplinks, 24);
  wanted.switch_part = c.switch_part("sn5600");
  EXPECT_EQ(machine::build_network(wanted, c)->topology.manager_links, 0);
  wanted = {.kind = catalog::TopologyKind::torus,
            .nodes = 12,
            .switch_part = c.switch_part("qm9700"),
            .port_rate = gbits_per_s(400),
            .torus = {3, 4}};
  EXPECT_EQ(machine::build_network(wanted, c)->topology.node_links, 24);
  wanted.torus = {3, 5};
  EXPECT_FALSE(machine::build_network(wanted, c));
}

TEST(WiresLead, from_a_fleet_to_a_tier_of_another_site) {
  const machine::Machine m = wired(
      "  - { name: a, node: dgx-h100, count: 2, site: one }\n"
      "  - { name: r, node: dgx-h100, count: 2, site: one, rent: { provider: aws } }\n",
      "fabric:\n  wan: [{ between: [one, two], rate: 8 Gb/s, latency: 30 ms }]\n  storage: { "
      "converged: true }\nstorage:\n  - { tier: hot, site: one, kind: parallel-fs, read: 9 GB/s, "
      "write: 9 GB/s, capacity: 1 PB }\n  - { tier: warm, site: two, kind: nfs, read: 9 GB/s, "
      "write: 9 GB/s, capacity: 1 PB }\n  - { tier: cold, site: two, kind: object, provider: aws, "
      "capacity: 1 PB }\n");
  const machine::Fleet& own = m.fleets[design::FleetIndex(0)];
  EXPECT_FALSE(m.crossing_to(own, m.tiers[design::TierIndex(0)]).leaves_site);
  const machine::Crossing away = m.crossing_to(own, m.tiers[design::TierIndex(1)]);
  EXPECT_TRUE(away.leaves_site);
  ASSERT_TRUE(away.path);
  EXPECT_EQ(away.path->rate, gbytes_per_s(1));
  EXPECT_EQ(away.latency(), milliseconds(30));
  EXPECT_FALSE(m.crossing_to(own, m.tiers[design::TierIndex(2)]).leaves_site)
      << "its provider's way";
  EXPECT_FALSE(
      m.crossing_to(m.fleets[design::FleetIndex(1)], m.tiers[design::TierIndex(1)]).leaves_site)
      << "rented: likewise";
  machine::Tier inside = m.tiers[design::TierIndex(1)];
  inside.per_node = true;
  EXPECT_FALSE(m.crossing_to(own, inside).leaves_site);
  EXPECT_EQ(&m.storage_wires(own), &m.networks[design::SiteIndex(0)].compute)
      << "one network for both";
}

}  // namespace
}  // namespace orrery::jobs
