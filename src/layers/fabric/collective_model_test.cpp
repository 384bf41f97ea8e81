#include "layers/fabric/collective_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace orrery::fabric {
namespace {

LinkHierarchy dgx_h100() {
  LinkHierarchy l;
  l.domain = 8;
  l.scaleup_rate = gbytes_per_s(450);
  l.nic_rate = gbits_per_s(400);
  return l;
}

workload::CollectiveCall all_reduce(Bytes bytes, int ranks, int per_domain) {
  return {.kind = workload::Collective::all_reduce,
          .bytes = bytes,
          .group = {.ranks = ranks, .per_domain = per_domain}};
}

TEST(CollectiveModel, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(workload::Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(workload::Collective::all_gather, 16), 15.0 / 16);
  EXPECT_DOUBLE_EQ(bus_factor(workload::Collective::broadcast, 16), 1);
}

TEST(CollectiveModel, OneRankTakesNoTime) {
  EXPECT_EQ(collective_time(dgx_h100(), all_reduce(gib(1), 1, 1)).time.base(), 0);
}

// Large NVLink4 runs: ring 365-370, NVLS 480 GB/s of bus bandwidth (nccl-tests, H100 and H200).
TEST(CollectiveModel, LargeSingleNodeAnchors) {
  const workload::CollectiveCall call = all_reduce(gib(16), 8, 8);
  const auto ring = collective_time(dgx_h100(), call, CollectiveAlgorithm::ring);
  EXPECT_NEAR(ring.bus_bandwidth.base(), 367e9, 10e9);
  const auto nvls = collective_time(dgx_h100(), call);
  EXPECT_EQ(nvls.algorithm, CollectiveAlgorithm::nvls);
  EXPECT_NEAR(nvls.bus_bandwidth.base(), 480e9, 12e9);
  EXPECT_EQ(nvls.limit, LimitingLink::scale_up);
}

// On two nodes the bus bandwidth passes the 400 GB/s of the wires: tree sends each byte once.
TEST(CollectiveModel, TwoNodesPassTheWire) {
  const auto t = collective_time(dgx_h100(), all_reduce(gib(16), 16, 8));
  EXPECT_GT(t.bus_bandwidth.base(), 430e9);
  EXPECT_LT(t.nic_rate.base(), 50e9);
}

TEST(CollectiveModel, MoreBandwidthNeverSlows) {
  for (const workload::Collective kind :
       {workload::Collective::all_reduce, workload::Collective::all_gather,
        workload::Collective::all_to_all}) {
    for (double bytes = 8; bytes < 1e11; bytes *= 7) {
      for (const int ranks : {2, 8, 16, 256}) {
        const workload::CollectiveCall call{
            .kind = kind, .bytes = Bytes(bytes), .group = {ranks, std::min(8, ranks)}};
        LinkHierarchy fast = dgx_h100();
        fast.nic_rate = gbits_per_s(800);
        EXPECT_LE(collective_time(fast, call).time, collective_time(dgx_h100(), call).time);
        LinkHierarchy shared = dgx_h100();
        shared.network_free = 0.5;
        EXPECT_GE(collective_time(shared, call).time, collective_time(dgx_h100(), call).time);
      }
    }
  }
}

TEST(CollectiveModel, MoreBytesNeverFaster) {
  Seconds last;
  for (double bytes = 8; bytes < 1e11; bytes *= 2) {
    const Seconds t = collective_time(dgx_h100(), all_reduce(Bytes(bytes), 64, 8)).time;
    EXPECT_GE(t, last);
    last = t;
  }
}

// One rank a node (data parallelism across nodes): each rank has its own NIC.
TEST(CollectiveModel, OneRankANodeGoesByItsNic) {
  const auto t = collective_time(dgx_h100(), all_reduce(gib(4), 16, 1));
  EXPECT_EQ(t.limit, LimitingLink::nic);
  EXPECT_NEAR(t.bus_bandwidth.base(), 0.92 * 50e9, 3e9);
}

TEST(CollectiveModel, OversubscriptionIsNamed) {
  LinkHierarchy l = dgx_h100();
  l.oversubscription = 7;
  const auto t = collective_time(l, all_reduce(gib(4), 64, 8));
  EXPECT_EQ(t.limit, LimitingLink::fabric);
}

TEST(CollectiveModel, NoNetworkNeverEnds) {
  LinkHierarchy l = dgx_h100();
  l.nic_rate = BytesPerSecond(0);
  EXPECT_TRUE(std::isinf(collective_time(l, all_reduce(gib(1), 16, 8)).time.base()));
}

TEST(Contention, MaxMinLeavesAFairShare) {
  const BytesPerSecond nic = gbytes_per_s(50);
  EXPECT_DOUBLE_EQ(free_share({.capacity = nic, .storage = gbytes_per_s(10)}), 0.8);
  EXPECT_DOUBLE_EQ(free_share({.capacity = nic, .storage = gbytes_per_s(500)}), 0.5);
  EXPECT_DOUBLE_EQ(free_share({.capacity = nic, .storage = gbytes_per_s(500), .contenders = 3}),
                   0.25);
}

TEST(Losses, WhatIsLeft) {
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 32}), 31.0 / 32);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 32, .adaptive = false}), 0.5);
  EXPECT_DOUBLE_EQ(share_after(Loss::plane, {.planes = 2}), 0.5);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf, {.planes = 1}), 0);
}

// Between racks a tree's channels carry less from four racks on, so twenty are slower than two by
// more than their latency.
TEST(CollectiveModel, ManyRacksAreSlowerThanTwo) {
  LinkHierarchy gb200 = dgx_h100();
  gb200.domain = 72;
  gb200.scaleup_rate = gbytes_per_s(900);
  const auto time = [&](int racks, Bytes bytes) {
    return collective_time(gb200, all_reduce(bytes, 64 * racks, 64)).time.base();
  };
  for (const double size : {64.0, 512.0, 2048.0}) {
    EXPECT_GT(time(20, mib(size)) / time(2, mib(size)), 1.3) << size;
    EXPECT_GE(time(20, mib(size)), time(4, mib(size))) << size;
  }
}

// In-network sums win over a ring on many hosts, but not by what each level alone would allow.
TEST(CollectiveModel, SharpIsSlowerThanItsSlowestLevel) {
  LinkHierarchy l = dgx_h100();
  l.sharp = true;
  const auto call = all_reduce(gib(4), 96, 8);
  const auto sharp = collective_time(l, call, CollectiveAlgorithm::sharp);
  const auto ring = collective_time(l, call, CollectiveAlgorithm::ring);
  EXPECT_LT(sharp.time, ring.time);
  EXPECT_GT(sharp.bus_bandwidth.base(), 370e9);
  EXPECT_LT(sharp.bus_bandwidth.base(), 450e9);
}

}  // namespace
}  // namespace orrery::fabric
