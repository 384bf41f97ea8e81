#include "layers/fabric/collective_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "layers/fabric/collective_parameters.h"

namespace orrery::fabric {
namespace {

using enum CollectiveAlgorithm;
using workload::Collective;

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

TEST(CollectiveModel, bus_factors_are_those_of_nccl_tests) {
  EXPECT_DOUBLE_EQ(bus_factor(workload::Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(workload::Collective::all_gather, 16), 15.0 / 16);
  EXPECT_DOUBLE_EQ(bus_factor(workload::Collective::broadcast, 16), 1);
}

TEST(CollectiveModel, one_rank_takes_no_time) {
  EXPECT_EQ(collective_time(dgx_h100(), all_reduce(gib(1), 1, 1)).time.base(), 0);
}

// Large NVLink4 runs: ring 365-370, NVLS 480 GB/s of bus bandwidth (nccl-tests, H100 and H200).
TEST(CollectiveModel, large_single_node_anchors) {
  const workload::CollectiveCall call = all_reduce(gib(16), 8, 8);
  const auto ring = collective_time(dgx_h100(), call, CollectiveAlgorithm::ring);
  EXPECT_NEAR(ring.bus_bandwidth.base(), 367e9, 10e9);
  const auto nvls = collective_time(dgx_h100(), call);
  EXPECT_EQ(nvls.algorithm, CollectiveAlgorithm::nvls);
  EXPECT_NEAR(nvls.bus_bandwidth.base(), 480e9, 12e9);
  EXPECT_EQ(nvls.limit, LimitingLink::scale_up);
}

// On two nodes the bus bandwidth exceeds the 400 GB/s of the wires, because a tree sends each byte
// once.
TEST(CollectiveModel, two_nodes_pass_the_wire) {
  const auto t = collective_time(dgx_h100(), all_reduce(gib(16), 16, 8));
  EXPECT_GT(t.bus_bandwidth.base(), 430e9);
  EXPECT_LT(t.nic_rate.base(), 50e9);
}

TEST(CollectiveModel, more_bandwidth_never_slows) {
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

TEST(CollectiveModel, more_bytes_never_faster) {
  Seconds last;
  for (double bytes = 8; bytes < 1e11; bytes *= 2) {
    const Seconds t = collective_time(dgx_h100(), all_reduce(Bytes(bytes), 64, 8)).time;
    EXPECT_GE(t, last);
    last = t;
  }
}

// One rank per node (data parallelism across nodes): each rank has its own NIC.
TEST(CollectiveModel, one_rank_a_node_goes_by_its_nic) {
  const auto t = collective_time(dgx_h100(), all_reduce(gib(4), 16, 1));
  EXPECT_EQ(t.limit, LimitingLink::nic);
  EXPECT_NEAR(t.bus_bandwidth.base(), 0.92 * 50e9, 3e9);
}

TEST(CollectiveModel, oversubscription_is_named) {
  LinkHierarchy l = dgx_h100();
  l.oversubscription = 7;
  const auto t = collective_time(l, all_reduce(gib(4), 64, 8));
  EXPECT_EQ(t.limit, LimitingLink::fabric);
}

TEST(CollectiveModel, no_network_never_ends) {
  LinkHierarchy l = dgx_h100();
  l.nic_rate = BytesPerSecond(0);
  EXPECT_TRUE(std::isinf(collective_time(l, all_reduce(gib(1), 16, 8)).time.base()));
}

TEST(Contention, max_min_leaves_a_fair_share) {
  const BytesPerSecond nic = gbytes_per_s(50);
  EXPECT_DOUBLE_EQ(free_share({.capacity = nic, .storage = gbytes_per_s(10)}), 0.8);
  EXPECT_DOUBLE_EQ(free_share({.capacity = nic, .storage = gbytes_per_s(500)}), 0.5);
  EXPECT_DOUBLE_EQ(free_share({.capacity = nic, .storage = gbytes_per_s(500), .contenders = 3}),
                   0.25);
}

TEST(Losses, remaining_share_after_a_loss) {
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 32}), 31.0 / 32);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 32, .adaptive = false}), 0.5);
  EXPECT_DOUBLE_EQ(share_after(Loss::plane, {.planes = 2}), 0.5);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf, {.planes = 1}), 0);
}

