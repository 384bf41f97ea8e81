// Loaders that read ahead, caches on drives, and streams that starve, by hand.
#include "twin/storage/storage_reads.h"

#include <gtest/gtest.h>

#include "twin/storage/storage_shapes_fixture.h"

namespace orrery::twin_storage {

namespace {

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

TEST(StorageReads, streams_starve_by_the_bytes_they_miss) {
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
TEST(StorageReads, a_stream_follows_a_changed_rate) {
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

// One object ahead: it takes 2 s and its use 1 s, so the steps wait a second for each.
TEST(StorageReads, steps_wait_for_reads_by_hand) {
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

// Four ahead share the wires: after the first four, at 8 s, one arrives every two seconds.
TEST(StorageReads, reading_further_ahead_is_limited_by_the_wires) {
  ReadShape deep = ten_reads();
  deep.depth = 4;
  deep.reads = 40;
  const ReadOutcome out = read_by_hand(deep);
  EXPECT_NEAR(out.spent.base() / 37, 2, 0.2);
  // A tier that is slow for one request but fast for many is hidden by reading four ahead.
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

// The second epoch finds all of the first on the drives: 8 GB/s instead of the wires' 10.
TEST(StorageReads, cached_objects_come_from_the_drives) {
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

double edge_starved(int first, int hosts, bool joined, double beside_gb = 0) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  ReadStream stream(kernel, plant,
                    {.first_host = first,
                     .hosts = hosts,
                     .tier = 1,
                     .of_host = gbytes_per_s(8),
                     .span = seconds(100),
                     .is_joined = joined});
  LastOf got;
  if (beside_gb > 0) {
    plant.start({.from = {.tier = 1}, .to = {.host = first}, .bytes = gigabytes(beside_gb)}, got);
  }
  kernel.run(sim::SimTime::from(seconds(50)));
  return stream.starved();
}

TEST(StorageReads, joined_streams_use_the_wires_of_their_host_kind) {
  // From the second kind of host on: 8, then 5 and 5 of 8 GB/s each.
  EXPECT_NEAR(edge_starved(1, 3, true), 1 - 18 / 24.0, 1e-9);
  EXPECT_NEAR(edge_starved(1, 3, false), 1 - 18 / 24.0, 1e-9);
  EXPECT_NEAR(edge_starved(0, 2, true), 0, 1e-9);
  EXPECT_EQ(edge_starved(0, 0, true), 0);
  // The first host's loader takes half of its wires for 10 s: 3 GB/s are missing of 16.
  EXPECT_NEAR(edge_starved(0, 2, true, 50), 3 * 10 / (16 * 50.0), 1e-9);
  EXPECT_NEAR(edge_starved(0, 2, false, 50), 3 * 10 / (16 * 50.0), 1e-9);
}

// A stream from a host's drives is limited by them and uses no wires.
TEST(StorageReads, a_stream_of_drives_stays_in_its_host) {
  struct Rates final : fabric::FlowObserver {
    double rate = 0;
    double done = -1;
    void on_flow_done(sim::Kernel& kernel, fabric::FlowId, std::uint64_t) override {
      done = kernel.now().seconds().base();
    }
    void on_flow_rate(sim::Kernel&, fabric::FlowId, std::uint64_t, BytesPerSecond r) override {
      rate = r.base();
    }
  } rates;
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  plant.start_stream({.tier = 0, .host = 3, .rate = gbytes_per_s(7), .span = seconds(10)}, rates);
  kernel.run();
  EXPECT_NEAR(rates.rate, 7e9, 1) << "its wires carry 5";
  EXPECT_NEAR(rates.done, 10, 1e-9) << "one host by default";
  plant.start_stream({.tier = 0, .host = 3, .rate = gbytes_per_s(16), .span = seconds(10)}, rates);
  kernel.run();
  EXPECT_NEAR(rates.rate, 8e9, 1);
  EXPECT_NEAR(rates.done, 30, 1e-9) << "160 GB at 8 GB/s";
}

// Objects of 16 GB: 1.6 s on the wires, 2 s on the drives, 1 s in use.
ReadOutcome edge_reads(int depth, std::int64_t reads, std::int64_t warm_up, TierUse* use) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  ReadShape shape;
  shape.host = 1;
  shape.tier = 1;
  shape.cache_tier = 0;
  shape.epochs.items = 3;
  shape.cached = 3;
  shape.object = gigabytes(16);
  shape.use = seconds(1);
  if (depth > 0) shape.depth = depth;
  shape.reads = reads;
  shape.warm_up = warm_up;
  ReadProcess process(kernel, plant, shape);
  kernel.run();
  *use = plant.use(1);
  EXPECT_NEAR(plant.use(0).read.base() + plant.use(1).read.base(),
              16e9 * static_cast<double>(reads), 1);
  return process.outcome();
}

TEST(StorageReads, misses_come_from_the_tier_and_hits_from_the_drives) {
  TierUse use;
  const ReadOutcome out = edge_reads(1, 8, 0, &use);
  EXPECT_EQ(out.reads, 8);
  EXPECT_EQ(out.hits, 5);
  EXPECT_NEAR(use.read.base(), 48e9, 1);
  EXPECT_EQ(use.most_at_once, 1);
  // The first is not counted; two arrive in 1.6 s and five in 2 s, and each is requested as the one
  // before it is taken.
  EXPECT_NEAR(out.waited.base(), 2 * 0.6 + 5 * 1.0, 1e-9);
  EXPECT_NEAR(out.spent.base(), 2 * 1.6 + 5 * 2.0, 1e-9);
}

}  // namespace
}  // namespace orrery::twin_storage
