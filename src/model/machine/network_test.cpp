// The networks of a site counted by hand: ports of hosts, servers and switches, their bill of
// materials, and how RoCE marks and pauses.
#include "model/machine/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "layers/fabric/collective_model.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

using testing::IsEmpty;

// At 50 GB/s: 2 x 7.5 kB in 30 m of cable, 30 kB in 600 ns and two packets of 4.2 kB are 53.4 kB,
// less than the 150 kB of three control steps. At 125 MB/s the 8,512.5 B are more than 375 B.
TEST(Network, pause_headroom_covers_data_in_flight) {
  design::Network wanted;
  Network n{.wanted = &wanted, .port_rate = gbits_per_s(400)};
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
  // The link of one plane is narrower than the port.
  n.topology.emplace();
  n.topology->spec.link_rate = gbits_per_s(200);
  EXPECT_DOUBLE_EQ(pause_options(n).headroom.base(), 75e3);
}

TEST(Network, declared_roce_settings_are_used) {
  design::Network wanted;
  const Network n{.wanted = &wanted, .port_rate = gbits_per_s(400)};
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

TEST(Network, missing_ecn_mark_follows_the_given_one) {
  design::Network wanted;
  const Network n{.wanted = &wanted, .port_rate = gbits_per_s(400)};
  design::RoceChecklist& roce = wanted.roce;
  roce = {.ecn_kmin = bytes(2e6), .ecn_pmax = 0.25};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(2e6));
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(2e6));
  EXPECT_EQ(pause_options(n).marking->pmax, 0.25);
  roce = {.ecn_kmin = bytes(2e5)};
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(15e5)) << "above kmin";
  roce = {.ecn_kmax = bytes(1e5)};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(1e5));
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(1e5));
  roce = {.ecn_kmax = bytes(2e5)};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(15e4)) << "below kmax";
  roce = {.ecn_kmin = bytes(3e5), .ecn_kmax = bytes(2e5)};
  EXPECT_EQ(pause_options(n).marking->kmin, bytes(3e5));
  EXPECT_EQ(pause_options(n).marking->kmax, bytes(2e5));
}

TEST(Network, protocol_is_declared_or_that_of_the_switch) {
  const catalog::Switch* ethernet = known().catalog().switch_part("sn5600");
  const catalog::Switch* infiniband = known().catalog().switch_part("qm9700");
  design::Network n{.topology = design::NamedTopology::fat_tree};
  EXPECT_TRUE(speaks_roce(n, ethernet));
  EXPECT_FALSE(speaks_roce(n, infiniband));
  EXPECT_FALSE(speaks_roce(n, nullptr));
  n.protocol = design::Protocol::roce;
  EXPECT_TRUE(speaks_roce(n, infiniband));
  EXPECT_TRUE(speaks_roce(n, nullptr));
  n.protocol = design::Protocol::ethernet;
  EXPECT_FALSE(speaks_roce(n, ethernet));
  n = {};
  EXPECT_FALSE(speaks_roce(n, ethernet)) << "no topology is declared";
  EXPECT_TRUE(is_co_packaged(known().catalog().switch_part("sn6810-cpo")));
  EXPECT_FALSE(is_co_packaged(ethernet));
  EXPECT_FALSE(is_co_packaged(nullptr));
}

TEST(Network, port_splits_into_at_most_eight) {
  const catalog::Switch part{.ports = 10, .port_rate = gbits_per_s(800)};
  EXPECT_EQ(radix_at(part, gbits_per_s(100)), 80);
  EXPECT_EQ(radix_at(part, gbits_per_s(50)), 80);
  EXPECT_EQ(radix_at(part, gbits_per_s(112)), 70);
  EXPECT_EQ(radix_at(part, gbits_per_s(801)), 10) << "the switch port is slower than the link";
  EXPECT_EQ(radix_at(part, BytesPerSecond(-1)), 10);
}

