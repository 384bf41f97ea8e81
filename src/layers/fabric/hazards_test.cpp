#include "layers/fabric/hazards.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/fabric/nccl_tuner.h"
#include "layers/fabric/what_if.h"

namespace orrery::fabric {
namespace {

TEST(Hazards, incast_queues_what_arrives_in_a_round_trip) {
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
TEST(Hazards, headroom_of_a_switch) {
  const HeadroomCheck c = check_headroom({.cable_m = 30});
  EXPECT_NEAR(c.per_port.base(), 2 * 50e9 * 30 / 2e8 + 50e9 * 600e-9 + 2 * 4200, 1e-6);
  EXPECT_TRUE(c.fits);
  const HeadroomCheck tight = check_headroom({.cable_m = 30, .buffer = mib(2)});
  EXPECT_FALSE(tight.fits);
  const HeadroomCheck edge = check_headroom({.cable_m = c.longest_cable_m});
  EXPECT_NEAR(edge.total / mib(160), 1, 1e-9);
}

TEST(Hazards, checklist_distinguishes_undeclared_from_wrong) {
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

TEST(Hazards, infiniband_is_compared_with_roce) {
  const FabricComparison c = compare_fabrics(32, 32, 32, 8, 3);
  EXPECT_GT(c.infiniband_rate, c.roce_spread_rate);
  EXPECT_GT(c.roce_spread_rate, c.roce_hashed_rate);
  EXPECT_NEAR(c.roce_hashed_rate, 0.492, 0.02);
}

TEST(Hazards, incast_queue_grows_by_the_excess) {
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

TEST(Hazards, headroom_multiplies_by_port_and_class) {
  const HeadroomCheck one = check_headroom({.ports = 32, .lossless_classes = 1});
  const HeadroomCheck two = check_headroom({.ports = 32, .lossless_classes = 2});
  EXPECT_EQ(two.per_port, one.per_port);
  EXPECT_DOUBLE_EQ(one.total / one.per_port, 32);
  EXPECT_DOUBLE_EQ(two.total / one.total, 2);
  EXPECT_EQ(check_headroom({.buffer = kib(1)}).longest_cable_m, 0) << "no cable is short enough";
}

// Eight senders at 50 GB/s into a port of 50: 350 GB/s too much. In 8 us 2.8 MB; Xoff of 1.4 MB is
// reached after 4 us.
TEST(Hazards, incast_bound_at_the_buffer_limit) {
  IncastSpec s{.buffer = bytes(2.8e6), .pause_threshold = bytes(1.4e6)};
  const IncastBound b = incast_bound(s);
  EXPECT_NEAR(b.queued.base(), 2.8e6, 1e-6);
  EXPECT_DOUBLE_EQ(b.cuts, 3);
  EXPECT_NEAR(b.fill_time.base(), 4e-6, 1e-15);
  EXPECT_NEAR(b.drain_time.base(), 56e-6, 1e-15);
  EXPECT_TRUE(b.pauses);
  s.buffer = bytes(2.7e6);
  EXPECT_TRUE(incast_bound(s).overflows);
  s.buffer = bytes(2.9e6);
  EXPECT_FALSE(incast_bound(s).overflows);
  s.pause_threshold = bytes(2.9e6);
  EXPECT_FALSE(incast_bound(s).pauses) << "control acts first";
  s.senders = 1;
  const IncastBound one = incast_bound(s);
  EXPECT_EQ(one.queued.base() + one.cuts + one.drain_time.base(), 0);
  EXPECT_FALSE(one.pauses || one.overflows);
  EXPECT_TRUE(std::isinf(one.fill_time.base()));
}

// 30 m are 150 ns: 2 x 7,500 B in flight, 30,000 B while the peer responds, two packets of 4,200.
TEST(Hazards, headroom_of_one_port) {
  const HeadroomCheck c = check_headroom({});
  EXPECT_NEAR(c.per_port.base(), 53'400, 1e-6);
  EXPECT_NEAR(c.total.base(), 64 * 53'400, 1e-4);
  EXPECT_TRUE(c.fits);
  const double left = 160.0 * 1024 * 1024 / 64 - 38'400;
  EXPECT_NEAR(c.longest_cable_m, left / (2 * 50e9) * 2e8, 1e-6);
  const HeadroomCheck two = check_headroom({.ports = 8, .lossless_classes = 3});
  EXPECT_NEAR(two.total.base(), 24 * 53'400, 1e-4);
  EXPECT_NEAR(check_headroom({.ports = 0, .lossless_classes = 0}).total.base(), 53'400, 1e-6);
}

}  // namespace
}  // namespace orrery::fabric
