#include "live/agent/probe_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>

#include "live/agent/test_folder.h"

namespace orrery::agent::probe_files_tests {
namespace {

using testing::HasSubstr;

TEST(ProbeFiles, rates_are_counts_over_time) {
  const TestFolder folder;
  const auto start = std::chrono::steady_clock::now();
  const MetadataRates rates =
      measure_metadata({.folder = folder.path(), .threads = 3, .files = 60, .seconds_max = 30});
  const double all =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(rates.fault, "");
  // Three passes over 60 files, one after another.
  EXPECT_LE(60 / rates.creates_per_s + 60 / rates.stats_per_s + 60 / rates.unlinks_per_s, all);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 3)
      << "one folder per thread";
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_TRUE(std::filesystem::is_empty(entry.path()));
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms::owner_all);
  }
  const SamplesPlan plan{
      .files = {.folder = folder.path(), .threads = 2, .files = 10, .seconds_max = 30},
      .sample_bytes = 1000,
      .shard_bytes = 2500};
  const auto then = std::chrono::steady_clock::now();
  const SampleRates samples = measure_samples(plan);
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  ASSERT_EQ(samples.fault, "");
  for (const double rate : {samples.file_write_bytes_per_s, samples.file_read_bytes_per_s,
                            samples.shard_write_bytes_per_s, samples.shard_read_bytes_per_s}) {
    EXPECT_GE(rate, 10'000 / took);
  }
  EXPECT_LE(10'000 / samples.file_write_bytes_per_s + 10'000 / samples.shard_write_bytes_per_s,
            took);
  // A file blocks the path of the folder.
  folder.write("blocked", "");
  EXPECT_NE(measure_metadata({.folder = folder.at("blocked")}).fault, "");
  EXPECT_NE(measure_commits({.folder = folder.at("blocked")}).fault, "");
  EXPECT_NE(measure_samples({.files = {.folder = folder.at("blocked")}}).fault, "");
}

// Ten samples of 1,000 B in shards of 2,500 B are four shards.
TEST(ProbeFiles, samples_are_packed_into_shards_and_spread_over_the_folders) {
  const TestFolder folder;
  std::mutex mutex;
  std::map<std::string, std::uintmax_t> seen;
  SamplesPlan plan{.files = {.folder = folder.path(), .threads = 2, .files = 10, .seconds_max = 30},
                   .sample_bytes = 1000,
                   .shard_bytes = 2500};
  plan.files.stop = [&] {
    const std::lock_guard lock(mutex);
    for (const char* below : {"0", "1"}) {
      std::error_code gone;
      for (const auto& e : std::filesystem::directory_iterator(folder.at(below), gone)) {
        const auto bytes = std::filesystem::file_size(e.path(), gone);
        auto& most = seen[std::string(below) + '/' + e.path().filename().string()];
        if (!gone) most = std::max(most, bytes);
      }
    }
    return false;
  };
  ASSERT_EQ(measure_samples(plan).fault, "");
  std::map<std::string, std::uintmax_t> wanted;
  for (int i = 0; i < 10; ++i) {
    wanted[std::to_string(i % 2) + "/sample-" + std::to_string(i)] = 1000;
  }
  for (int i = 0; i < 4; ++i) {
    wanted[std::to_string(i % 2) + "/shard-" + std::to_string(i)] = 2500;
  }
  EXPECT_EQ(seen, wanted);
  // A shard that cannot be written is a fault.
  folder.write("0/shard-0", "in the way");
  EXPECT_THAT(measure_samples(plan).fault, HasSubstr("shard-0"));
}

// At each step a file blocks the path.
TEST(ProbeFiles, fault_names_the_file_and_the_call) {
  const TestFolder folder;
  folder.write("0/part-1", "in the way");
  const FilesPlan plan{.folder = folder.path(), .threads = 1, .files = 3, .seconds_max = 30};
  EXPECT_THAT(measure_commits(plan).fault, HasSubstr("part-1: open: "));
  folder.write("0/meta-2", "in the way");
  const MetadataRates rates = measure_metadata(plan);
  EXPECT_THAT(rates.fault, HasSubstr("meta-2: open: "));
  EXPECT_FALSE(std::filesystem::exists(folder.at("0/meta-0")));
  std::filesystem::create_directories(folder.at("0/whole-0"));
  std::filesystem::remove(folder.at("0/part-1"));
  EXPECT_THAT(measure_commits(plan).fault, HasSubstr("part-0: rename: "));
}

}  // namespace
}  // namespace orrery::agent::probe_files_tests