// 256 hosts of eight NICs on switches of 128 ports: 32 leaves of eight hosts each in a plain tree;
// with rails, sets of eight leaves that 64 hosts share.
TEST(Network, hosts_below_a_leaf_follow_the_topology) {
  Network n;
  EXPECT_EQ(leaf_set(n, 5).hosts, 5) << "no network";
  EXPECT_EQ(leaf_set(n, 5).leaves, 0);
  EXPECT_EQ(leaf_set(n, 0).hosts, 1);
  const auto built = [&](catalog::TopologyKind kind, int nodes, int radix) {
    n.topology = *fabric::make_topology({.kind = kind, .nodes = nodes, .rails = 8, .radix = radix});
    return leaf_set(n, nodes);
  };
  using enum catalog::TopologyKind;
  EXPECT_EQ(built(fat_tree, 256, 128).hosts, 8);
  EXPECT_EQ(built(fat_tree, 256, 128).leaves, 1);
  EXPECT_EQ(built(rail_fat_tree, 256, 128).hosts, 64);
  EXPECT_EQ(built(rail_fat_tree, 256, 128).leaves, 8);
  EXPECT_EQ(built(rail_fat_tree, 5, 64).hosts, 5) << "one switch";
  EXPECT_EQ(built(rail_fat_tree, 5, 64).leaves, 1);
  EXPECT_EQ(built(rail_only, 64, 64).hosts, 64);
  EXPECT_EQ(built(rail_only, 64, 64).leaves, 8);
  EXPECT_EQ(built(rail_fat_tree, 1024, 64).leaves, 8) << "three tiers, a group per rail";
  EXPECT_EQ(built(fat_tree, 512, 32).hosts, 2);
  EXPECT_EQ(built(fat_tree, 8, 8).hosts, 1) << "a host has more NICs than a leaf has ports";
}

constexpr const char* kThreeNetworks =
    "fabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n"
    "  storage: { topology: fat-tree, switch: qm9700 }\n"
    "  management: { topology: fat-tree, switch: oob-sn2201 }\n";

