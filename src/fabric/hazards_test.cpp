#include "fabric/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/counters.h"

namespace orrery::fabric {
namespace {

TEST(Hazards, IncastQueuesWhatArrivesInARoundTrip) {
  const IncastBound b = incast_bound({.senders = 8,
                                      .sender_rate = gbytes_per_s(50),
                                      .port_rate = gbytes_per_s(50),
                                      .round_trip = microseconds(8),
                                      .buffer = mib(2),
                                      .pause_threshold = kilobytes(500)});
  EXPECT_DOUBLE_EQ(b.queued.base(), 7 * 50e9 * 8e-6);
  EXPECT_DOUBLE_EQ(b.cuts, 3);
  EXPECT_TRUE(b.pauses);
  EXPECT_TRUE(b.overflows);
  EXPECT_FALSE(incast_bound({.senders = 1, .buffer = mib(2), .pause_threshold = mib(1)}).pauses);
}

// 400 Gb/s over 30 m: 15 kB in flight both ways, 30 kB in 600 ns, two packets.
TEST(Hazards, HeadroomByHand) {
  const HeadroomCheck c = check_headroom({.cable_m = 30});
  EXPECT_NEAR(c.per_port.base(), 2 * 50e9 * 30 / 2e8 + 50e9 * 600e-9 + 2 * 4200, 1e-6);
  EXPECT_TRUE(c.fits);
  const HeadroomCheck tight = check_headroom({.cable_m = 30, .buffer = mib(2)});
  EXPECT_FALSE(tight.fits);
  const HeadroomCheck edge = check_headroom({.cable_m = c.longest_cable_m});
  EXPECT_NEAR(edge.total / mib(160), 1, 1e-9);
}

// Three hosts send to host 36; the uplinks are wide, so only its port is full. Host 2 sends
// elsewhere over an uplink that the pause reaches: a victim, held to a third. Host 50 is out of the
// tree.
TEST(Hazards, PausesReachBystanders) {
  FabricGraph g = build_tree(
      {.hosts_per_leaf = 16, .leaves_per_group = 4, .leaf_uplinks = 16, .spines_per_group = 16});
  for (GraphLink& l : g.links) {
    if (l.from >= g.endpoints && l.to >= g.endpoints) l.capacity *= 4;
  }
  Router router(g, {});
  const std::vector<Message> messages = {
      {1, 36, 1e6}, {17, 36, 1e6}, {49, 36, 1e6}, {2, 52, 1e6}, {50, 21, 1e6}};
  const PauseSpread spread = pause_spread(g, router, messages, 4);
  ASSERT_EQ(spread.victims.size(), 1u);
  EXPECT_EQ(spread.victims[0].message, 3u);
  EXPECT_NEAR(spread.victims[0].share, 1.0 / 3, 1e-12);
  EXPECT_EQ(g.link_name(spread.paused.front()), "spine 4 -> leaf 2");
  EXPECT_FALSE(spread.can_deadlock);  // up and down routes have no cycle
  EXPECT_TRUE(pause_spread(g, router, messages, 0).victims.empty());
}

TEST(Hazards, ARingOfPausesCanLock) {
  const FabricGraph g = build_graph(
      *make_topology({.kind = catalog::TopologyKind::torus, .nodes = 8, .rails = 1, .torus = {8}}));
  Router router(g, {});
  const std::vector<Message> messages = ring_shift(8, 3, megabytes(1));
  EXPECT_TRUE(pause_spread(g, router, messages, 4).can_deadlock);
}

TEST(Hazards, ElephantsAreNamedWithTheirLink) {
  const FabricGraph g = build_tree({.leaves_per_group = 4});
  Router router(g, {});
  // Three hosts of leaf 0 to destinations with the same remainder: one uplink.
  const std::vector<Message> messages = {{0, 37, 1e9}, {1, 69, 1e9}, {2, 101, 1e9}, {3, 70, 1e9}};
  const auto found = pinned_elephants(g, router, messages, 1.5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(g.link_name(found[0].link), "leaf 0 -> spine 5");
  EXPECT_EQ(found[0].messages, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(found[0].load, 3);
}

TEST(Hazards, ChecklistTellsUndeclaredFromWrong) {
  EXPECT_EQ(check_roce({}).size(), 7u);
  const auto all = Answer::yes;
  EXPECT_TRUE(check_roce({all, all, all, all, all, all, all}).empty());
  RoceSettings s{all, all, Answer::no, all, all, all, Answer::unknown};
  const auto found = check_roce(s);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].declared);
  EXPECT_EQ(found[0].rule, "roce.ecn");
  EXPECT_FALSE(found[1].declared);
}

TEST(Hazards, InfiniBandAgainstRoce) {
  const FabricComparison c = compare_fabrics(32, 32, 32, 8, 3);
  EXPECT_GT(c.infiniband_rate, c.roce_spread_rate);
  EXPECT_GT(c.roce_spread_rate, c.roce_hashed_rate);
  EXPECT_NEAR(c.roce_hashed_rate, 0.492, 0.02);
}

constexpr const char* kHeader =
    "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";

TEST(Counters, EachRuleHasItsRow) {
  const std::string text = std::string(kHeader) +
                           "leaf1,1,node3,10,450e9,0,400,0,0,0,0\n"           // busy, no marks
                           "leaf1,2,node4,10,1e9,0,400,0,5,0,0\n"             // pauses, no marks
                           "leaf1,3,node5,10,1e9,0,400,0,0,9,2\n"             // drops
                           "leaf2,1,node9,10,1e6,0,400,500000,0,5,0\n"        // storm from a node
                           "leaf2,33,spine1,10,1e6,0,400,0,400000,5,0\n"      // and it climbs
                           "leaf3,1,node11,10,450e9,0,400,100,50,90000,0\n";  // healthy
  const auto table = CsvTable::parse(text, "counters.csv");
  ASSERT_TRUE(table.has_value());
  std::vector<std::string> codes;
  for (const Diagnostic& d : judge_counters(*table)) codes.push_back(d.code);
  EXPECT_THAT(codes, testing::UnorderedElementsAre(
                         "counters.no-marks", "counters.pause-before-mark", "counters.drops",
                         "counters.pause-storm", "counters.storm-spreads"));
}

TEST(Counters, BadFieldsAreErrors) {
  const auto table = CsvTable::parse(std::string(kHeader) + "a,1,b,10,x,0,400,0,0,-1,0\n", "c.csv");
  const Diagnostics found = judge_counters(*table);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_TRUE(has_errors(found));
}

}  // namespace
}  // namespace orrery::fabric
