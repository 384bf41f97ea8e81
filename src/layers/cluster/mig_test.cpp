#include "layers/cluster/mig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/catalog/catalog.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/mig_fixture.h"
#include "layers/cluster/mig_pool.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/rack_meters.h"

namespace orrery::cluster {
namespace {

std::vector<catalog::MigProfile> h200() {
  const auto catalog = catalog::load_embedded_catalog();
  EXPECT_TRUE(catalog.has_value());
  if (!catalog) return {};
  return profiles_of(catalog->mig_profiles, "h200-sxm");
}

int index_of(const std::vector<catalog::MigProfile>& profiles, std::string_view name) {
  const auto it = std::ranges::find(profiles, name, &catalog::MigProfile::profile);
  EXPECT_NE(it, profiles.end()) << name;
  return static_cast<int>(it - profiles.begin());
}

TEST(Mig, profiles_of_the_h200) {
  const auto profiles = h200();
  ASSERT_EQ(profiles.size(), 7u);
  const catalog::MigProfile& three =
      profiles[static_cast<std::size_t>(index_of(profiles, "3g.71gb"))];
  EXPECT_EQ(three.compute_slices, 3);
  EXPECT_EQ(three.memory_slices, 4);
  EXPECT_EQ(three.starts, (std::vector<int>{0, 4}));
}

TEST(Mig, overlap_is_on_memory_slices) {
  const auto p = h200();
  const MigInstance three{.profile = index_of(p, "3g.71gb"), .start = 0};
  const MigInstance one_inside{.profile = index_of(p, "1g.18gb"), .start = 3};
  const MigInstance one_beside{.profile = index_of(p, "1g.18gb"), .start = 4};
  EXPECT_TRUE(instances_overlap(three, one_inside, p));
  EXPECT_FALSE(instances_overlap(three, one_beside, p));
  EXPECT_TRUE(can_add({three}, one_beside, p));
  EXPECT_FALSE(can_add({three}, one_inside, p));
  EXPECT_FALSE(can_add({}, {.profile = index_of(p, "3g.71gb"), .start = 2}, p));
}

// A hole that any wanted profile can use is not stranded, whatever the other profiles can use.
TEST(Mig, holes_are_usable_if_any_wanted_slice_fits) {
  const auto p = h200();
  const int one = index_of(p, "1g.18gb");
  const int seven = index_of(p, "7g.141gb");
  const MigLayout layout{{.profile = one, .start = 0}};
  const MigHoles h = holes(layout, p, std::vector<int>{one, seven});
  EXPECT_TRUE(h.usable);
  EXPECT_EQ(h.compute_free, 6);
  EXPECT_EQ(h.memory_free, 7);
  EXPECT_TRUE(holes(layout, p, std::vector<int>{seven, one}).usable);
  EXPECT_FALSE(holes(layout, p, std::vector<int>{seven}).usable);
  EXPECT_FALSE(holes(layout, p, std::vector<int>{}).usable);
}

// 4g + 3g fill the compute slices; two 3g fill the memory and strand the seventh compute slice.
TEST(Mig, two_threes_strand_a_slice) {
  const auto p = h200();
  const MigDemand mixed[] = {{"4g.71gb", 1}, {"3g.71gb", 1}};
  const MigPacking full = pack_mig(mixed, p);
  EXPECT_EQ(full.gpus.size(), 1u);
  EXPECT_EQ(full.compute_used, 7);
  EXPECT_EQ(full.compute_stranded, 0);

  const MigDemand threes[] = {{"3g.71gb", 2}};
  const MigPacking stranded = pack_mig(threes, p);
  EXPECT_EQ(stranded.gpus.size(), 1u);
  EXPECT_EQ(stranded.compute_stranded, 1);
  EXPECT_EQ(stranded.memory_stranded, 0);
  EXPECT_NEAR(stranded.compute_stranded_share(), 1.0 / 7, 1e-12);
}

// Small instances fill what large ones leave; placed first, they would share a GPU on which no
// large one fits.
TEST(Mig, large_instances_go_first) {
  const MigDemand wanted[] = {{"1g.18gb", 6}, {"4g.71gb", 2}};
  const MigPacking packing = pack_mig(wanted, h200());
  EXPECT_EQ(packing.gpus.size(), 2u);
  EXPECT_EQ(packing.compute_stranded, 0);
}

TEST(Mig, seven_ones_leave_one_memory_slice) {
  const auto p = h200();
  const MigDemand ones[] = {{"1g.18gb", 7}};
  const MigPacking packing = pack_mig(ones, p);
  EXPECT_EQ(packing.gpus.size(), 1u);
  EXPECT_EQ(packing.compute_used, 7);
  EXPECT_EQ(packing.memory_stranded, 1);
  const MigDemand eight[] = {{"1g.18gb", 8}};
  EXPECT_EQ(pack_mig(eight, p).gpus.size(), 2u);
}

TEST(Mig, tens_of_thousands_pack_quickly) {
  const MigDemand many[] = {{"3g.71gb", 5000}, {"2g.35gb", 5000}, {"1g.18gb", 20000}};
  const MigPacking packing = pack_mig(many, h200());
  EXPECT_GE(static_cast<int>(packing.gpus.size()), packing.gpus_at_least);
  EXPECT_LE(static_cast<int>(packing.gpus.size()), packing.gpus_at_least * 11 / 10);
  EXPECT_EQ(packing.compute_used, 5000 * 3 + 5000 * 2 + 20000);
}

TEST(Mig, unknown_profiles_are_named) {
  const MigDemand strange[] = {{"5g.99gb", 3}, {"7g.141gb", 2}};
  const MigPacking packing = pack_mig(strange, h200());
  EXPECT_EQ(packing.unplaced, (std::vector<std::string>{"5g.99gb"}));
  EXPECT_EQ(packing.gpus.size(), 2u);
}

// Every legal layout of one GPU, by brute force over all placements in any order.
using Multiset = std::vector<int>;  // profile indices, sorted
void enumerate(const std::vector<catalog::MigProfile>& p, MigLayout& layout, int from,
               std::set<Multiset>& reachable) {
  Multiset key;
  for (const MigInstance& i : layout) key.push_back(i.profile);
  std::sort(key.begin(), key.end());
  reachable.insert(key);
  for (int placement = from; placement < static_cast<int>(p.size()) * kMigMemorySlices;
       ++placement) {
    const MigInstance next{.profile = placement / kMigMemorySlices,
                           .start = placement % kMigMemorySlices};
    const auto& profile = p[static_cast<std::size_t>(next.profile)];
    // Independent of can_add: a bitmap of memory, a sum of compute, a count.
    unsigned used = 0;
    int compute = profile.compute_slices;
    int same = 1;
    for (const MigInstance& i : layout) {
      const auto& q = p[static_cast<std::size_t>(i.profile)];
      used |= ((1u << q.memory_slices) - 1) << i.start;
      compute += q.compute_slices;
      same += i.profile == next.profile ? 1 : 0;
    }
    const unsigned mask = ((1u << profile.memory_slices) - 1) << next.start;
    const bool legal_start = std::ranges::count(profile.starts, next.start) > 0;
    if (!legal_start || (used & mask) != 0 || compute > 7 || same > profile.max_instances) continue;
    layout.push_back(next);
    enumerate(p, layout, placement + 1, reachable);
    layout.pop_back();
  }
}

TEST(Mig, one_gpu_search_finds_exactly_what_brute_force_finds) {
  const auto p = h200();
  std::set<Multiset> reachable;
  MigLayout empty;
  enumerate(p, empty, 0, reachable);
  EXPECT_GT(reachable.size(), 20u);
  for (const Multiset& wanted : reachable) {
    MigLayout placed;
    ASSERT_TRUE(fits_one_gpu(wanted, p, &placed));
    EXPECT_TRUE(is_legal(placed, p));
  }
  // Nothing else is legal: checks every pair and triple of profiles.
  const int n = static_cast<int>(p.size());
  for (int a = 0; a < n; ++a) {
    for (int b = a; b < n; ++b) {
      EXPECT_EQ(fits_one_gpu(Multiset{a, b}, p), reachable.contains({a, b}));
      for (int c = b; c < n; ++c) {
        EXPECT_EQ(fits_one_gpu(Multiset{a, b, c}, p), reachable.contains({a, b, c}));
      }
    }
  }
}

// Returns the fewest GPUs for a small mix, by trying every way to give a GPU a reachable part of
// it.
int fewest_gpus(const Multiset& left, const std::set<Multiset>& reachable,
                std::map<Multiset, int>& known) {
  if (left.empty()) return 0;
  if (const auto it = known.find(left); it != known.end()) return it->second;
  int best = static_cast<int>(left.size());
  for (const Multiset& part : reachable) {
    if (part.empty() || !std::ranges::includes(left, part)) continue;
    Multiset rest;
    std::ranges::set_difference(left, part, std::back_inserter(rest));
    best = std::min(best, 1 + fewest_gpus(rest, reachable, known));
  }
  return known[left] = best;
}

TEST(Mig, packing_is_legal_complete_and_near_the_best) {
  const auto p = h200();
  std::set<Multiset> reachable;
  MigLayout empty;
  enumerate(p, empty, 0, reachable);
  std::map<Multiset, int> known;
  const int ones = index_of(p, "1g.18gb");
  const int wide = index_of(p, "1g.35gb");
  const int twos = index_of(p, "2g.35gb");
  const int threes = index_of(p, "3g.71gb");
  int above_best = 0;
  for (int a = 0; a <= 3; ++a) {
    for (int b = 0; b <= 2; ++b) {
      for (int c = 0; c <= 3; ++c) {
        for (int d = 0; d <= 2; ++d) {
          const MigDemand demand[] = {
              {"1g.18gb", a}, {"1g.35gb", b}, {"2g.35gb", c}, {"3g.71gb", d}};
          const MigPacking packing = pack_mig(demand, p);
          Multiset wanted;
          wanted.insert(wanted.end(), static_cast<std::size_t>(a), ones);
          wanted.insert(wanted.end(), static_cast<std::size_t>(b), wide);
          wanted.insert(wanted.end(), static_cast<std::size_t>(c), twos);
          wanted.insert(wanted.end(), static_cast<std::size_t>(d), threes);
          std::sort(wanted.begin(), wanted.end());
          Multiset got;
          for (const MigLayout& gpu : packing.gpus) {
            EXPECT_TRUE(is_legal(gpu, p));
            for (const MigInstance& i : gpu) got.push_back(i.profile);
          }
          std::sort(got.begin(), got.end());
          EXPECT_EQ(got, wanted);
          const int best = fewest_gpus(wanted, reachable, known);
          EXPECT_LE(packing.gpus_at_least, best);
          EXPECT_LE(static_cast<int>(packing.gpus.size()), best + 1);
          above_best += static_cast<int>(packing.gpus.size()) > best ? 1 : 0;
        }
      }
    }
  }
  EXPECT_LE(above_best, 7);  // of 144 mixes
}

TEST(Mig, gpu_limits_instances_of_a_profile) {
  const auto profiles = slices();
  const MigLayout one{{.profile = 1, .start = 0}};
  EXPECT_FALSE(can_add(one, {.profile = 1, .start = 2}, profiles));
  EXPECT_TRUE(can_add(one, {.profile = 0, .start = 2}, profiles));
  EXPECT_FALSE(can_add(one, {.profile = 0, .start = 0}, profiles)) << "taken";
  EXPECT_FALSE(can_add(one, {.profile = 0, .start = 7}, profiles)) << "no start";
  EXPECT_FALSE(can_add(one, {.profile = 2, .start = 0}, profiles));
  EXPECT_TRUE(can_add(one, {.profile = 2, .start = 4}, profiles));
  const MigLayout two{{.profile = 2, .start = 0}, {.profile = 2, .start = 4}};
  EXPECT_FALSE(can_add(two, {.profile = 0, .start = 6}, profiles)) << "no memory";
  EXPECT_TRUE(can_add({two[0]}, two[1], profiles));
}

TEST(Mig, packing_reports_used_and_stranded_slices) {
  EXPECT_EQ(MigPacking{}.compute_stranded_share(), 0);
  const MigDemand demand[] = {{"3g", 3}, {"media", 2}, {"9g", 1}};
  const MigPacking p = pack_mig(demand, slices());
  // Two 3g fill the memory of one GPU. The third goes with one `media`, and the other `media` opens
  // a third GPU. 3 x 3 + 2 = 11 compute slices, 3 x 4 + 2 = 14 memory slices.
  ASSERT_EQ(p.gpus.size(), 3u);
  EXPECT_EQ(p.gpus_at_least, 2);
  EXPECT_EQ(p.unplaced, std::vector<std::string>{"9g"});
  EXPECT_EQ(p.compute_used, 11);
  EXPECT_EQ(p.memory_used, 14);
  // The first GPU leaves one compute slice. On the second, `media` is where another 3g would begin,
  // and a second `media` is not allowed: 3 compute and 3 memory slices. The third still has room
  // for a 3g.
  EXPECT_EQ(p.compute_stranded, 4);
  EXPECT_EQ(p.memory_stranded, 3);
  EXPECT_DOUBLE_EQ(p.compute_stranded_share(), 4.0 / 21);
}

// Only one 4g fits on a GPU; smaller instances go to the first GPU with room.
TEST(Mig, smaller_slice_fills_the_first_gpu) {
  auto profiles = slices();
  profiles.push_back({.profile = "4g",
                      .compute_slices = 4,
                      .memory_slices = 4,
                      .starts = {0},
                      .max_instances = 1});
  const MigDemand demand[] = {{"4g", 2}, {"1g", 1}};
  const MigPacking p = pack_mig(demand, profiles);
  ASSERT_EQ(p.gpus.size(), 2u);
  EXPECT_EQ(p.gpus[0].size(), 2u);
  EXPECT_EQ(p.gpus[1].size(), 1u);
}

}  // namespace
}  // namespace orrery::cluster
