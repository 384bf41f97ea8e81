// The closed forms of collectives by hand: on links without friction a time is bytes over a rate;
// then one friction at a time.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/fabric/collective_model.h"

namespace orrery::fabric::collective_parts {
namespace {

using workload::Collective;
using enum CollectiveAlgorithm;

// A level that is a thousand times as fast as the other adds nothing that is seen.
constexpr double kFast = 1e15;
constexpr double kSlow = 1e9;

LinkHierarchy bare(double scaleup, double nic) {
  LinkHierarchy l;
  l.scaleup_rate = BytesPerSecond(scaleup);
  l.nic_rate = BytesPerSecond(nic);
  l.scaleup = {.ring_share = 1,
               .nvls_share = 1,
               .pair_share = 1,
               .launch = Seconds(0),
               .ramp = 0,
               .fill = Seconds(0)};
  l.network = {.share = 1, .pair_share = 1, .latency = Seconds(0), .ramp = 0, .fill = Seconds(0)};
  l.protocol.extra = 0;
  return l;
}

// Seconds for a gigabyte of `kind` on `ranks` ranks, `per_domain` of them in each domain.
double takes(const LinkHierarchy& l, Collective kind, int ranks, int per_domain,
             CollectiveAlgorithm a = automatic, double bytes = 1e9) {
  return collective_time(l, {kind, Bytes(bytes), {ranks, per_domain}}, a).time.base();
}

TEST(CollectiveParts, ARingSendsEveryByteToEveryNeighbour) {
  const LinkHierarchy link = bare(kSlow, kFast);
  const LinkHierarchy nic = bare(kFast, kSlow);
  EXPECT_NEAR(takes(link, Collective::all_reduce, 16, 8, ring), 2 * 15.0 / 16, 1e-6);
  EXPECT_NEAR(takes(link, Collective::all_gather, 16, 8), 15.0 / 16, 1e-6);
  EXPECT_NEAR(takes(link, Collective::reduce_scatter, 4, 4), 3.0 / 4, 1e-6);
  EXPECT_NEAR(takes(link, Collective::broadcast, 16, 8), 1, 1e-6);
  // Eight ranks of a domain carry an eighth each over their NICs.
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 16, 8, ring), 2 * 15.0 / 16 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_gather, 16, 8), 15.0 / 16 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::broadcast, 16, 8), 1.0 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 8, 8, ring), 0, 1e-5) << "none leaves";
  // Twelve ranks in domains of eight are two of six.
  EXPECT_NEAR(takes(nic, Collective::all_gather, 12, 8), 11.0 / 12 / 6, 1e-6);
  // One ring a NIC: of eight sends one goes by NIC instead of a link.
  LinkHierarchy mesh = link;
  mesh.network.has_tree = false;
  EXPECT_NEAR(takes(mesh, Collective::all_gather, 16, 8), 15.0 / 16 * 7 / 8, 1e-6);
  EXPECT_NEAR(takes(mesh, Collective::all_gather, 8, 8), 7.0 / 8, 1e-6);
}

TEST(CollectiveParts, TreesAndSwitchesSendLess) {
  const LinkHierarchy link = bare(kSlow, kFast);
  const LinkHierarchy nic = bare(kFast, kSlow);
  EXPECT_NEAR(takes(link, Collective::all_reduce, 32, 8, tree), 2 * 7.0 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 32, 8, tree), 2 * 3.0 / 4 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 16, 8, tree), 1.0 / 8, 1e-6) << "two domains";
  EXPECT_NEAR(takes(link, Collective::all_reduce, 32, 8, nvls), 1, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 32, 8, nvls), 2 * 3.0 / 4 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 32, 8, sharp), 1.0 / 8, 1e-6);
  // Of what the network's switches add, the faster level hides but half of itself.
  const LinkHierarchy both = bare(16e9, kSlow);
  EXPECT_NEAR(takes(both, Collective::all_reduce, 32, 8, sharp), 1.0 / 8 + 0.5 / 16, 1e-3);
}

