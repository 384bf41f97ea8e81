// Bills line by line, counts of small networks and the thresholds of hazards, all by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/fabric/bill.h"
#include "layers/fabric/counters.h"
#include "layers/fabric/hazards.h"

namespace orrery::fabric::lists {
namespace {

using catalog::TopologyKind;

catalog::PriceRange at(double price) { return {usd(price), usd(price * 2)}; }

struct Parts {
  catalog::Switch leaf{.id = "leaf", .typical_power = watts(700), .price = at(10)};
  catalog::Switch spine{.id = "spine", .max_power = watts(900), .price = at(20)};
  catalog::Switch core{.id = "core", .typical_power = watts(1100), .price = at(30)};
  catalog::Nic nic{.id = "nic", .typical_power = watts(25), .price = at(4)};
  catalog::Optic twin{.id = "twin", .power_per_end = watts(15), .price = at(3)};
  catalog::Optic one{.id = "one", .power_per_end = watts(8), .price = at(2)};
  catalog::Optic cable{.id = "cable", .power_per_end = watts(1), .price = at(1)};

  BillParts all() const {
    return {.leaf = &leaf,
            .spine = &spine,
            .core = &core,
            .nic = &nic,
            .switch_module = &twin,
            .node_module = &one,
            .cable = &cable};
  }
};

std::vector<std::string> lines_of(const catalog::Bill& bill) {
  std::vector<std::string> out;
  for (const catalog::BillLine& l : bill.lines) {
    const double price = l.unit_price ? l.unit_price->low.base() : -1;
    out.push_back(fmt::format("{} of {}: {} at {} and {} W", l.item, l.part_id, l.count, price,
                              l.unit_power.base()));
  }
  return out;
}

// 128 endpoints on eight leaves of 16 down and up, groups of 16 leaves with 16 spines of 8 down;
// half of a switch's ports are a module's.
TEST(FabricLists, ThreeTiersLineByLine) {
  const Parts parts;
  const Topology t = *make_topology({.kind = TopologyKind::fat_tree,
                                     .nodes = 64,
                                     .rails = 2,
                                     .radix = 32,
                                     .tiers = 3,
                                     .manager_ports = 0});
  EXPECT_EQ(t.leaves, 8);
  EXPECT_EQ(t.spines, 8);
  EXPECT_EQ(t.cores, 4);
  EXPECT_THAT(lines_of(fabric_bill(t, parts.all(), "compute")),
              testing::ElementsAre("leaf switch of leaf: 8 at 10 and 700 W",
                                   "spine switch of spine: 8 at 20 and 900 W",
                                   "core switch of core: 4 at 30 and 1100 W",
                                   "cable node-leaf of cable: 128 at 1 and 2 W",
                                   "cable leaf-spine of cable: 128 at 1 and 2 W",
                                   "cable spine-core of cable: 128 at 1 and 2 W",
                                   "switch optics (twin-port) of twin: 320 at 3 and 15 W",
                                   "node optics of one: 64 at 2 and 8 W",
                                   "NIC (part of the node) of nic: 128 at 0 and 0 W"));
}

TEST(FabricLists, WhatIsPluggedDependsOnTheLinks) {
  const Parts parts;
  const Topology t =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 64, .rails = 2, .radix = 64});
  ASSERT_EQ(t.leaves, 4);
  const auto lines = [&](BillParts p) { return lines_of(fabric_bill(t, p, "compute")); };
  using testing::Contains;
  using testing::HasSubstr;
  using testing::Not;
  BillParts p = parts.all();
  p.nics_in_node = false;
  p.nics_per_node_module = 1;
  EXPECT_THAT(lines(p), Contains("NIC of nic: 128 at 4 and 25 W"));
  EXPECT_THAT(lines(p), Contains("node optics of one: 128 at 2 and 8 W"));
  EXPECT_THAT(lines(p), Contains("switch optics (twin-port) of twin: 192 at 3 and 15 W"));
  p.copper_node_links = true;
  EXPECT_THAT(lines(p), Not(Contains(HasSubstr("node optics"))));
  EXPECT_THAT(lines(p), Contains("switch optics (twin-port) of twin: 128 at 3 and 15 W"));
  p = parts.all();
  p.co_packaged = true;
  EXPECT_THAT(lines(p), Not(Contains(HasSubstr("switch optics"))));
  EXPECT_THAT(lines(p), Contains(HasSubstr("node optics")));
  p.all_copper = true;
  EXPECT_THAT(lines(p), Not(Contains(HasSubstr("optics"))));
  // A tier without a part of its own is of leaves.
  p = parts.all();
  p.spine = nullptr;
  EXPECT_THAT(lines(p), Contains(HasSubstr("spine switch of leaf")));
  EXPECT_THAT(lines_of(fabric_bill(t, {}, "compute")),
              Contains("leaf switch of : 4 at -1 and 0 W"));
}

