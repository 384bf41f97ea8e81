// Storage in simulated time, compared with queues, stripes and links computed by hand.
#include "twin/storage/storage_plant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/base/probability.h"
#include "twin/storage/storage_shapes_fixture.h"

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

TEST(StoragePlant, a_transfer_begins_after_requests_first_byte_and_restore) {
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
  // 150 requests are served after 1.5 s, for both of them; then each has 10 GB/s.
  EXPECT_NEAR(got.at[0].second, 2.5, 1e-6);
  EXPECT_NEAR(got.at[1].second, 2.5, 1e-6);
  EXPECT_NEAR(plant.use(0).longest_wait.base(), 1, 1e-9);  // of the second: the first's requests
  EXPECT_NEAR(plant.use(0).waited.base(), 1.5, 1e-9);
}

// Poisson arrivals of requests with exponential service times: the mean time in the queue is rho /
// (mu - lambda).
TEST(StoragePlant, one_server_waits_as_theory_says) {
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

// N files thrown at random on K servers: the expected maximum of K Poisson(N/K) counts, as the sum
// over x of P(maximum > x).
double fullest_server(int files, int servers) {
  const double mean = static_cast<double>(files) / servers;
  double sum = 0;
  for (int x = 0; x < files; ++x) sum += 1 - std::pow(1 - poisson_above(x, mean), servers);
  return sum;
}

// Files of one stripe thrown at random over servers: the time is that of the fullest.
TEST(StoragePlant, a_striped_write_ends_with_the_fullest_server) {
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
  // A gigabyte each on servers of 1 GB/s: a second if they are on two servers, two if on one.
  EXPECT_TRUE(std::abs(got.last() - 1) < 1e-6 || std::abs(got.last() - 2) < 1e-6) << got.last();
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

TEST(StoragePlant, hosts_are_numbered_across_groups) {
  PlantShape shape = two_kinds();
  EXPECT_EQ(shape.all_hosts(), 4);
  shape.hosts[0].many = 3;
  EXPECT_EQ(shape.all_hosts(), 5);
  // The last host's drives are its own, in addition to those of all others.
  Bench b(shape);
  for (int h = 0; h < 5; ++h) {
    b.start({.host = h}, {.host = h, .tier = 0}, 4, static_cast<std::uint64_t>(h));
  }
  for (std::uint64_t h = 0; h < 5; ++h) EXPECT_NEAR(b.end(h), 1.02, 1e-9) << h;
}

TEST(StoragePlant, collectives_use_their_own_wires_or_those_of_storage) {
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

TEST(StoragePlant, drives_belong_to_their_host) {
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

TEST(StoragePlant, a_read_waits_for_restore_and_both_first_bytes) {
  Bench b;
  b.start({.tier = 1}, {.host = 0}, 9, 0);
  EXPECT_NEAR(b.end(0), 3 + 0.1 + 1, 1e-9);
  Bench both;
  both.start({.tier = 1}, {.host = 0, .tier = 0}, 4, 0);
  EXPECT_NEAR(both.end(0), 3 + 0.1 + 0.02 + 1, 1e-9);
}

TEST(StoragePlant, transfers_between_tiers_have_no_client_limit) {
  PlantShape shape = two_kinds();
  shape.tiers.push_back({.label = "cold", .read = gbytes_per_s(30), .write = gbytes_per_s(30)});
  Bench b(shape);
  b.start({.tier = 1}, {.tier = 2}, 30, 0);
  EXPECT_NEAR(b.end(0), 3.1 + 1, 1e-9);
}

TEST(StoragePlant, the_use_of_a_tier_is_counted) {
  PlantShape shape = two_kinds();
  shape.tiers[1].requests = PerSecond(10);
  Bench b(shape);
  b.start({.host = 0}, {.tier = 1}, 9, 0, 5);
  b.start({.host = 1}, {.tier = 1}, 9, 1, 10);
  b.start({.host = 2}, {.tier = 1}, 9, 2);
  // 0.5 s of requests, then a second of its own.
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
TEST(StoragePlant, stripes_divide_a_file) {
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

TEST(StoragePlant, consecutive_transfers_do_not_count_as_concurrent) {
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

}  // namespace
}  // namespace orrery::twin_storage