TEST(CollectiveParts, PairsGoWhereTheirPartnersAre) {
  const LinkHierarchy link = bare(kSlow, kFast);
  const LinkHierarchy nic = bare(kFast, kSlow);
  EXPECT_NEAR(takes(link, Collective::all_to_all, 32, 8), 7.0 / 32, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_to_all, 32, 8), 24.0 / 32, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::send_recv, 2, 1), 1, 1e-6);
  EXPECT_NEAR(takes(link, Collective::send_recv, 2, 2), 1, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::send_recv, 2, 2), 0, 1e-5);
  LinkHierarchy half = bare(kFast, kSlow);
  half.network.pair_share = 0.5;
  half.network.share = 0.8;
  EXPECT_NEAR(takes(half, Collective::all_to_all, 32, 8), 2 * 24.0 / 32, 1e-6);
  EXPECT_NEAR(takes(half, Collective::send_recv, 2, 1), 1 / 0.8, 1e-6) << "one stream";
}

TEST(CollectiveParts, RatesAreSharedAndDivided) {
  LinkHierarchy l = bare(kFast, kSlow);
  const double alone = takes(l, Collective::all_gather, 16, 8);
  l.nics_per_rank = 0.5;
  EXPECT_NEAR(takes(l, Collective::all_gather, 16, 8), 2 * alone, 1e-6);
  l.oversubscription = 3;
  EXPECT_NEAR(takes(l, Collective::all_gather, 16, 8), 6 * alone, 1e-6);
  l.network_free = 0.25;
  EXPECT_NEAR(takes(l, Collective::all_gather, 16, 8), 24 * alone, 1e-5);
  l = bare(kFast, kSlow);
  l.network.share = 0.5;
  EXPECT_NEAR(takes(l, Collective::all_gather, 16, 8), 2 * alone, 1e-6);
  // What a port and a NIC carry is what was sent over the time.
  const CollectiveTime t =
      collective_time(bare(kFast, kSlow), {Collective::all_gather, Bytes(1e9), {16, 8}});
  EXPECT_NEAR(t.nic_rate.base(), kSlow, 1e3);
  EXPECT_NEAR(t.scaleup_rate.base(), 15.0 / 16 * 1e9 / alone, 1e3);
  EXPECT_NEAR(t.bus_bandwidth.base(), 15.0 / 16 * 1e9 / alone, 1e3);
  EXPECT_EQ(t.limit, LimitingLink::nic);
  // A machine without a scale-up link sends all of it by NIC.
  EXPECT_NEAR(takes(bare(0, kSlow), Collective::all_gather, 16, 8), 15.0 / 16, 1e-6);
}

// Two levels of one speed are a sixth root of two slower than either.
TEST(CollectiveParts, LevelsOfOneSpeedInterfere) {
  const double both = takes(bare(8e9, 1e9), Collective::all_gather, 16, 8);
  EXPECT_NEAR(both / (15.0 / 16 / 8), std::pow(2, 1.0 / 6), 3e-4);
  const double apart = takes(bare(16e9, 1e9), Collective::all_gather, 16, 8);
  EXPECT_NEAR(apart / (15.0 / 16 / 8), std::pow(1 + std::pow(0.5, 6), 1.0 / 6), 3e-4);
}