TEST(FabricLists, ManagersHaveAPairOfCables) {
  const Parts parts;
  const Topology t = *make_topology({.nodes = 31, .rails = 8, .radix = 64, .manager_ports = 4});
  ASSERT_EQ(t.manager_links, 4);
  const auto lines = lines_of(fabric_bill(t, parts.all(), "compute"));
  EXPECT_THAT(lines, testing::Contains("cable fabric manager of cable: 2 at 1 and 2 W"));
  EXPECT_THAT(lines, testing::Contains("fabric manager transceiver of one: 4 at 2 and 8 W"));
  // 31 nodes' ports on each of eight leaves are odd: four managers' take the odd half of a module,
  // the other four leaves leave theirs empty. 16 modules down either way, 16 up, and the spines'.
  EXPECT_EQ(switch_modules(t), 8 * 32 + 8 * 32 / 2);
}

TEST(FabricLists, ATorusIsCablesAlone) {
  const Parts parts;
  const Topology t =
      *make_topology({.kind = TopologyKind::torus, .nodes = 24, .rails = 1, .torus = {4, 3, 2}});
  EXPECT_EQ(t.node_links, 24 + 24 + 12) << "a ring of two is one link";
  EXPECT_THAT(lines_of(fabric_bill(t, parts.all(), "ici")),
              testing::ElementsAre("cable between endpoints of cable: 60 at 1 and 2 W",
                                   "NIC (part of the node) of nic: 24 at 0 and 0 W"));
  EXPECT_EQ(diameter_links(t), 2 + 1 + 1);
  EXPECT_EQ(bisection(t) / t.spec.link_rate, 2.0 * 24 / 4);
  const Topology two =
      *make_topology({.kind = TopologyKind::torus, .nodes = 4, .rails = 1, .torus = {2, 2, 1}});
  EXPECT_EQ(two.node_links, 4);
  EXPECT_EQ(bisection(two) / two.spec.link_rate, 2);
}

TEST(FabricLists, DragonfliesAndScaleUpLineByLine) {
  const Parts parts;
  const Topology fly = *make_topology(
      {.kind = TopologyKind::dragonfly, .nodes = 72, .rails = 1, .radix = 7, .dragonfly_h = 2});
  EXPECT_EQ(fly.dragonfly_groups, 9);
  EXPECT_THAT(
      lines_of(fabric_bill(fly, parts.all(), "net")),
      testing::ElementsAre(
          "router of leaf: 36 at 10 and 700 W", "cable node-leaf of cable: 72 at 1 and 2 W",
          "cable local of cable: 54 at 1 and 2 W", "cable global of cable: 36 at 1 and 2 W",
          "switch optics (twin-port) of twin: 126 at 3 and 15 W",
          "node optics of one: 72 at 2 and 8 W", "NIC (part of the node) of nic: 72 at 0 and 0 W"));
  EXPECT_EQ(diameter_links(fly), 5);
  // 4.5 groups face 4.5 over one link a pair.
  EXPECT_NEAR(bisection(fly) / fly.spec.link_rate, 4.5 * 4.5, 1e-9);
  EXPECT_NEAR(bisection_share(fly), 4.5 * 4.5 / 36, 1e-9);
  const Topology rack = *make_topology(
      {.kind = TopologyKind::scale_up, .nodes = 2, .rails = 72, .scaleup_chips = 18});
  EXPECT_EQ(bisection_share(rack), 1);
}

