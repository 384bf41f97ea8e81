// Saves on the clock, every time by hand.
#include "twin/storage/storage_saves.h"

#include <gtest/gtest.h>

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

TEST(Saves, OfUnequalHostsByHand) {
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

TEST(Saves, LinesBetweenSitesLimitEveryHost) {
  SaveShape shape = heavy_first();
  shape.stops[1].at_most = gbytes_per_s(1);
  Saving s(shape);
  s.run(200);
  EXPECT_NEAR(s.time(s.save(0).safe), 111 + 40 + 2, 1e-9);
  shape.stops = {{.tier = 0, .at_most = gbytes_per_s(4)}, {.tier = 1, .is_durable = true}};
  Saving first(shape);
  first.run(200);
  EXPECT_NEAR(first.time(first.save(0).at[0]), 101 + 10 + 2, 1e-9) << "the narrower of the two";
  // Servers to servers: the line of all four hosts.
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

// Two that are not safe fill both buffers: the third waits for the first of them.
TEST(Saves, TheThirdWaitsForABuffer) {
  SaveShape shape = heavy_first();
  shape.heavy_hosts = 0;
  shape.interval = seconds(5);
  shape.serialise = storage::kUnlimitedRate;
  shape.stops = {{.tier = 1, .is_durable = true}};
  Saving s(shape);
  s.run(130);
  ASSERT_GE(s.saves.saves().size(), 3u);
  // Save 0 writes from 101, save 1 beside it from 107: 32 GB are left then, at half of 8 GB/s.
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

// Steps stand until the drives have it and go on then, however much is still on its way from them.
TEST(Saves, ASynchronousOneWaitsForNoBuffer) {
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
  // 40, 20 and 13.3 GB in five seconds each, beside nobody, one and two; the rest beside three.
  EXPECT_NEAR(s.time(s.save(0).safe), 119 + 20 / 3.0 / 2 + 2, 1e-6);
}

// Each host's copy goes to the next one's drives, over wires that are slower than those.
TEST(Saves, PeersGetTheirCopiesInARing) {
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

TEST(Saves, MilestonesGoOnFromTheFirst) {
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

}  // namespace
}  // namespace orrery::twin_storage