// Between racks a tree's channels carry less from four racks on, so twenty racks are slower than
// two by more than their latency.
TEST(CollectiveModel, many_racks_are_slower_than_two) {
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

// In-network sums are faster than a ring on many hosts, but slower than each level alone would
// allow.
TEST(CollectiveModel, sharp_is_slower_than_its_slowest_level) {
  LinkHierarchy l = dgx_h100();
  l.sharp = true;
  const auto call = all_reduce(gib(4), 96, 8);
  const auto sharp = collective_time(l, call, CollectiveAlgorithm::sharp);
  const auto ring = collective_time(l, call, CollectiveAlgorithm::ring);
  EXPECT_LT(sharp.time, ring.time);
  EXPECT_GT(sharp.bus_bandwidth.base(), 370e9);
  EXPECT_LT(sharp.bus_bandwidth.base(), 450e9);
}

// Links without overheads, except those that a test sets.
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

CollectiveTime timed(const LinkHierarchy& l, Collective kind, int ranks, int per_domain,
                     CollectiveAlgorithm a = automatic, double bytes = 1e9) {
  return collective_time(l, {kind, Bytes(bytes), {ranks, per_domain}}, a);
}

TEST(CollectiveModel, nvls_joins_domains_up_to_sixteen_ranks) {
  LinkHierarchy l = bare(1e9, 1e15);
  l.domain = 16;
  EXPECT_EQ(timed(l, Collective::all_reduce, 34, 17).algorithm, nvls);
  l.domain = 17;
  EXPECT_NE(timed(l, Collective::all_reduce, 34, 17).algorithm, nvls);
  EXPECT_EQ(timed(l, Collective::all_reduce, 17, 17).algorithm, nvls) << "in one domain";
  // If in-switch sums are requested but not available, a tree runs between domains and a ring
  // inside one.
  l.scaleup.nvls_share = 0;
  EXPECT_NEAR(timed(l, Collective::all_reduce, 17, 17, nvls).time.base(), 2 * 16.0 / 17, 1e-6);
}

// A tree requested inside one rack has no chain across the network.
TEST(CollectiveModel, tree_in_one_rack_has_no_network_chain) {
  LinkHierarchy l = bare(1e15, 1e15);
  l.domain = 72;
  EXPECT_NEAR(timed(l, Collective::all_reduce, 64, 64, tree, 8).time.base(), 0, 1e-9);
  EXPECT_NEAR(timed(l, Collective::all_reduce, 18, 9, tree, 8).time.base(), 2 * 1.4e-6, 1e-9);
  EXPECT_NEAR(timed(l, Collective::all_gather, 18, 9, ring, 8).time.base(), 2 * 1.4e-6, 1e-9);
}

TEST(CollectiveModel, single_domain_needs_no_network) {
  const CollectiveTime inside = timed(bare(1e9, 0), Collective::all_gather, 8, 8);
  EXPECT_NEAR(inside.time.base(), 7.0 / 8, 1e-9);
  EXPECT_EQ(inside.nic_rate.base(), 0);
  EXPECT_EQ(inside.limit, LimitingLink::scale_up);
  EXPECT_NEAR(timed(bare(1e9, 0), Collective::all_to_all, 8, 8).time.base(), 7.0 / 8, 1e-9);
  const CollectiveTime apart = timed(bare(0, 1e9), Collective::all_gather, 8, 1);
  EXPECT_NEAR(apart.time.base(), 7.0 / 8, 1e-9);
  EXPECT_EQ(apart.scaleup_rate.base(), 0);
  EXPECT_EQ(timed(bare(1e9, 0), Collective::all_gather, 16, 8).time.base(),
            std::numeric_limits<double>::infinity())
      << "nothing joins the domains";
  EXPECT_EQ(timed(bare(1e9, 1e9), Collective::all_gather, 1, 1).time, Seconds());
  EXPECT_EQ(timed(bare(1e9, 1e9), Collective::all_gather, 0, 0).time, Seconds());
}

// Inside a domain the network's pipeline neither slows nor has to fill.
TEST(CollectiveModel, pipelines_fill_on_the_level_they_use) {
  LinkHierarchy l = bare(1e9, 1e15);
  l.scaleup.ramp = 2;
  l.scaleup.fill = milliseconds(1);
  l.network.ramp = 5;
  l.network.fill = milliseconds(7);
  // 7/8 s on the wire, twice that when slow, half a millisecond to fill: r w F / (r w + F).
  const double slow = 2 * 7.0 / 8, fill = 0.5e-3;
  EXPECT_NEAR(timed(l, Collective::all_gather, 8, 8).time.base(),
              7.0 / 8 + slow * fill / (slow + fill), 1e-9);
  const double wide = 5 * 15.0 / 16, more = 0.5 * std::sqrt(2.0) * 8e-3;
  EXPECT_NEAR(timed(l, Collective::all_gather, 16, 8).time.base(),
              15.0 / 16 + wide * more / (wide + more), 1e-6);
  // Pairwise exchange fills half; racks' trees the square root of their eight ranks.
  EXPECT_NEAR(timed(l, Collective::all_to_all, 8, 8).time.base(),
              7.0 / 8 + slow * fill / (slow + fill), 1e-9);
  l.domain = 32;
  const double rack = 2 * 2 * 31.0 / 32;
  EXPECT_NEAR(timed(l, Collective::all_reduce, 32, 32, tree).time.base(),
              2 * 31.0 / 32 + rack * 2e-3 / (rack + 2e-3), 1e-9);
}

// Sixteen hosts, 12 us per crossing: a tree has 2 x 4 crossings, a ring 2 (1 + 14/3).
TEST(CollectiveModel, library_without_trees_runs_rings) {
  LinkHierarchy l = bare(1e15, 1e15);
  l.scaleup.nvls_share = 0;
  l.network.latency = microseconds(12);
  EXPECT_EQ(timed(l, Collective::all_reduce, 128, 8, automatic, 8).algorithm, tree);
  l.network.has_tree = false;
  const CollectiveTime t = timed(l, Collective::all_reduce, 128, 8, automatic, 8);
  EXPECT_EQ(t.algorithm, ring);
  EXPECT_NEAR(t.time.base() * 1e6, 12 * 2 * (1 + 14.0 / 3), 1e-3);
  // From two domains on, the network's switches sum, in two crossings.
  l.sharp = true;
  l.network.latency = microseconds(40);
  EXPECT_EQ(timed(l, Collective::all_reduce, 32, 8, automatic, 8).algorithm, sharp);
  l = bare(1e15, 1e9);
  l.sharp = true;
  l.scaleup.nvls_share = 0;
  l.network.has_tree = false;
  EXPECT_EQ(timed(l, Collective::all_reduce, 16, 8).algorithm, sharp);
}

TEST(CollectiveModel, limiting_link_is_named) {
  LinkHierarchy l = bare(1e15, 1e9);
  EXPECT_EQ(timed(l, Collective::all_gather, 16, 8).limit, LimitingLink::nic);
  l.oversubscription = 2;
  EXPECT_EQ(timed(l, Collective::all_gather, 16, 8).limit, LimitingLink::fabric);
  l.scaleup.launch = seconds(1000);
  EXPECT_EQ(timed(l, Collective::all_gather, 16, 8).limit, LimitingLink::launch);
  EXPECT_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::reduce_scatter, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::all_to_all, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::broadcast, 4), 1);
  EXPECT_EQ(bus_factor(Collective::all_reduce, 2), 1);
  EXPECT_EQ(bus_factor(Collective::all_gather, 1), 1);
}

