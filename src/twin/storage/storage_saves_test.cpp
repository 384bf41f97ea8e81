// Saves in simulated time, every time by hand.
#include "twin/storage/storage_saves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/base/probability.h"
#include "twin/storage/storage_shapes_fixture.h"

namespace orrery::twin_storage {

namespace {

PlantShape drives_and_shared() {
  return {.hosts = {{.many = 5, .wires = gbytes_per_s(10)}},
          .tiers = {{.label = "drives",
                     .in_hosts = true,
                     .read = gbytes_per_s(20),
                     .write = gbytes_per_s(10)},
                    {.label = "shared", .read = gbytes_per_s(40), .write = gbytes_per_s(8)},
                    {.label = "cold", .read = gbytes_per_s(40), .write = gbytes_per_s(4)}}};
}

// The first of four hosts writes twice as much as the others.
SaveShape heavy_first() {
  return {.first_host = 1,
          .hosts = 4,
          .heavy_hosts = 1,
          .heavy_bytes = gigabytes(40),
          .other_bytes = gigabytes(20),
          .interval = seconds(600),
          .first_at = seconds(100),
          .snapshot = seconds(1),
          .commit = seconds(2),
          .serialise = gbytes_per_s(5),
          .stops = {{.tier = 0}, {.tier = 1, .is_durable = true}}};
}

struct Saving {
  explicit Saving(const SaveShape& shape, const PlantShape& plant_shape = drives_and_shared())
      : plant(kernel, plant_shape), saves(kernel, plant, shape) {}
  void run(double until) { kernel.run(sim::SimTime::from(Seconds(until))); }
  double time(sim::SimTime at) const { return at.seconds().base(); }
  const SaveRecord& save(std::size_t i) const { return saves.saves()[i]; }
  sim::Kernel kernel;
  StoragePlant plant;
  SaveProcess saves;
};

TEST(StorageSaves, unequal_hosts_by_hand) {
  SaveShape shape = heavy_first();
  int bursts = 0;
  shape.on_burst = [&] { ++bursts; };
  EXPECT_EQ(shape.total(), gigabytes(100));
  Saving s(shape);
  s.run(705);
  ASSERT_EQ(s.saves.saves().size(), 2u);
  EXPECT_NEAR(s.time(s.save(0).began), 100, 1e-9);
  EXPECT_NEAR(s.time(s.save(0).stall_end), 101, 1e-9);
  EXPECT_NEAR(s.time(s.save(0).at[0]), 101 + 8 + 2, 1e-9) << "40 GB at 5, and a commit";
  // Two GB/s each until the others are done; then the heavy one has 8 for its 20.
  EXPECT_NEAR(s.time(s.save(0).safe), 111 + 10 + 2.5 + 2, 1e-9);
  EXPECT_EQ(s.save(0).safe, s.save(0).at[1]);
  EXPECT_TRUE(s.save(0).peer.is_never());
  EXPECT_NEAR(s.time(s.save(1).began), 701, 1e-9) << "600 s of steps after the stall";
  EXPECT_EQ(bursts, 1);
  EXPECT_EQ(s.plant.use(1).written, gigabytes(100));
}

TEST(StorageSaves, lines_between_sites_limit_every_host) {
  SaveShape shape = heavy_first();
  shape.stops[1].at_most = gbytes_per_s(1);
  Saving s(shape);
  s.run(200);
  EXPECT_NEAR(s.time(s.save(0).safe), 111 + 40 + 2, 1e-9);
  shape.stops = {{.tier = 0, .at_most = gbytes_per_s(4)}, {.tier = 1, .is_durable = true}};
  Saving first(shape);
  first.run(200);
  EXPECT_NEAR(first.time(first.save(0).at[0]), 101 + 10 + 2, 1e-9) << "the narrower of the two";
  // From servers to servers: the line limit of all four hosts.
  shape.stops = {{.tier = 1, .is_durable = true}, {.tier = 2, .at_most = gbytes_per_s(0.5)}};
  shape.files = 100;
  PlantShape counted = drives_and_shared();
  counted.tiers[1].requests = PerSecond(50);
  counted.tiers[2].requests = PerSecond(100);
  Saving servers(shape, counted);
  servers.run(400);
  // 100 files take 2 s at the first tier; 5 GB/s of serialising leave the shared tier's eight.
  EXPECT_NEAR(servers.time(servers.save(0).safe), 101 + 2 + 10 + 20 / 5.0 + 2, 1e-9);
  EXPECT_NEAR(servers.time(servers.save(0).at[1]),
              servers.time(servers.save(0).safe) + 2 + 1 + 50 + 2, 1e-9);
}

// Two saves that are not safe fill both buffers: the third waits for the first of them.
TEST(StorageSaves, a_third_save_waits_for_a_buffer) {
  SaveShape shape = heavy_first();
  shape.heavy_hosts = 0;
  shape.interval = seconds(5);
  shape.serialise = storage::kUnlimitedRate;
  shape.stops = {{.tier = 1, .is_durable = true}};
  Saving s(shape);
  s.run(130);
  ASSERT_GE(s.saves.saves().size(), 3u);
  // Save 0 writes from 101, save 1 in parallel from 107: 32 GB are left then, at half of 8 GB/s.
  EXPECT_NEAR(s.time(s.save(1).stall_end), 107, 1e-9);
  EXPECT_NEAR(s.time(s.save(0).safe), 107 + 8 + 2, 1e-9);
  EXPECT_NEAR(s.time(s.save(2).began), 112, 1e-9);
  EXPECT_NEAR(s.time(s.save(2).stall_end), 118, 1e-9);
  shape.is_async = false;
  Saving sync(shape);
  sync.run(130);
  EXPECT_NEAR(sync.time(sync.save(0).stall_end), 100 + 10 + 2, 1e-9) << "no snapshot";
  EXPECT_NEAR(sync.time(sync.save(1).began), 117, 1e-9);
}

// Steps stop until the drives have the save and continue then, however much still has to leave the
// drives.
TEST(StorageSaves, a_synchronous_save_needs_no_buffer) {
  SaveShape shape = heavy_first();
  shape.heavy_hosts = 0;
  shape.interval = seconds(1);
  shape.serialise = storage::kUnlimitedRate;
  shape.is_async = false;
  Saving s(shape);
  s.run(130);
  ASSERT_GE(s.saves.saves().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const double began = 100 + 5.0 * static_cast<double>(i);
    EXPECT_NEAR(s.time(s.save(i).began), began, 1e-9) << i;
    EXPECT_NEAR(s.time(s.save(i).stall_end), began + 2 + 2, 1e-9) << i;
  }
  // 40, 20 and 13.3 GB in five seconds each, alone, with one and with two others; the rest with
  // three.
  EXPECT_NEAR(s.time(s.save(0).safe), 119 + 20 / 3.0 / 2 + 2, 1e-6);
}

// Each host's copy goes to the next one's drives, over wires that are slower than the drives.
TEST(StorageSaves, peer_copies_go_round_a_ring) {
  SaveShape shape = heavy_first();
  shape.heavy_hosts = 0;
  shape.replicas = 2;
  shape.serialise = storage::kUnlimitedRate;
  shape.stops = {{.tier = 0}};
  PlantShape plant = drives_and_shared();
  plant.hosts[0].wires = gbytes_per_s(4);
  Saving s(shape, plant);
  s.run(130);
  EXPECT_NEAR(s.time(s.save(0).at[0]), 101 + 2 + 2, 1e-9);
  EXPECT_NEAR(s.time(s.save(0).peer), 105 + 5, 1e-9);
  EXPECT_EQ(s.save(0).safe, s.save(0).at[0]) << "it goes no further";
  for (const bool alone : {true, false}) {
    SaveShape none = shape;
    if (alone) none.hosts = 1;
    if (!alone) none.replicas = 1;
    Saving other(none, plant);
    other.run(130);
    EXPECT_TRUE(other.save(0).peer.is_never());
  }
  shape.stops = {{.tier = 1, .is_durable = true}};
  Saving shared(shape, plant);
  shared.run(130);
  EXPECT_TRUE(shared.save(0).peer.is_never()) << "servers keep their own copies";
}

TEST(StorageSaves, milestones_move_on_from_the_first_stop) {
  SaveShape shape = heavy_first();
  shape.heavy_hosts = 0;
  shape.interval = seconds(60);
  shape.stops = {{.tier = 0}, {.tier = 1, .is_durable = true, .every = 2}};
  Saving s(shape);
  s.run(400);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(s.save(i).at[1].is_never(), i % 2 == 1) << i;
    EXPECT_EQ(s.save(i).safe, s.save(i).at[i % 2 == 1 ? 0 : 1]) << i;
  }
  s.saves.stop_saving();
  const std::size_t before = s.saves.saves().size();
  s.run(1000);
  EXPECT_EQ(s.saves.saves().size(), before);
}

SaveShape two_stops() {
  return {.hosts = 4,
          .other_bytes = gigabytes(20),
          .files = 4,
          .interval = minutes(10),
          .first_at = minutes(10),
          .snapshot = seconds(1),
          .commit = seconds(2),
          .stops = {{.tier = 0}, {.tier = 1, .is_durable = true}}};
}

PlantShape local_and_shared() {
  return {.hosts = {{.many = 4, .wires = gbytes_per_s(10), .compute = gbytes_per_s(50)}},
          .tiers = {{.label = "node-nvme",
                     .in_hosts = true,
                     .read = gbytes_per_s(20),
                     .write = gbytes_per_s(10)},
                    {.label = "hot", .read = gbytes_per_s(40), .write = gbytes_per_s(8)}}};
}

TEST(StorageSaves, steps_and_drains_overlap_by_hand) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, local_and_shared());
  SaveShape shape = two_stops();
  shape.replicas = 2;
  SaveProcess saves(kernel, plant, shape);
  kernel.run(sim::SimTime::from(minutes(15)));
  ASSERT_EQ(saves.saves().size(), 1u);
  const SaveRecord& r = saves.saves().front();
  const auto since = [&](sim::SimTime at) { return (at - r.began).seconds().base(); };
  EXPECT_NEAR(since(r.stall_end), 1, 1e-6);
  EXPECT_NEAR(since(r.at[0]), 1 + 2 + 2, 1e-6);  // 20 GB at 10 GB/s, commit
  // Copies to peers and to the shared tier share the wires: 8 of the 10 GB/s per host go to peers.
  EXPECT_NEAR(since(r.peer), 5 + 20 / 8.0, 1e-6);
  EXPECT_NEAR(since(r.safe), 5 + 10 + 2, 1e-6);  // 80 GB at 8 GB/s, commit
}