TEST(CollectiveParts, CrossingsAreCounted) {
  LinkHierarchy l = bare(kFast, kFast);
  l.network.latency = microseconds(12);
  const auto crossings = [&](Collective kind, int ranks, CollectiveAlgorithm a) {
    return takes(l, kind, ranks, 8, a, 8) / 12e-6;
  };
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, ring), 2 * (1 + 6.0 / 3), 1e-3);
  EXPECT_NEAR(crossings(Collective::all_gather, 64, ring), 1 + 6.0 / 3, 1e-3);
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, tree), 2 * 3, 1e-3);
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, sharp), 2, 1e-3);
  EXPECT_NEAR(crossings(Collective::all_to_all, 64, automatic), 1, 1e-3);
  EXPECT_NEAR(crossings(Collective::all_reduce, 8, ring), 0, 1e-3);
  // A tree has no low-latency protocol where the switches add, at any size.
  l.protocol = {.extra = 0.5, .at = kib(64)};
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, sharp), 3, 1e-3);
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, tree), 6, 1e-2);
  EXPECT_NEAR(takes(l, Collective::all_reduce, 64, 8, tree, 64 * 1024) / 12e-6, 6 * 1.25, 1e-2);
}

// Racks chain their ranks past a host's eight: 1.4 us a link and phase.
TEST(CollectiveParts, ARacksChainIsLongerThanAHosts) {
  LinkHierarchy l = bare(kFast, kFast);
  l.domain = 72;
  const auto chain = [&](int ranks, int per_domain, CollectiveAlgorithm a) {
    return takes(l, Collective::all_reduce, ranks, per_domain, a, 8) / 1.4e-6;
  };
  EXPECT_NEAR(chain(128, 64, ring), 2 * 2 * 56, 1e-2);
  EXPECT_NEAR(chain(128, 64, tree), 2 * 56, 1e-2);
  EXPECT_NEAR(chain(64, 64, ring), 0, 1e-2) << "one rack";
  EXPECT_NEAR(chain(16, 8, ring), 0, 1e-2) << "eight of each";
  // A tree's channels carry 24 of 42.8 GB/s from four racks on.
  LinkHierarchy slow = bare(kSlow, kFast);
  slow.domain = 72;
  const double two = takes(slow, Collective::all_reduce, 128, 64, tree, 1e12);
  EXPECT_NEAR(two / (2 * 63.0 / 64 * 1e3), 1, 1e-4);
  EXPECT_NEAR(takes(slow, Collective::all_reduce, 256, 64, tree, 1e12) / two, 42.8 / 24, 1e-4);
  EXPECT_NEAR(takes(slow, Collective::all_reduce, 192, 64, tree, 1e12) / two,
              1 / ((1 + 24 / 42.8) / 2), 1e-4);
}

TEST(CollectiveParts, SwitchesAddInHostsOfManyRanks) {
  LinkHierarchy l = bare(kSlow, kFast);
  const auto picks = [&](int ranks, int per_domain) {
    return collective_time(l, {Collective::all_reduce, Bytes(1e9), {ranks, per_domain}}).algorithm;
  };
  EXPECT_EQ(picks(8, 8), nvls);
  EXPECT_EQ(picks(5, 5), nvls);
  EXPECT_EQ(picks(4, 4), ring) << "too few";
  EXPECT_EQ(picks(32, 8), nvls);
  l.domain = 16;
  EXPECT_EQ(picks(32, 16), nvls);
  l.domain = 72;
  EXPECT_EQ(picks(64, 64), nvls);
  EXPECT_NE(picks(128, 64), nvls) << "no tree joins racks' switches";
  l = bare(kSlow, kFast);
  l.scaleup.nvls_share = 0;
  EXPECT_EQ(picks(8, 8), ring);
  EXPECT_EQ(picks(32, 8), tree);
  l.network.has_tree = false;
  EXPECT_EQ(picks(32, 8), ring);
  l = bare(kFast, kSlow);
  l.sharp = true;
  EXPECT_EQ(picks(32, 8), sharp);
  EXPECT_NE(picks(8, 8), sharp) << "nothing leaves";
}

