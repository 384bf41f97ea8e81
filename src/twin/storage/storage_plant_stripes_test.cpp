// Files on a few of a tier's servers, seed by seed: how they are divided, and tiers without a rate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "twin/storage/storage_day_fixture.h"
#include "twin/storage/storage_plant.h"

namespace orrery::twin_storage {
namespace {

struct LastArrival final : TransferObserver {
  int many = 0;
  double at = 0;
  void on_arrived(sim::Kernel& kernel, std::uint64_t) override {
    ++many;
    at = kernel.now().seconds().base();
  }
};

PlantTier striped_tier(int servers, int stripes) {
  return {.servers = servers,
          .stripes = stripes,
          .read = gbytes_per_s(servers),
          .write = gbytes_per_s(servers)};
}

// Times that a transfer of 4 GB takes with each of 40 seeds, in hundredths of a second.
std::set<long> times_of_seeds(const std::vector<PlantTier>& tiers, const Spot& from,
                              const Spot& to) {
  std::set<long> times;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sim::Kernel kernel;
    StoragePlant plant(
        kernel, {.hosts = {{.many = 1, .wires = gbytes_per_s(100)}}, .tiers = tiers, .seed = seed});
    LastArrival last;
    plant.start({.from = from, .to = to, .bytes = gigabytes(4)}, last);
    kernel.run();
    EXPECT_EQ(last.many, 1) << "the whole arrives, not its parts";
    times.insert(std::lround(last.at * 100));
  }
  return times;
}

// A server takes 1 GB/s. Two stripes of 2 GB are on two servers, or both on one.
TEST(StoragePlantStripes, two_stripes_use_one_or_two_servers) {
  const std::vector<PlantTier> tiers{striped_tier(4, 2)};
  const std::set<long> both{200, 400};
  EXPECT_EQ(times_of_seeds(tiers, {.host = 0}, {.tier = 0}), both);
  EXPECT_EQ(times_of_seeds(tiers, {.tier = 0}, {.host = 0}), both);
}

// One stripe is one server's; as many stripes as servers are spread evenly over all.
TEST(StoragePlantStripes, one_stripe_uses_one_server_and_all_stripes_use_all) {
  EXPECT_EQ(times_of_seeds({striped_tier(4, 1)}, {.host = 0}, {.tier = 0}), std::set<long>{400});
  EXPECT_EQ(times_of_seeds({striped_tier(4, 4)}, {.host = 0}, {.tier = 0}), std::set<long>{100});
  EXPECT_EQ(times_of_seeds({striped_tier(4, 0)}, {.host = 0}, {.tier = 0}), std::set<long>{100});
}

// From one server to three stripes: three parts of 1.33 GB each leave one server, 4 s in all; the
// other way round they arrive at one.
TEST(StoragePlantStripes, the_tier_with_more_stripes_decides) {
  const std::vector<PlantTier> tiers{striped_tier(8, 1), striped_tier(8, 3)};
  EXPECT_EQ(times_of_seeds(tiers, {.tier = 0}, {.tier = 1}), std::set<long>{400});
  EXPECT_EQ(times_of_seeds(tiers, {.tier = 1}, {.tier = 0}), std::set<long>{400});
}

TEST(StoragePlantStripes, a_tier_without_a_rate_does_not_limit_stripes) {
  MadeDay day;
  day.set_rates(1, 0, 6);
  day.add_run(2);
  day.add_saves({"hot"}, 3);
  const StorageRun run = day.run();
  const auto hot = std::ranges::find(run.tiers, "hot", &TierLoad::label);
  ASSERT_NE(hot, run.tiers.end());
  EXPECT_EQ(hot->read_share, 0);
  EXPECT_EQ(hot->use.read.base(), 0);
  EXPECT_GT(hot->write_share, 0);
  EXPECT_NEAR(hot->write_share, hot->use.written.base() / (6e9 * 500), 1e-12);
}

}  // namespace
}  // namespace orrery::twin_storage
