// How many files a probe makes, and which code stands for a share that is usable.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/spoken_fixture.h"
#include "app/cli/store_design.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

// The highest numbers of files of this kind that were there when the probe asked whether to go on.
class ProbeCounts : public testing::Test {
 protected:
  int made(const std::string& part, const std::string& kind, const std::vector<int>& counts,
           const std::vector<std::string>& more) const {
    int most = 0;
    const auto look = [&] {
      if (below.empty()) {
        for (const auto& entry : fs::directory_iterator(folder.path())) {
          below = entry.path().string();
        }
      }
      for (const int n : counts) {
        if (n > most && fs::exists(below + "/0/" + kind + '-' + std::to_string(n - 1))) most = n;
      }
      return false;
    };
    below.clear();
    std::vector<std::string> words = {"probe",     "storage", folder.path(), "--only", part,
                                      "--streams", "1",       "--seconds",   "60",     "--repeats",
                                      "1"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(spoken(words, {.interrupted = look}).code, ExitCode::good);
    return most;
  }
  agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  mutable std::string below;
};

TEST_F(ProbeCounts, of_empty_files) {
  EXPECT_EQ(made("metadata", "meta", {500, 501, 533, 2000, 2001, 2133}, {}), 2000);
  EXPECT_EQ(made("metadata", "meta", {500, 501, 533, 2000, 2001, 2133}, {"--quick"}), 500);
}

TEST_F(ProbeCounts, of_samples) {
  EXPECT_EQ(made("samples", "sample", {100, 101, 106, 500, 501, 533}, {"--quick"}), 100);
}

// The least redundancy that leaves no more than the share, a hundredth aside.
TEST(StoreCodes, stand_for_the_share_that_is_usable) {
  const std::pair<double, drives::ShardPlan> rows[] = {
      {1, {1, 0}},     {0.991, {1, 0}}, {0.989, {8, 2}}, {0.791, {8, 2}}, {0.789, {6, 2}},
      {0.741, {6, 2}}, {0.739, {4, 2}}, {0.657, {4, 2}}, {0.656, {1, 1}}, {0.491, {1, 1}},
      {0.489, {1, 2}}, {0.324, {1, 2}}, {0.1, {1, 2}}};
  for (const auto& [usable, plan] : rows) {
    design::Design design;
    design.storage.push_back({.tier = design::Tier::hot, .usable = usable});
    const auto made = store_of_design(design);
    ASSERT_TRUE(made);
    const auto hot = std::ranges::find(made->tiers, "hot", &upkeep::TierPlan::name);
    ASSERT_NE(hot, made->tiers.end());
    EXPECT_EQ(hot->plan, plan) << usable;
    EXPECT_EQ(hot->folders.size(), plan.total() > 1 ? static_cast<std::size_t>(plan.total()) : 0U)
        << usable;
    if (!hot->folders.empty()) {
      EXPECT_EQ(hot->folders.front(), "hot-0");
      EXPECT_EQ(hot->folders.back(), "hot-" + std::to_string(plan.total() - 1));
    }
  }
}

// Protection says it outright; of several runs the one that keeps most says how many.
TEST(StoreCodes, of_protection_and_of_runs_that_share_a_tier) {
  design::Design design;
  design.storage.push_back(
      {.tier = design::Tier::warm, .protection = design::Protection{10, 3}, .usable = 0.5});
  for (const int newest : {2, 7, 4}) {
    design::Train train;
    train.checkpoint = design::Checkpoint{.keep = {{"warm", newest}}};
    design.workloads.push_back({.terms = {}, .task = train});
  }
  const auto made = store_of_design(design);
  ASSERT_TRUE(made);
  const auto warm = std::ranges::find(made->tiers, "warm", &upkeep::TierPlan::name);
  EXPECT_EQ(warm->plan, (drives::ShardPlan{10, 3}));
  EXPECT_EQ(warm->folders.size(), 13U);
  ASSERT_EQ(made->keeps.size(), 1U);
  EXPECT_EQ(made->keeps[0].name, "warm");
  EXPECT_EQ(made->keeps[0].keep.newest, 7);
  EXPECT_FALSE(made->keeps[0].keep.milestones);
  EXPECT_FALSE(made->enciphered);
}

}  // namespace
}  // namespace orrery::cli