// Site one: three nodes and a spare with 8 NICs and two storage ports each; three servers of 100
// GB/s on two ports each and two metadata servers: 8 + 6 + 2 storage ports. One switch per network,
// so 4 hosts, 5 servers and 2 switches are managed. A rented fleet is on its provider's network.
TEST(Network, hosts_servers_and_switches_are_counted) {
  const Machine m = machine_of_two_sites(
      "  - { name: a, node: dgx-h100, count: 3, spares: 1, site: one }\n"
      "  - { name: r, node: dgx-h100, count: 9, site: one, rent: { provider: aws } }\n"
      "  - { name: b, node: gb200-nvl72, count: 2, spares: 1, site: two }\n",
      std::string(kThreeNetworks) +
          "storage:\n  - { tier: hot, site: one, kind: parallel-fs, device: tlc-gen4, servers: 3, "
          "devices_per_server: 5, server_network: 800 Gb/s, metadata: { servers: 2 } }\n");
  ASSERT_EQ(m.networks.size(), 2U);
  const Networks& one = m.networks[design::SiteIndex(0)];
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
  const Networks& two = m.networks[design::SiteIndex(1)];
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

// One port of 400 Gb/s carries a server of 50 GB/s; a little more needs two.
TEST(Network, storage_server_gets_enough_ports) {
  const auto ports = [](const std::string& network) {
    const Machine m = machine_of_two_sites(
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

std::string bill_part(const catalog::Bill& bill, const std::string& item) {
  for (const catalog::BillLine& l : bill.lines) {
    if (l.item == item) return l.part_id;
  }
  return "no such line";
}

TEST(Network, given_ports_rates_and_nics_are_used) {
  const auto fabric = [](const std::string& compute) {
    return machine_of_two_sites(
        "  - { name: a, node: dgx-h100, count: 4, site: one }\n",
        "fabric:\n  compute: { topology: rail-fat-tree, switch: sn5600" + compute +
            " }\n  storage: { topology: fat-tree, switch: sn5600, ports_per_node: 3, "
            "port_rate: 200 Gb/s }\n");
  };
  const Machine own = fabric("");
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
  EXPECT_EQ(bill_part(own.networks[design::SiteIndex(0)].compute.bill, "NIC (part of the node)"),
            "");
  const Machine bought = fabric(", nic: cx6-vpi");
  EXPECT_EQ(bought.networks[design::SiteIndex(0)].compute.nic->id, "cx6-vpi");
  EXPECT_EQ(bought.networks[design::SiteIndex(0)].compute.port_rate, gbits_per_s(200));
  EXPECT_EQ(bill_part(bought.networks[design::SiteIndex(0)].compute.bill, "NIC"), "cx6-vpi");
  const Machine given = fabric(", nic: cx6-vpi, port_rate: 100 Gb/s, ports_per_node: 2, planes: 2");
  EXPECT_EQ(compute_port_rate(given.networks[design::SiteIndex(0)].compute,
                              given.fleets[design::FleetIndex(0)]),
            gbits_per_s(100));
  EXPECT_EQ(compute_ports(*given.networks[design::SiteIndex(0)].compute.wanted,
                          given.fleets[design::FleetIndex(0)]),
            2);
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.nic_ports, 32)
      << "NICs without a port are counted too";
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.topology->endpoints, 4 * 2 * 2);
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.topology->spec.link_rate, gbits_per_s(50));
  EXPECT_EQ(given.networks[design::SiteIndex(0)].compute.topology->spec.radix, 512);
}

TEST(Network, topologies_have_their_tiers_and_sizes) {
  const auto built = [](const std::string& compute) {
    const Machine m =
        machine_of_two_sites("  - { name: a, node: dgx-h100, count: 4, site: one }\n",
                             "fabric:\n  compute: { switch: qm9700, " + compute + " }\n");
    return m.networks[design::SiteIndex(0)].compute;
  };
  EXPECT_EQ(built("topology: rail-fat-tree").topology->tiers, 1);
  EXPECT_EQ(built("topology: three-tier").topology->tiers, 3);
  const Network torus = built("topology: torus, dimensions: [4, 8]");
  ASSERT_TRUE(torus.topology);
  EXPECT_EQ(torus.topology->node_links, 2 * 32);
  const Network wrong = built("topology: torus, dimensions: [4, 7]");
  EXPECT_FALSE(wrong.topology);
  ASSERT_EQ(wrong.faults.size(), 1U);
  EXPECT_EQ(wrong.faults[0].code, "fabric.torus");
  EXPECT_EQ(built("topology: twin-plane").topology->spec.planes, 2);
  EXPECT_EQ(built("topology: rail-fat-tree, rails: 4").topology->spec.rails, 4);
}

// A single host needs no compute network; hosts without compute NICs get 100 Gb/s to storage.
TEST(Network, single_hosts_and_hosts_without_nics) {
  const Machine single = machine_of_two_sites(
      "  - { name: a, node: dgx-h100, count: 1, site: one }\n", std::string(kThreeNetworks));
  EXPECT_FALSE(single.networks[design::SiteIndex(0)].compute.topology);
  EXPECT_THAT(single.networks[design::SiteIndex(0)].compute.faults, IsEmpty())
      << "no network is needed";
  EXPECT_EQ(single.networks[design::SiteIndex(0)].compute.ports_per_node, 8);
  EXPECT_EQ(single.networks[design::SiteIndex(0)].storage.port_rate, gbits_per_s(400));
  EXPECT_EQ(single.networks[design::SiteIndex(0)].storage.topology->endpoints, 2);
  EXPECT_FALSE(single.networks[design::SiteIndex(1)].storage.topology) << "the site is empty";
  const Machine bare = machine_of_two_sites(
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

// A switch module carries two links: 800G for 400G links, 400G for 200G links. Up to 10 Gb/s cables
// are copper unless the design names an optic.
TEST(Network, modules_and_cables_follow_from_the_rate) {
  const auto management = [](const std::string& more) {
    const Machine m = machine_of_two_sites(
        "  - { name: a, node: dgx-h100, count: 4, site: one }\n",
        "fabric:\n  management: { topology: fat-tree, switch: sn4600c, " + more + " }\n");
    return m.networks[design::SiteIndex(0)].management.bill;
  };
  const auto twin = [&](const std::string& more) {
    return bill_part(management(more), "switch optics (twin-port)");
  };
  EXPECT_EQ(bill_part(management("port_rate: 10 Gb/s"), "cable node-leaf"), "cat5e");
  EXPECT_EQ(twin("port_rate: 10 Gb/s"), "no such line");
  EXPECT_EQ(bill_part(management("port_rate: 11 Gb/s"), "cable node-leaf"), "mpo-trunk");
  EXPECT_EQ(twin("port_rate: 10 Gb/s, link: 400g-sr4"), "400g-sr4");
  EXPECT_EQ(bill_part(management("port_rate: 10 Gb/s, link: 400g-sr4"), "cable node-leaf"),
            "mpo-trunk");
  EXPECT_EQ(twin("port_rate: 100 Gb/s"), "400g-dr4");
  EXPECT_EQ(twin("port_rate: 200 Gb/s"), "400g-dr4");
  EXPECT_EQ(twin("port_rate: 201 Gb/s"), "800g-2xdr4");
  EXPECT_EQ(twin("port_rate: 401 Gb/s"), "1600g-dr8");
  EXPECT_EQ(bill_part(management("port_rate: 200 Gb/s"), "node optics"), "400g-dr4");
  EXPECT_EQ(bill_part(management("port_rate: 201 Gb/s"), "node optics"), "800g-2xdr4");
  EXPECT_EQ(bill_part(management("port_rate: 100 Gb/s"), "leaf switch"), "sn4600c");
}

// 127 nodes of 8 NICs: 32 leaves and 16 spines of 64 ports (DGX SuperPOD H100, table 7).
TEST(Network, superpod_network_matches_table_7) {
  const catalog::Catalog& c = known().catalog();
  PlainNetwork wanted{.nodes = 127,
                      .ports_per_node = 8,
                      .switch_part = c.switch_part("qm9700"),
                      .port_rate = gbits_per_s(400)};
  const auto built = build_network(wanted, c);
  ASSERT_TRUE(built);
  EXPECT_EQ(built->topology.leaves, 32);
  EXPECT_EQ(built->topology.spines, 16);
  EXPECT_EQ(built->topology.manager_links, 4);
  EXPECT_EQ(built->topology.spec.link_latency, nanoseconds(150));
  EXPECT_EQ(built->bill.count("compute fabric", "leaf switch"), 32);
  EXPECT_EQ(bill_part(built->bill, "leaf switch"), "qm9700");
  EXPECT_EQ(bill_part(built->bill, "spine switch"), "qm9700");
  EXPECT_EQ(bill_part(built->bill, "NIC (part of the node)"), "cx7");
  EXPECT_EQ(bill_part(built->bill, "switch optics (twin-port)"), "800g-2xdr4");
  EXPECT_EQ(bill_part(built->bill, "node optics"), "800g-2xdr4");
  EXPECT_EQ(bill_part(built->bill, "cable node-leaf"), "mpo-trunk");
  wanted.planes = 2;
  EXPECT_EQ(build_network(wanted, c)->topology.spec.radix, 128) << "planes of 200 Gb/s";
  EXPECT_EQ(build_network(wanted, c)->topology.endpoints, 127 * 8 * 2);
  wanted.radix = 96;
  wanted.oversubscription = 2;
  EXPECT_EQ(build_network(wanted, c)->topology.spec.radix, 96);
  EXPECT_EQ(build_network(wanted, c)->topology.leaf_uplinks, 24);
  wanted.switch_part = c.switch_part("sn5600");
  EXPECT_EQ(build_network(wanted, c)->topology.manager_links, 0);
  wanted = {.kind = catalog::TopologyKind::torus,
            .nodes = 12,
            .switch_part = c.switch_part("qm9700"),
            .port_rate = gbits_per_s(400),
            .torus = {3, 4}};
  EXPECT_EQ(build_network(wanted, c)->topology.node_links, 24);
  wanted.torus = {3, 5};
  EXPECT_FALSE(build_network(wanted, c));
}

// By hand, RA-11338-001: a rack is 18 hosts of 4 GPUs with a NIC each. 9 racks are 162 hosts on 4
// rails; a leaf of 64 ports takes 32 hosts of one rail, so 5 full units of 4 leaves and one leaf
// for the last two hosts; 21 leaves x 32 uplinks want 11 spines of 64, and 16 divides the uplinks.
TEST(Network, rails_belong_to_hosts_not_racks) {
  const Machine m = lay_out(template_design("superpod-gb200"), known());
  const Network& compute = m.main_networks().compute;
  EXPECT_EQ(compute.nic_ports, 648);
  EXPECT_EQ(compute.ports_per_node, 4);
  const fabric::Topology& t = *compute.topology;
  EXPECT_EQ(t.endpoints, 648);
  EXPECT_EQ(t.leaves, 21);
  EXPECT_EQ(t.spines, 16);
  EXPECT_EQ(t.node_cables() + t.leaf_spine_cables(), 648 + 21 * 32);
  const Wiring w = wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  EXPECT_EQ(w.domain, 72);
  EXPECT_DOUBLE_EQ(w.nics_per_host, 4);
}

// Zones of seven, seven and five nodes, one of them a spare, with eight NICs each: a network per
// zone.
TEST(Network, every_site_has_its_own_networks) {
  const Machine m = lay_out(template_design("chatbot-zones"), known());
  ASSERT_EQ(m.networks.size(), 3U);
  EXPECT_EQ(m.networks[design::SiteIndex(0)].compute.topology->endpoints, 56);
  EXPECT_EQ(m.networks[design::SiteIndex(1)].compute.topology->endpoints, 56);
  EXPECT_EQ(m.networks[design::SiteIndex(2)].compute.topology->endpoints, 40);
  for (const Fleet& f : m.fleets) EXPECT_EQ(m.networks_of(f).site, f.site);
}

// Fleets with eight NICs and with one: 10 x 8 + 16 x 1 ports are as many as twelve hosts of eight.
TEST(Network, fleets_with_fewer_nics_count_their_own_ports) {
  design::Design d = template_design("superpod-h100");
  d.fleet[0].count = 10;
  d.fleet[0].nodes_per_rack.reset();
  d.fleet.push_back({.name = "cpus", .node = "cpu-2s-server", .count = 16});
  const Machine m = lay_out(d, known());
  EXPECT_EQ(m.main_networks().compute.nic_ports, 96);
  EXPECT_EQ(m.main_networks().compute.topology->endpoints, 96);
  // Thirteen single ports fill one host and begin another.
  d.fleet[1].count = 13;
  const Machine odd = lay_out(d, known());
  EXPECT_EQ(odd.main_networks().compute.nic_ports, 93);
  EXPECT_EQ(odd.main_networks().compute.topology->endpoints, 96);
}

TEST(Network, each_end_has_its_own_optics) {
  design::Design d = template_design("superpod-h100");
  d.fabric.compute.link = "800g-2xdr4";
  d.fabric.compute.node_link = "400g-sr4";
  const Machine m = lay_out(d, known());
  const auto part = [&](std::string_view item) {
    for (const catalog::BillLine& l : m.main_networks().compute.bill.lines) {
      if (l.item == item) return l.part_id;
    }
    return std::string();
  };
  EXPECT_EQ(part("switch optics (twin-port)"), "800g-2xdr4");
  EXPECT_EQ(part("node optics"), "400g-sr4");
}

// Switches with co-packaged optics need no pluggable ones.
TEST(Network, co_packaged_optics_are_not_bought) {
  const auto lines = [](const char* part) {
    const auto read = design_text::read_design(
        std::string("orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: "
                    "dgx-b300, count: 64 }]\nfabric: { compute: { topology: fat-tree, switch: ") +
            part + " } }\n",
        known().catalog());
    EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
    const Machine m = lay_out(*read, known());
    int optics = 0;
    for (const catalog::BillLine& l : m.main_networks().compute.bill.lines) {
      optics += l.item.find("switch optics") != std::string::npos ? 1 : 0;
    }
    return optics;
  };
  EXPECT_EQ(lines("q3450-cpo"), 0);
  EXPECT_GT(lines("q3400"), 0);
}

}  // namespace
}  // namespace orrery::machine
