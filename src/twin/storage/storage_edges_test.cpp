// The edges of storage on the clock: first and last hosts, unequal peers, loaders at their limits.
#include <gtest/gtest.h>

#include "twin/storage/storage_reads.h"
#include "twin/storage/storage_saves.h"

namespace orrery::twin_storage {
namespace {

struct LastOf final : TransferObserver {
  std::vector<double> at;
  void on_arrived(sim::Kernel& kernel, std::uint64_t) override {
    at.push_back(kernel.now().seconds().base());
  }
};

// Two hosts of 10 GB/s, then two of 5; drives of 8 and 4; a tier of 40 and 20.
PlantShape edge_shape() {
  return {
      .hosts = {{.many = 2, .wires = gbytes_per_s(10)}, {.many = 2, .wires = gbytes_per_s(5)}},
      .tiers = {
          {.label = "drives", .in_hosts = true, .read = gbytes_per_s(8), .write = gbytes_per_s(4)},
          {.label = "shared", .read = gbytes_per_s(40), .write = gbytes_per_s(20)}}};
}

TEST(StorageEdges, transfers_that_follow_one_another_are_never_two) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  LastOf got;
  for (int i = 0; i < 3; ++i) {
    plant.start({.from = {.host = 0, .tier = 0}, .to = {.tier = 1}, .bytes = gigabytes(8)}, got);
    plant.start({.from = {.tier = 1}, .to = {.host = 1, .tier = 0}, .bytes = gigabytes(4)}, got);
    kernel.run();
  }
  ASSERT_EQ(got.at.size(), 6u);
  EXPECT_NEAR(got.at.back(), 3, 1e-9);
  for (int tier = 0; tier < 2; ++tier) {
    EXPECT_EQ(plant.use(tier).most_at_once, 2) << tier;
    EXPECT_EQ(plant.use(tier).transfers, 6u) << tier;
  }
  EXPECT_NEAR(plant.use(0).read.base(), 24e9, 1);
  EXPECT_NEAR(plant.use(0).written.base(), 12e9, 1);
  EXPECT_NEAR(plant.use(1).read.base(), 12e9, 1);
  EXPECT_NEAR(plant.use(1).written.base(), 24e9, 1);
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

TEST(StorageEdges, joined_streams_have_the_wires_of_their_own_kind) {
  // Of the second kind on: 8, then 5 and 5 of 8 GB/s each.
  EXPECT_NEAR(edge_starved(1, 3, true), 1 - 18 / 24.0, 1e-9);
  EXPECT_NEAR(edge_starved(1, 3, false), 1 - 18 / 24.0, 1e-9);
  EXPECT_NEAR(edge_starved(0, 2, true), 0, 1e-9);
  EXPECT_EQ(edge_starved(0, 0, true), 0);
  // The first host's loader has half of its wires for 10 s: 3 GB/s are missing of 16.
  EXPECT_NEAR(edge_starved(0, 2, true, 50), 3 * 10 / (16 * 50.0), 1e-9);
  EXPECT_NEAR(edge_starved(0, 2, false, 50), 3 * 10 / (16 * 50.0), 1e-9);
}

// A stream from a host's drives is held by them and crosses no wires.
TEST(StorageEdges, a_stream_of_drives_stays_in_its_host) {
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

// The heaviest host's copy comes last to its peer, long after the others'.
TEST(StorageEdges, a_save_is_with_peers_when_the_last_has_its_copy) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  SaveProcess saves(kernel, plant,
                    {.hosts = 2,
                     .heavy_hosts = 1,
                     .heavy_bytes = gigabytes(40),
                     .other_bytes = gigabytes(4),
                     .interval = seconds(1000),
                     .first_at = seconds(5),
                     .snapshot = seconds(1),
                     .replicas = 2,
                     .stops = {{.tier = 0}}});
  kernel.run(sim::SimTime::from(seconds(100)));
  ASSERT_EQ(saves.saves().size(), 1u);
  EXPECT_NEAR(saves.saves()[0].at[0].seconds().base(), 5 + 1 + 10, 1e-9);
  EXPECT_NEAR(saves.saves()[0].peer.seconds().base(), 16 + 10, 1e-9) << "40 GB at 4";
}

TEST(StorageEdges, a_save_is_by_default_of_equal_hosts_and_goes_to_every_stop) {
  EXPECT_EQ(SaveStop{}.every, 1);
  EXPECT_EQ(SaveShape{}.first_host, 0);
  const SaveShape plain{.hosts = 3, .heavy_bytes = gigabytes(50), .other_bytes = gigabytes(2)};
  EXPECT_EQ(plain.of(0), gigabytes(2));
  EXPECT_EQ(plain.total(), gigabytes(6));
  SaveShape two = plain;
  two.heavy_hosts = 2;
  EXPECT_EQ(two.of(1), gigabytes(50));
  EXPECT_EQ(two.of(2), gigabytes(2));
  EXPECT_EQ(two.total(), gigabytes(102));
  two.heavy_hosts = 5;
  EXPECT_EQ(two.total(), gigabytes(250)) << "fewer than none are none";
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  SaveProcess saves(kernel, plant,
                    {.other_bytes = gigabytes(4),
                     .interval = seconds(30),
                     .stops = {{.tier = 0}, {.tier = 1, .is_durable = true}}});
  kernel.run(sim::SimTime::from(seconds(100)));
  ASSERT_EQ(saves.saves().size(), 4u) << "at 0, 30, 60 and 90 s: no time for a snapshot";
  for (const SaveRecord& r : saves.saves()) EXPECT_FALSE(r.at[1].is_never());
  EXPECT_NEAR(plant.use(1).written.base(), 16e9, 1) << "of one host";
  EXPECT_EQ(SaveShape{}.files, 0);
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

TEST(StorageEdges, what_is_missed_comes_from_the_tier_and_what_is_hit_from_the_drives) {
  TierUse use;
  const ReadOutcome out = edge_reads(1, 8, 0, &use);
  EXPECT_EQ(out.reads, 8);
  EXPECT_EQ(out.hits, 5);
  EXPECT_NEAR(use.read.base(), 48e9, 1);
  EXPECT_EQ(use.most_at_once, 1);
  // The first is not counted; two come in 1.6 s and five in 2 s, of which each is asked for as the
  // one before it is taken.
  EXPECT_NEAR(out.waited.base(), 2 * 0.6 + 5 * 1.0, 1e-9);
  EXPECT_NEAR(out.spent.base(), 2 * 1.6 + 5 * 2.0, 1e-9);
}

TEST(StorageEdges, four_are_asked_for_ahead_where_nothing_is_said) {
  TierUse use;
  edge_reads(0, 3, 0, &use);
  EXPECT_EQ(use.most_at_once, 3);
  sim::Kernel kernel;
  StoragePlant plant(kernel, edge_shape());
  ReadShape shape;
  shape.tier = 1;
  shape.epochs.items = 30;
  shape.object = gigabytes(1);
  shape.use = seconds(1);
  shape.reads = 30;
  ReadProcess process(kernel, plant, shape);
  kernel.run();
  EXPECT_EQ(plant.use(1).most_at_once, 4);
  EXPECT_EQ(process.outcome().hits, 0);
  EXPECT_EQ(process.outcome().reads, 30);
}

}  // namespace
}  // namespace orrery::twin_storage