TEST(StorageSaves, a_synchronous_save_stalls_until_it_is_written) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, local_and_shared());
  SaveShape shape = two_stops();
  shape.is_async = false;
  shape.stops = {{.tier = 1, .is_durable = true}};
  SaveProcess saves(kernel, plant, shape);
  kernel.run(sim::SimTime::from(minutes(15)));
  const SaveRecord& r = saves.saves().front();
  EXPECT_EQ(r.stall_end, r.safe);
  EXPECT_NEAR((r.safe - r.began).seconds().base(), 10 + 2, 1e-6);
}

TEST(StorageSaves, saves_that_drain_slower_than_they_come_wait) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, local_and_shared());
  SaveShape shape = two_stops();
  shape.interval = seconds(5);
  SaveProcess saves(kernel, plant, shape);
  kernel.run(sim::SimTime::from(hours(2)));
  // In the long run a save takes as long as the shared tier needs: 10 s of writing.
  const double cycle = (saves.saves()[300].began - saves.saves()[100].began).seconds().base() / 200;
  EXPECT_GT(cycle, 9.9);
  int unsafe = 0;
  for (const SaveRecord& r : saves.saves()) unsafe += r.safe.is_never() ? 1 : 0;
  EXPECT_LE(unsafe, 3);
}

TEST(StorageSaves, only_milestones_move_to_the_last_stop) {
  sim::Kernel kernel;
  PlantShape plant_shape = local_and_shared();
  plant_shape.tiers.push_back({.label = "cold", .read = gbytes_per_s(4), .write = gbytes_per_s(4)});
  StoragePlant plant(kernel, plant_shape);
  SaveShape shape = two_stops();
  shape.stops.push_back({.tier = 2, .is_durable = true, .every = 3});
  SaveProcess saves(kernel, plant, shape);
  kernel.run(sim::SimTime::from(hours(1.5)));
  ASSERT_GE(saves.saves().size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(saves.saves()[i].at[2].is_never(), i % 3 != 0) << i;
    EXPECT_FALSE(saves.saves()[i].safe.is_never()) << i;
  }
  // From servers to servers: 80 GB at 4 GB/s and a commit after the safe copy.
  const SaveRecord& r = saves.saves().front();
  EXPECT_NEAR((r.at[2] - r.safe).seconds().base(), 22, 1e-6);
}

// The heaviest host's copy arrives last at its peer, long after the others.
TEST(StorageSaves, a_save_has_peers_when_the_last_copy_arrives) {
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

TEST(StorageSaves, hosts_without_heavy_bytes_write_equally) {
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
}

}  // namespace
}  // namespace orrery::twin_storage
