#include "layers/fabric/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/fabric/counters.h"

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