TEST(CollectiveParts, LaunchIsPaidOnceAndLessOfItInAGraph) {
  LinkHierarchy l = bare(kFast, kFast);
  l.scaleup.launch = microseconds(15);
  const auto time = [&] { return takes(l, Collective::all_gather, 8, 8, ring, 8) * 1e6; };
  EXPECT_NEAR(time(), 15, 1e-3);
  l.host_launch = microseconds(18);
  EXPECT_NEAR(time(), 33, 1e-3);
  l.in_graph = true;
  EXPECT_NEAR(time(), 27, 1e-3);
  l.graph_saving = microseconds(60);
  EXPECT_NEAR(time(), 16.5, 1e-3) << "half at most";
  const CollectiveTime small = collective_time(l, {Collective::all_gather, Bytes(8), {8, 8}});
  EXPECT_EQ(small.limit, LimitingLink::launch);
}

// A pipeline that fills: r times slower at first, F once at last; a sum's F is the whole of it, a
// gather's half, and the network's is added where it is crossed.
TEST(CollectiveParts, APipelineFillsOnce) {
  LinkHierarchy l = bare(1e9, kFast);
  l.scaleup.ramp = 2;
  l.scaleup.fill = milliseconds(1);
  const double sum = takes(l, Collective::all_reduce, 8, 8, ring, 1e12);
  EXPECT_NEAR(sum - 2 * 7.0 / 8 * 1e3, 1e-3, 1e-5);
  EXPECT_NEAR(takes(l, Collective::all_gather, 8, 8, ring, 1e12) - 7.0 / 8 * 1e3, 0.5e-3, 1e-5);
  EXPECT_NEAR(takes(l, Collective::all_reduce, 8, 8, ring, 1e3), 3 * 2 * 7.0 / 8 * 1e-6, 1e-7);
  l = bare(kFast, 1e9);
  l.network.ramp = 2;
  l.network.fill = milliseconds(3);
  EXPECT_NEAR(takes(l, Collective::all_reduce, 32, 8, tree, 1e12) - 2 * 3.0 / 4 / 8 * 1e3, 3e-3,
              1e-4);
  EXPECT_NEAR(takes(l, Collective::all_reduce, 32, 8, ring, 1e12) - 2 * 31.0 / 32 / 8 * 1e3,
              2 * 3e-3, 1e-4)
      << "four times a host's ranks, a root of that";
}

TEST(CollectiveParts, WhatALossLeaves) {
  EXPECT_DOUBLE_EQ(share_after(Loss::nic, {.nics_per_node = 8}), 7.0 / 8);
  EXPECT_DOUBLE_EQ(share_after(Loss::nic, {.nics_per_node = 8, .adaptive = false}), 0.5);
  EXPECT_EQ(share_after(Loss::nic, {.nics_per_node = 1}), 0);
  EXPECT_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 1, .adaptive = false}), 0);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf, {.planes = 4}), 0.75);
  EXPECT_EQ(share_after(Loss::plane, {.planes = 1}), 0);
  EXPECT_DOUBLE_EQ(share_after(Loss::spine, {.spines = 16}), 15.0 / 16);
  EXPECT_DOUBLE_EQ(share_after(Loss::spine, {.spines = 16, .adaptive = false}), 0.5);
  EXPECT_EQ(share_after(Loss::spine, {.spines = 1}), 0);
  EXPECT_EQ(free_share({.capacity = BytesPerSecond(0), .storage = gbytes_per_s(1)}), 1);
  EXPECT_DOUBLE_EQ(
      free_share({.capacity = gbytes_per_s(50), .storage = gbytes_per_s(500), .contenders = 0}), 1);
}

TEST(CollectiveParts, NamesGoBothWays) {
  for (const CollectiveAlgorithm a : {automatic, ring, tree, nvls, sharp, direct}) {
    EXPECT_EQ(collective_algorithm_from(to_text(a)), a);
  }
  EXPECT_EQ(collective_algorithm_from("nvls_tree"), nvls);
  EXPECT_FALSE(collective_algorithm_from("butterfly"));
}

}  // namespace
}  // namespace orrery::fabric::collective_parts