TEST(CollectiveModel, storage_and_losses_leave_their_share) {
  const auto left = [](double storage, double contenders) {
    return free_share(
        {.capacity = gbytes_per_s(50), .storage = gbytes_per_s(storage), .contenders = contenders});
  };
  EXPECT_EQ(left(0, 1), 1);
  EXPECT_DOUBLE_EQ(left(10, 1), 0.8);
  EXPECT_DOUBLE_EQ(left(40, 1), 0.5) << "its fair share";
  EXPECT_DOUBLE_EQ(left(80, 3), 0.25);
  EXPECT_DOUBLE_EQ(left(10, -1), 1);
  EXPECT_EQ(share_after(Loss::nic, {.nics_per_node = 1, .adaptive = false}), 0);
  EXPECT_EQ(share_after(Loss::nic, {.nics_per_node = 2, .adaptive = false}), 0.5);
  EXPECT_EQ(share_after(Loss::spine, {.spines = 1, .adaptive = false}), 0);
  EXPECT_EQ(share_after(Loss::spine, {.spines = 2}), 0.5);
  EXPECT_EQ(share_after(Loss::leaf, {.planes = 1}), 0);
  EXPECT_EQ(share_after(Loss::plane, {.planes = 2}), 0.5);
  EXPECT_EQ(share_after(Loss::leaf, {.planes = 2}), 0.5);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 4}), 0.75);
  EXPECT_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 2, .adaptive = false}), 0.5);
  EXPECT_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 0}), 0);
}

