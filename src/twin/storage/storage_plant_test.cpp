// Storage on the clock beside what queues, stripes and links come to by hand.
#include "twin/storage/storage_plant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/base/probability.h"
#include "twin/storage/storage_saves.h"

namespace orrery::twin_storage {
namespace {

struct Arrivals final : TransferObserver {
  std::vector<std::pair<std::uint64_t, double>> at;

  void on_arrived(sim::Kernel& kernel, std::uint64_t tag) override {
    at.emplace_back(tag, kernel.now().seconds().base());
  }
  double last() const { return at.back().second; }
};

PlantShape one_tier(const PlantTier& tier, int hosts = 4) {
  return {.hosts = {{.many = hosts, .wires = gbytes_per_s(10), .compute = gbytes_per_s(50)}},
          .tiers = {tier}};
}

Transfer write_of(int host, Bytes bytes, double files = 0) {
  return {.from = {.host = host}, .to = {.tier = 0}, .bytes = bytes, .files = files};
}

TEST(StoragePlant, a_host_is_held_by_its_wires_and_many_by_the_tier) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, one_tier({.read = gbytes_per_s(40), .write = gbytes_per_s(20)}));
  Arrivals got;
  plant.start(write_of(0, gigabytes(10)), got);
  kernel.run();
  EXPECT_NEAR(got.last(), 1, 1e-6);
  for (int h = 0; h < 4; ++h) plant.start(write_of(h, gigabytes(10)), got);
  kernel.run();
  EXPECT_NEAR(got.last(), 1 + 2, 1e-6);  // 40 GB at 20 GB/s
}

TEST(StoragePlant, requests_first_byte_restore_and_streams_come_first) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, one_tier({.read = gbytes_per_s(40),
                                       .write = gbytes_per_s(20),
                                       .requests = PerSecond(100),
                                       .first_byte = milliseconds(50),
                                       .restore = hours(5),
                                       .client = gbytes_per_s(2)}));
  Arrivals got;
  plant.start(write_of(0, gigabytes(2), 100), got);  // 1 s of requests, 50 ms, 1 s at 2 GB/s
  kernel.run();
  EXPECT_NEAR(got.last(), 2.05, 1e-6);
  plant.start({.from = {.tier = 0}, .to = {.host = 1}, .bytes = gigabytes(2), .files = 100}, got);
  plant.start({.from = {.tier = 0}, .to = {.host = 2}, .bytes = gigabytes(2), .files = 100}, got);
  kernel.run();
  EXPECT_NEAR(got.at[1].second, 2.05 + 18000 + 2.05, 1e-6);
  EXPECT_NEAR(got.at[2].second, 2.05 + 18000 + 3.05, 1e-6);  // its requests wait for the other's
  EXPECT_EQ(plant.use(0).transfers, 3u);
  EXPECT_NEAR(plant.use(0).longest_wait.base(), 1, 1e-9);
}

TEST(StoragePlant, requests_of_one_instant_are_served_in_turn) {
  sim::Kernel kernel;
  StoragePlant plant(
      kernel,
      one_tier({.read = gbytes_per_s(40), .write = gbytes_per_s(20), .requests = PerSecond(100)}));
  Arrivals got;
  const Transfer both[] = {write_of(0, gigabytes(10), 100), write_of(1, gigabytes(10), 50)};
  plant.start_together(both, got);
  kernel.run();
  // 150 requests are through after 1.5 s, for both of them; then each has 10 GB/s.
  EXPECT_NEAR(got.at[0].second, 2.5, 1e-6);
  EXPECT_NEAR(got.at[1].second, 2.5, 1e-6);
  EXPECT_NEAR(plant.use(0).longest_wait.base(), 1, 1e-9);  // of the second: the first's requests
  EXPECT_NEAR(plant.use(0).waited.base(), 1.5, 1e-9);
}

