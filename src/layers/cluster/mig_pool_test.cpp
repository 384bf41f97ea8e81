#include "layers/cluster/mig_pool.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/mig_fixture.h"
#include "layers/cluster/profile.h"

namespace orrery::cluster {
namespace {

catalog::MigProfile profile_named(const char* name, int compute, int memory,
                                  std::vector<int> starts, int most) {
  catalog::MigProfile p;
  p.profile = name;
  p.compute_slices = compute;
  p.memory_slices = memory;
  p.starts = std::move(starts);
  p.max_instances = most;
  return p;
}

// The profiles of an 80 GB H100.
std::vector<catalog::MigProfile> h100_slices() {
  return {profile_named("1g.10gb", 1, 1, {0, 1, 2, 3, 4, 5, 6}, 7),
          profile_named("2g.20gb", 2, 2, {0, 2, 4}, 3), profile_named("3g.40gb", 3, 4, {0, 4}, 2),
          profile_named("4g.40gb", 4, 4, {0}, 1), profile_named("7g.80gb", 7, 8, {0}, 1)};
}

TEST(MigPool, two_of_three_sevenths_strand_one) {
  MigPool pool(h100_slices(), {2});
  EXPECT_FALSE(pool.place(2));
  const std::size_t d = pool.open();
  ASSERT_TRUE(pool.place(2));
  EXPECT_EQ(pool.compute_stranded(), 0);
  const auto second = pool.place(2);
  ASSERT_TRUE(second);
  EXPECT_EQ(pool.compute_used(), 6);
  EXPECT_EQ(pool.compute_stranded(), 1);
  EXPECT_FALSE(pool.place(2));
  pool.leave(*second);
  EXPECT_EQ(pool.compute_stranded(), 0);
  EXPECT_FALSE(pool.is_empty(d));
}

// The first small instance goes where a large one still fits: to start 4 or later, not to 0.
TEST(MigPool, pool_leaves_room_for_wanted_profiles) {
  MigPool pool(h100_slices(), {0, 3});
  pool.open();
  const auto small = pool.place(0);
  ASSERT_TRUE(small);
  EXPECT_TRUE(pool.place(3)) << "it starts at " << small->instance.start;
  // The next one goes to the device that is open already.
  pool.open();
  const auto next = pool.place(0);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->device, small->device);
}

TEST(MigPool, fixed_layout_gives_its_instances) {
  MigLayout cut;
  const std::vector<int> wanted = {2, 1, 0};
  ASSERT_TRUE(fits_one_gpu(wanted, h100_slices(), &cut));
  MigPool pool(h100_slices(), {0, 1, 2}, cut);
  pool.open();
  EXPECT_TRUE(pool.place(2));
  EXPECT_FALSE(pool.place(2)) << "one was cut, though two would fit";
  EXPECT_TRUE(pool.place(0));
  EXPECT_TRUE(pool.place(1));
  EXPECT_EQ(pool.compute_stranded(), 1);
}

TEST(MigPool, every_layout_it_makes_is_legal) {
  const auto profiles = h100_slices();
  RandomStream random(3, "mig");
  MigPool pool(profiles, {0, 1, 2, 3});
  std::vector<MigPlace> held;
  for (int step = 0; step < 4000; ++step) {
    if (random.uniform() < 0.55) {
      const int profile = static_cast<int>(random.below(4));
      auto place = pool.place(profile);
      if (!place && pool.devices() < 12) {
        pool.open();
        place = pool.place(profile);
      }
      if (place) held.push_back(*place);
    } else if (!held.empty()) {
      const auto which = static_cast<std::size_t>(random.below(held.size()));
      pool.leave(held[which]);
      if (pool.is_empty(held[which].device)) pool.close(held[which].device);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    std::vector<MigLayout> layouts(16);
    int used = 0;
    for (const MigPlace& p : held) {
      layouts[p.device].push_back(p.instance);
      used += profiles[static_cast<std::size_t>(p.instance.profile)].compute_slices;
    }
    for (const MigLayout& layout : layouts) ASSERT_TRUE(is_legal(layout, profiles)) << step;
    ASSERT_EQ(pool.compute_used(), used);
    ASSERT_LE(used + pool.compute_stranded(), pool.devices() * kMigComputeSlices);
  }
}

// Five 1g on one GPU: the fifth leaves no room for a 3g, so two slices are stranded. A sixth goes
// there too, because on a fresh GPU it would cost a place for a 3g.
TEST(MigPool, slice_goes_where_it_strands_least) {
  MigPool pool(slices(), {2});
  EXPECT_EQ(pool.open(), 0u);
  for (int i = 0; i < 4; ++i) {
    const auto place = pool.place(0);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->instance.start, i);
    EXPECT_EQ(pool.compute_stranded(), 0);
  }
  EXPECT_EQ(pool.place(0)->instance.start, 4);
  EXPECT_EQ(pool.compute_stranded(), 2);
  EXPECT_EQ(pool.compute_used(), 5);
  EXPECT_EQ(pool.open(), 1u);
  EXPECT_EQ(pool.devices(), 2);
  const auto sixth = pool.place(0);
  ASSERT_TRUE(sixth);
  EXPECT_EQ(sixth->device, 0u);
  EXPECT_EQ(pool.compute_stranded(), 1);
  pool.leave(*sixth);
  EXPECT_EQ(pool.compute_stranded(), 2);
  EXPECT_EQ(pool.compute_used(), 5);
  EXPECT_TRUE(pool.is_empty(1));
  pool.close(0);
  EXPECT_EQ(pool.compute_used(), 0);
  EXPECT_EQ(pool.compute_stranded(), 0);
  EXPECT_EQ(pool.devices(), 1);
}

}  // namespace
}  // namespace orrery::cluster