// A level a thousand times as fast as the other adds nothing noticeable.
constexpr double kFast = 1e15;
constexpr double kSlow = 1e9;

// Seconds for a gigabyte of `kind` on `ranks` ranks, `per_domain` of them in each domain.
double takes(const LinkHierarchy& l, Collective kind, int ranks, int per_domain,
             CollectiveAlgorithm a = automatic, double bytes = 1e9) {
  return collective_time(l, {kind, Bytes(bytes), {ranks, per_domain}}, a).time.base();
}

TEST(CollectiveModel, ring_sends_every_byte_to_every_neighbour) {
  const LinkHierarchy link = bare(kSlow, kFast);
  const LinkHierarchy nic = bare(kFast, kSlow);
  EXPECT_NEAR(takes(link, Collective::all_reduce, 16, 8, ring), 2 * 15.0 / 16, 1e-6);
  EXPECT_NEAR(takes(link, Collective::all_gather, 16, 8), 15.0 / 16, 1e-6);
  EXPECT_NEAR(takes(link, Collective::reduce_scatter, 4, 4), 3.0 / 4, 1e-6);
  EXPECT_NEAR(takes(link, Collective::broadcast, 16, 8), 1, 1e-6);
  // Each of the eight ranks of a domain carries an eighth over its NIC.
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 16, 8, ring), 2 * 15.0 / 16 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_gather, 16, 8), 15.0 / 16 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::broadcast, 16, 8), 1.0 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 8, 8, ring), 0, 1e-5) << "none leaves";
  // Twelve ranks in domains of eight are two domains of six.
  EXPECT_NEAR(takes(nic, Collective::all_gather, 12, 8), 11.0 / 12 / 6, 1e-6);
  // One ring per NIC: one of eight sends uses the NIC instead of a link.
  LinkHierarchy mesh = link;
  mesh.network.has_tree = false;
  EXPECT_NEAR(takes(mesh, Collective::all_gather, 16, 8), 15.0 / 16 * 7 / 8, 1e-6);
  EXPECT_NEAR(takes(mesh, Collective::all_gather, 8, 8), 7.0 / 8, 1e-6);
}

TEST(CollectiveModel, trees_and_switches_send_fewer_bytes) {
  const LinkHierarchy link = bare(kSlow, kFast);
  const LinkHierarchy nic = bare(kFast, kSlow);
  EXPECT_NEAR(takes(link, Collective::all_reduce, 32, 8, tree), 2 * 7.0 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 32, 8, tree), 2 * 3.0 / 4 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 16, 8, tree), 1.0 / 8, 1e-6) << "two domains";
  EXPECT_NEAR(takes(link, Collective::all_reduce, 32, 8, nvls), 1, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 32, 8, nvls), 2 * 3.0 / 4 / 8, 1e-6);
  EXPECT_NEAR(takes(nic, Collective::all_reduce, 32, 8, sharp), 1.0 / 8, 1e-6);
  // With in-network sums, the faster level hides only half of its time.
  const LinkHierarchy both = bare(16e9, kSlow);
  EXPECT_NEAR(takes(both, Collective::all_reduce, 32, 8, sharp), 1.0 / 8 + 0.5 / 16, 1e-3);
}