// Requests that come as a Poisson process and take an exponential time: the mean time in the queue
// is rho / (mu - lambda).
TEST(StoragePlant, a_single_server_queue) {
  constexpr double kLambda = 500;
  constexpr double kMu = 1000;
  constexpr int kMany = 300'000;
  struct Source final : sim::EventHandler {
    StoragePlant* plant = nullptr;
    Arrivals got;
    RandomStream random{7, "test/queue"};
    int left = kMany;
    void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t) override {
      plant->start(write_of(0, bytes(1), random.exponential(1)), got);
      if (--left > 0) {
        kernel.schedule(kernel.now().after(Seconds(random.exponential(1 / kLambda))),
                        sim::EventRank::start, *this);
      }
    }
  };
  sim::Kernel kernel;
  StoragePlant plant(
      kernel,
      one_tier({.read = gbytes_per_s(40), .write = gbytes_per_s(20), .requests = PerSecond(kMu)}));
  Source source;
  source.plant = &plant;
  kernel.schedule(sim::SimTime(), sim::EventRank::start, source);
  kernel.run();
  const double wait = plant.use(0).waited.base() / kMany;
  const double expected = kLambda / kMu / (kMu - kLambda);
  EXPECT_NEAR(wait / expected, 1, 0.01);
}

// The fullest of K servers that N files are thrown at: the expected maximum of K Poisson(N/K)
// counts, as the sum over x of P(maximum > x).
double fullest_server(int files, int servers) {
  const double mean = static_cast<double>(files) / servers;
  double sum = 0;
  for (int x = 0; x < files; ++x) sum += 1 - std::pow(1 - poisson_above(x, mean), servers);
  return sum;
}

// Files of one stripe thrown at random over servers: the time is that of the fullest.
TEST(StoragePlant, striping_ends_with_the_fullest_server) {
  constexpr int kHosts = 512;
  constexpr int kServers = 16;
  double sum = 0;
  constexpr int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    sim::Kernel kernel;
    PlantShape shape = one_tier({.servers = kServers,
                                 .stripes = 1,
                                 .read = gbytes_per_s(kServers),
                                 .write = gbytes_per_s(kServers)},
                                kHosts);
    shape.seed = static_cast<std::uint64_t>(trial) + 1;
    StoragePlant plant(kernel, shape);
    Arrivals got;
    for (int h = 0; h < kHosts; ++h) plant.start(write_of(h, gigabytes(1)), got);
    kernel.run();
    sum += got.last();
  }
  EXPECT_NEAR(sum / kTrials / fullest_server(kHosts, kServers), 1, 0.01);
}

TEST(StoragePlant, a_file_of_two_stripes_arrives_once) {
  sim::Kernel kernel;
  StoragePlant plant(
      kernel,
      one_tier({.servers = 4, .stripes = 2, .read = gbytes_per_s(4), .write = gbytes_per_s(4)}));
  Arrivals got;
  plant.start(write_of(0, gigabytes(2)), got);
  kernel.run();
  ASSERT_EQ(got.at.size(), 1U);
  // A gigabyte each on servers of 1 GB/s: a second where they are two, two where they are one.
  EXPECT_TRUE(std::abs(got.last() - 1) < 1e-6 || std::abs(got.last() - 2) < 1e-6) << got.last();
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

TEST(SaveProcess, two_clocks_by_hand) {
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
  // Copies to peers and to the shared tier share the wires: 8 of the 10 GB/s a host go to peers.
  EXPECT_NEAR(since(r.peer), 5 + 20 / 8.0, 1e-6);
  EXPECT_NEAR(since(r.safe), 5 + 10 + 2, 1e-6);  // 80 GB at 8 GB/s, commit
}

TEST(SaveProcess, a_synchronous_save_stalls_until_it_is_written) {
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

TEST(SaveProcess, saves_that_drain_slower_than_they_come_wait) {
  sim::Kernel kernel;
  StoragePlant plant(kernel, local_and_shared());
  SaveShape shape = two_stops();
  shape.interval = seconds(5);
  SaveProcess saves(kernel, plant, shape);
  kernel.run(sim::SimTime::from(hours(2)));
  // In the long run a save takes as long as the shared tier does: 10 s of writing.
  const double cycle = (saves.saves()[300].began - saves.saves()[100].began).seconds().base() / 200;
  EXPECT_GT(cycle, 9.9);
  int unsafe = 0;
  for (const SaveRecord& r : saves.saves()) unsafe += r.safe.is_never() ? 1 : 0;
  EXPECT_LE(unsafe, 3);
}

TEST(SaveProcess, milestones_alone_go_on) {
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
  // From servers to servers: 80 GB at 4 GB/s and a commit behind the safe copy.
  const SaveRecord& r = saves.saves().front();
  EXPECT_NEAR((r.at[2] - r.safe).seconds().base(), 22, 1e-6);
}

}  // namespace
}  // namespace orrery::twin_storage