TEST(FabricLists, AQueueGrowsByWhatIsTooMuch) {
  const IncastBound b = incast_bound({.senders = 3,
                                      .sender_rate = gbytes_per_s(50),
                                      .port_rate = gbytes_per_s(50),
                                      .round_trip = microseconds(10),
                                      .buffer = megabytes(1),
                                      .pause_threshold = kilobytes(999)});
  EXPECT_DOUBLE_EQ(b.queued.base(), 1e6);
  EXPECT_FALSE(b.overflows) << "just full";
  EXPECT_NEAR(b.fill_time.base(), 9.99e-6, 1e-12);
  EXPECT_TRUE(b.pauses);
  EXPECT_NEAR(b.drain_time.base(), 20e-6, 1e-12);
  IncastSpec late{.senders = 3,
                  .round_trip = microseconds(10),
                  .buffer = megabytes(1),
                  .pause_threshold = megabytes(1)};
  EXPECT_FALSE(incast_bound(late).pauses) << "as the signal acts";
  late.senders = 1;
  EXPECT_EQ(incast_bound(late).queued.base(), 0);
  EXPECT_EQ(incast_bound(late).cuts, 0);
}

TEST(FabricLists, HeadroomIsOfEveryPortAndClass) {
  const HeadroomCheck one = check_headroom({.ports = 32, .lossless_classes = 1});
  const HeadroomCheck two = check_headroom({.ports = 32, .lossless_classes = 2});
  EXPECT_EQ(two.per_port, one.per_port);
  EXPECT_DOUBLE_EQ(one.total / one.per_port, 32);
  EXPECT_DOUBLE_EQ(two.total / one.total, 2);
  EXPECT_EQ(check_headroom({.buffer = kib(1)}).longest_cable_m, 0) << "no cable is short enough";
}

constexpr const char* kHeader =
    "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";

std::vector<std::string> judged(const std::string& rows) {
  const auto table = CsvTable::parse(kHeader + rows, "counters.csv");
  std::vector<std::string> out;
  for (const Diagnostic& d : judge_counters(*table)) {
    out.push_back(fmt::format("{}: {}: {}", d.place.line, d.code, d.what));
  }
  return out;
}

// 400 Gb/s for ten seconds is 500 GB; a storm is more than 10,000 pauses a second.
TEST(FabricLists, CountersAreJudgedByTheSecond) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(judged("leaf1,1,n1,10,400e9,0,400,0,0,0,0\n"), IsEmpty());
  EXPECT_THAT(judged("leaf1,1,n1,10,401e9,0,400,0,0,0,0\n"),
              ElementsAre("2: counters.no-marks: leaf1 port 1 is busy and marks nothing"));
  EXPECT_THAT(judged("leaf1,1,n1,20,401e9,0,400,0,0,0,0\n"), IsEmpty());
  EXPECT_THAT(judged("leaf1,1,n1,0,401e9,0,400,99e9,99e9,1,0\n"), IsEmpty()) << "no time";
  EXPECT_THAT(judged("leaf1,1,n1,10,0,0,400,100000,0,1,0\n"), IsEmpty());
  EXPECT_THAT(judged("leaf1,7,n1,10,0,0,400,100001,0,1,0\n"),
              ElementsAre("2: counters.pause-storm: leaf1 port 7 is paused without end by n1"));
  // It spreads where the switch that is held holds others, and not from another switch.
  EXPECT_THAT(judged("leaf1,7,n1,10,0,0,400,200000,0,1,0\nleaf1,8,s1,10,0,0,400,0,100000,1,0\n"),
              testing::SizeIs(1));
  EXPECT_THAT(judged("leaf1,8,s1,10,0,0,400,0,100001,1,0\nleaf1,7,n1,10,0,0,400,200000,0,1,0\n"),
              ElementsAre("2: counters.storm-spreads: leaf1 passes the pause on to s1",
                          "3: counters.pause-storm: leaf1 port 7 is paused without end by n1"));
  EXPECT_THAT(judged("leaf1,7,n1,10,0,0,400,200000,0,1,0\nleaf2,8,s1,10,0,0,400,0,100001,1,0\n"),
              testing::SizeIs(1));
}

}  // namespace
}  // namespace orrery::fabric::lists
