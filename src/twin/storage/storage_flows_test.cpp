// Who shares what on the way of bytes: wires, drives, servers, streams; times by hand.
#include <gtest/gtest.h>

#include "twin/storage/storage_plant.h"
#include "twin/storage/storage_reads.h"

namespace orrery::twin_storage {
namespace {

struct Ends final : TransferObserver {
  std::vector<double> at = std::vector<double>(8, -1.0);  // by tag
  void on_arrived(sim::Kernel& kernel, std::uint64_t tag) override {
    at[tag] = kernel.now().seconds().base();
  }
};

// Two hosts with wires of their own for collectives, two that have one kind, drives, and a tier.
PlantShape two_kinds() {
  return {.hosts = {{.many = 2, .wires = gbytes_per_s(10), .compute = gbytes_per_s(50)},
                    {.many = 2, .wires = gbytes_per_s(5)}},
          .tiers = {{.label = "drives",
                     .in_hosts = true,
                     .read = gbytes_per_s(8),
                     .write = gbytes_per_s(4),
                     .requests = PerSecond(1),
                     .first_byte = milliseconds(20),
                     .client = gbytes_per_s(1)},
                    {.label = "shared",
                     .read = gbytes_per_s(40),
                     .write = gbytes_per_s(20),
                     .first_byte = milliseconds(100),
                     .restore = seconds(3),
                     .client = gbytes_per_s(9)}}};
}

struct Bench {
  explicit Bench(const PlantShape& shape = two_kinds()) : plant(kernel, shape) {}
  void start(const Spot& from, const Spot& to, double gb, std::uint64_t tag, double files = 0) {
    plant.start({.from = from, .to = to, .bytes = gigabytes(gb), .files = files, .tag = tag}, ends);
  }
  void send(int from, int to, double gb, std::uint64_t tag) {
    plant.send(from, to, gigabytes(gb), ends, tag);
  }
  double end(std::uint64_t tag) {
    kernel.run();
    return ends.at[tag];
  }
  sim::Kernel kernel;
  StoragePlant plant;
  Ends ends;
};

TEST(Flows, HostsAreNumberedThrough) {
  PlantShape shape = two_kinds();
  EXPECT_EQ(shape.all_hosts(), 4);
  shape.hosts[0].many = 3;
  EXPECT_EQ(shape.all_hosts(), 5);
  // The last host's drives are its own, beside those of all others.
  Bench b(shape);
  for (int h = 0; h < 5; ++h) {
    b.start({.host = h}, {.host = h, .tier = 0}, 4, static_cast<std::uint64_t>(h));
  }
  for (std::uint64_t h = 0; h < 5; ++h) EXPECT_NEAR(b.end(h), 1.02, 1e-9) << h;
}

TEST(Flows, CollectivesHaveTheirWiresOrTheStorages) {
  Bench own;
  own.send(0, 1, 50, 0);
  own.start({.host = 0}, {.tier = 1}, 9, 1);
  EXPECT_NEAR(own.end(0), 1, 1e-9);
  EXPECT_NEAR(own.end(1), 1.1, 1e-9) << "9 GB/s of a client, after the first byte";
  Bench same;
  same.send(2, 3, 5, 0);
  same.start({.host = 2}, {.tier = 1}, 10, 1);
  // Alone for 0.1 s, then halves of 5 GB/s.
  EXPECT_NEAR(same.end(0), 0.1 + 4.5 / 2.5, 1e-9);
  EXPECT_NEAR(same.end(1), 0.1 + 1.8 + 5.5 / 5, 1e-9);
  Bench between;
  between.send(1, 2, 50, 0);
  between.send(3, 0, 5, 1);
  EXPECT_NEAR(between.end(0), 10, 1e-9);
  EXPECT_NEAR(between.end(1), 1, 1e-9);
}

TEST(Flows, DrivesAreTheHostsOwn) {
  Bench b;
  b.start({.host = 0}, {.host = 0, .tier = 0}, 8, 0, 100);
  b.start({.host = 1, .tier = 0}, {.host = 1}, 8, 1, 100);
  EXPECT_NEAR(b.end(0), 2.02, 1e-9) << "4 GB/s after its first byte; files are no requests here";
  EXPECT_NEAR(b.end(1), 1.02, 1e-9);
  EXPECT_EQ(b.plant.use(0).requests, 0);
  EXPECT_EQ(b.plant.use(0).written, gigabytes(8));
  EXPECT_EQ(b.plant.use(0).read, gigabytes(8));
  Bench far;  // from one host's drives to the other's, over both hosts' wires
  far.start({.host = 2, .tier = 0}, {.host = 1, .tier = 0}, 8, 0);
  far.start({.host = 2}, {.tier = 1}, 5, 1);
  // Alone from 0.04 to 0.1 s at the drives' 4 GB/s; then both have half of five.
  EXPECT_NEAR(far.end(1), 0.1 + 5 / 2.5, 1e-9);
  EXPECT_NEAR(far.end(0), 2.1 + (8 - 0.24 - 5) / 4, 1e-9);
}

TEST(Flows, AReadIsRestoredAndTheFirstByteIsOfBothEnds) {
  Bench b;
  b.start({.tier = 1}, {.host = 0}, 9, 0);
  EXPECT_NEAR(b.end(0), 3 + 0.1 + 1, 1e-9);
  Bench both;
  both.start({.tier = 1}, {.host = 0, .tier = 0}, 4, 0);
  EXPECT_NEAR(both.end(0), 3 + 0.1 + 0.02 + 1, 1e-9);
}

TEST(Flows, ServersToServersHaveNoClient) {
  PlantShape shape = two_kinds();
  shape.tiers.push_back({.label = "cold", .read = gbytes_per_s(30), .write = gbytes_per_s(30)});
  Bench b(shape);
  b.start({.tier = 1}, {.tier = 2}, 30, 0);
  EXPECT_NEAR(b.end(0), 3.1 + 1, 1e-9);
}

TEST(Flows, ATiersUseIsCounted) {
  PlantShape shape = two_kinds();
  shape.tiers[1].requests = PerSecond(10);
  Bench b(shape);
  b.start({.host = 0}, {.tier = 1}, 9, 0, 5);
  b.start({.host = 1}, {.tier = 1}, 9, 1, 10);
  b.start({.host = 2}, {.tier = 1}, 9, 2);
  // 0.5 s of requests, then a second of the second's.
  EXPECT_NEAR(b.end(0), 0.6 + 1, 1e-9);
  EXPECT_NEAR(b.end(1), 1.6 + 1, 1e-9);
  EXPECT_NEAR(b.end(2), 0.1 + 1.8, 1e-9);
  b.start({.host = 0}, {.tier = 1}, 9, 3, 0);
  b.kernel.run();
  const TierUse& use = b.plant.use(1);
  EXPECT_EQ(use.transfers, 4u);
  EXPECT_EQ(use.most_at_once, 3);
  EXPECT_EQ(use.requests, 15);
  EXPECT_NEAR(use.waited.base(), 0.5, 1e-9);
  EXPECT_NEAR(use.longest_wait.base(), 0.5, 1e-9);
  EXPECT_EQ(use.written, gigabytes(36));
  EXPECT_EQ(b.plant.use(0).transfers, 0u);
}

// Four servers of 1 GB/s; a file on two of them has half of its bytes and of its limit on each.
TEST(Flows, StripesShareAFile) {
  const PlantShape shape{
      .hosts = {{.many = 1, .wires = gbytes_per_s(10)}},
      .tiers = {{.servers = 4, .stripes = 2, .read = gbytes_per_s(8), .write = gbytes_per_s(4)}}};
  Bench b(shape);
  b.plant.start(
      {.from = {.host = 0}, .to = {.tier = 0}, .bytes = gigabytes(1), .at_most = gbytes_per_s(0.5)},
      b.ends);
  EXPECT_NEAR(b.end(0), 2, 1e-9);
  EXPECT_FALSE(b.plant.can_join(0));
  PlantShape all = shape;
  all.tiers[0].stripes = 4;
  Bench whole(all);
  EXPECT_TRUE(whole.plant.can_join(0));
  whole.start({.host = 0}, {.tier = 0}, 4, 0);
  EXPECT_NEAR(whole.end(0), 1, 1e-9) << "a file on every server has all of them";
  all.tiers[0].in_hosts = true;
  EXPECT_FALSE(Bench(all).plant.can_join(0));
}

double starved_of(double of_host, double tier, bool joined, int first = 0, int hosts = 2) {
  sim::Kernel kernel;
  PlantShape shape = two_kinds();
  shape.tiers[1].read = gbytes_per_s(tier);
  StoragePlant plant(kernel, shape);
  ReadStream stream(kernel, plant,
                    {.first_host = first,
                     .hosts = hosts,
                     .tier = 1,
                     .of_host = gbytes_per_s(of_host),
                     .span = seconds(100),
                     .is_joined = joined});
  kernel.run(sim::SimTime::from(seconds(50)));
  return stream.starved();
}

TEST(Streams, StarveByWhatTheyDoNotGet) {
  for (const bool joined : {false, true}) {
    EXPECT_NEAR(starved_of(4, 40, joined), 0, 1e-9);
    EXPECT_NEAR(starved_of(4, 6, joined), 0.25, 1e-9) << "3 of 4 GB/s each";
    EXPECT_NEAR(starved_of(16, 40, joined), 1 - 10 / 16.0, 1e-9) << "their wires";
    EXPECT_NEAR(starved_of(16, 40, joined, 2), 1 - 5 / 16.0, 1e-9) << "of the second kind";
    EXPECT_NEAR(starved_of(16, 30, joined, 0, 4), 1 - 30 / 64.0, 0.02) << "all four";
  }
  EXPECT_EQ(starved_of(0, 40, false), 0);
}

// Another flow takes half of the tier from 10 s to 30 s.
TEST(Streams, ARateThatChangesIsFollowed) {
  sim::Kernel kernel;
  PlantShape shape = two_kinds();
  shape.tiers[1] = {.read = gbytes_per_s(4), .write = gbytes_per_s(4)};
  StoragePlant plant(kernel, shape);
  ReadStream stream(kernel, plant, {.tier = 1, .of_host = gbytes_per_s(4), .span = seconds(100)});
  kernel.run(sim::SimTime::from(seconds(10)));
  EXPECT_NEAR(stream.starved(), 0, 1e-9);
  Ends ends;
  plant.start({.from = {.tier = 1}, .to = {.host = 1}, .bytes = gigabytes(40)}, ends);
  kernel.run(sim::SimTime::from(seconds(20)));
  EXPECT_NEAR(stream.starved(), 20 / 80.0, 1e-9);
  kernel.run(sim::SimTime::from(seconds(40)));
  EXPECT_NEAR(stream.starved(), 40 / 160.0, 1e-9);
}

ReadOutcome read_by_hand(ReadShape shape, double tier = 40) {
  sim::Kernel kernel;
  PlantShape plant_shape = two_kinds();
  plant_shape.tiers[0].first_byte = Seconds(0);
  plant_shape.tiers[1] = {.read = gbytes_per_s(tier), .write = gbytes_per_s(tier)};
  StoragePlant plant(kernel, plant_shape);
  shape.tier = 1;
  ReadProcess reads(kernel, plant, shape);
  kernel.run();
  return reads.outcome();
}

ReadShape ten_reads() {
  ReadShape shape;
  shape.epochs.items = 10;
  shape.object = gigabytes(20);  // 2 s on the wires
  shape.use = seconds(1);
  shape.depth = 1;
  shape.reads = 10;
  shape.warm_up = 2;
  return shape;
}

// One ahead: an object takes 2 s and its use 1 s, so that the steps wait a second for each.
TEST(Reads, TheStepsWaitByHand) {
  const ReadOutcome one = read_by_hand(ten_reads());
  EXPECT_EQ(one.reads, 8);
  EXPECT_EQ(one.hits, 0);
  EXPECT_EQ(one.hit_rate(), 0);
  EXPECT_NEAR(one.waited.base(), 7 * 1, 1e-9);
  EXPECT_NEAR(one.spent.base(), 7 * 2, 1e-9);
  ReadShape quick = ten_reads();
  quick.object = gigabytes(9);
  EXPECT_NEAR(read_by_hand(quick).waited.base(), 0, 1e-9) << "0.9 s beside a second of use";
  EXPECT_NEAR(read_by_hand(quick).spent.base(), 7, 1e-9);
}

// Four ahead share the wires: after the first four, at 8 s, one comes every two seconds.
TEST(Reads, ADeeperQueueGetsNoMoreThanTheWires) {
  ReadShape deep = ten_reads();
  deep.depth = 4;
  deep.reads = 40;
  const ReadOutcome out = read_by_hand(deep);
  EXPECT_NEAR(out.spent.base() / 37, 2, 0.2);
  // A tier that is slow for one request and wide for many hides behind four.
  sim::Kernel kernel;
  PlantShape shape = two_kinds();
  shape.tiers[1] = {.read = gbytes_per_s(40), .write = gbytes_per_s(40), .client = gbytes_per_s(1)};
  StoragePlant plant(kernel, shape);
  ReadShape late = ten_reads();
  late.tier = 1;
  late.object = gigabytes(4);
  late.depth = 4;
  ReadProcess reads(kernel, plant, late);
  kernel.run();
  EXPECT_NEAR(reads.outcome().waited.base(), 0, 1e-9);
}

// The second epoch finds all of the first on the drives: 8 GB/s in place of the wires' 10.
TEST(Reads, WhatTheDrivesHoldComesFromThem) {
  ReadShape cached = ten_reads();
  cached.cache_tier = 0;
  cached.epochs.items = 5;
  cached.cached = 5;
  cached.warm_up = 5;
  const ReadOutcome all = read_by_hand(cached);
  EXPECT_EQ(all.reads, 5);
  EXPECT_EQ(all.hits, 5);
  EXPECT_EQ(all.hit_rate(), 1);
  EXPECT_NEAR(all.waited.base(), 4 * 1.5, 1e-9) << "2.5 s of drives";
  cached.warm_up = 0;
  EXPECT_EQ(read_by_hand(cached).hits, 5);
  EXPECT_EQ(read_by_hand(cached).hit_rate(), 0.5);
  cached.cached = 0;
  EXPECT_EQ(read_by_hand(cached).hits, 0);
}

}  // namespace
}  // namespace orrery::twin_storage