TEST(CollectiveModel, all_to_all_uses_the_link_to_each_partner) {
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

TEST(CollectiveModel, rates_are_shared_and_divided) {
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
  // The rate of a port and a NIC is what was sent divided by the time.
  const CollectiveTime t =
      collective_time(bare(kFast, kSlow), {Collective::all_gather, Bytes(1e9), {16, 8}});
  EXPECT_NEAR(t.nic_rate.base(), kSlow, 1e3);
  EXPECT_NEAR(t.scaleup_rate.base(), 15.0 / 16 * 1e9 / alone, 1e3);
  EXPECT_NEAR(t.bus_bandwidth.base(), 15.0 / 16 * 1e9 / alone, 1e3);
  EXPECT_EQ(t.limit, LimitingLink::nic);
  // A machine without a scale-up link sends everything by NIC.
  EXPECT_NEAR(takes(bare(0, kSlow), Collective::all_gather, 16, 8), 15.0 / 16, 1e-6);
}

// Two levels of equal speed take the sixth root of two longer than either.
TEST(CollectiveModel, levels_of_equal_speed_interfere) {
  const double both = takes(bare(8e9, 1e9), Collective::all_gather, 16, 8);
  EXPECT_NEAR(both / (15.0 / 16 / 8), std::pow(2, 1.0 / 6), 3e-4);
  const double apart = takes(bare(16e9, 1e9), Collective::all_gather, 16, 8);
  EXPECT_NEAR(apart / (15.0 / 16 / 8), std::pow(1 + std::pow(0.5, 6), 1.0 / 6), 3e-4);
}

TEST(CollectiveModel, network_crossings_are_counted) {
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
  // If the switches sum, there is no low-latency protocol, at any size.
  l.protocol = {.extra = 0.5, .at = kib(64)};
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, sharp), 3, 1e-3);
  EXPECT_NEAR(crossings(Collective::all_reduce, 64, tree), 6, 1e-2);
  EXPECT_NEAR(takes(l, Collective::all_reduce, 64, 8, tree, 64 * 1024) / 12e-6, 6 * 1.25, 1e-2);
}

// Racks chain their ranks beyond a host's eight: 1.4 us per link and phase.
TEST(CollectiveModel, rack_chain_is_longer_than_a_hosts) {
  LinkHierarchy l = bare(kFast, kFast);
  l.domain = 72;
  const auto chain = [&](int ranks, int per_domain, CollectiveAlgorithm a) {
    return takes(l, Collective::all_reduce, ranks, per_domain, a, 8) / 1.4e-6;
  };
  EXPECT_NEAR(chain(128, 64, ring), 2 * 2 * 56, 1e-2);
  EXPECT_NEAR(chain(128, 64, tree), 2 * 56, 1e-2);
  EXPECT_NEAR(chain(64, 64, ring), 0, 1e-2) << "one rack";
  EXPECT_NEAR(chain(16, 8, ring), 0, 1e-2) << "eight of each";
  // From four racks on, a tree's channels carry 24 of 42.8 GB/s.
  LinkHierarchy slow = bare(kSlow, kFast);
  slow.domain = 72;
  const double two = takes(slow, Collective::all_reduce, 128, 64, tree, 1e12);
  EXPECT_NEAR(two / (2 * 63.0 / 64 * 1e3), 1, 1e-4);
  EXPECT_NEAR(takes(slow, Collective::all_reduce, 256, 64, tree, 1e12) / two, 42.8 / 24, 1e-4);
  EXPECT_NEAR(takes(slow, Collective::all_reduce, 192, 64, tree, 1e12) / two,
              1 / ((1 + 24 / 42.8) / 2), 1e-4);
}

TEST(CollectiveModel, nvls_is_chosen_in_hosts_of_many_ranks) {
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

TEST(CollectiveModel, launch_is_paid_once_and_less_in_a_graph) {
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

// A pipeline that fills: r times slower at first, F once at the end. A sum has the whole F, a
// gather half of it; the network's is added if it is crossed.
TEST(CollectiveModel, pipeline_fills_once) {
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

TEST(CollectiveModel, loss_leaves_its_share) {
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

TEST(CollectiveModel, algorithm_names_round_trip) {
  for (const CollectiveAlgorithm a : {automatic, ring, tree, nvls, sharp, direct}) {
    EXPECT_EQ(collective_algorithm_from(to_text(a)), a);
  }
  EXPECT_EQ(collective_algorithm_from("nvls_tree"), nvls);
  EXPECT_FALSE(collective_algorithm_from("butterfly"));
}

}  // namespace
}  // namespace orrery::fabric
