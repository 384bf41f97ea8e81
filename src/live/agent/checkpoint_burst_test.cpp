#include "live/agent/checkpoint_burst.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "live/agent/test_folder.h"

namespace orrery::agent::checkpoint_burst_tests {
namespace {

using testing::HasSubstr;

TEST(CheckpointBurst, burst_times_both_clocks_and_leaves_nothing) {
  const TestFolder folder(folder_on_disk());
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 3, .bytes = 3 << 20, .write_bytes = 1 << 18});
  EXPECT_EQ(t.fault, "");
  EXPECT_EQ(t.bytes, 3u << 20);
  EXPECT_GT(t.stall_end_s, 0);
  EXPECT_GT(t.safe_s, t.stall_end_s);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_NE(run_burst({.folder = folder.at("absent"), .bytes = 4096}).fault, "");
}

TEST(CheckpointBurst, bytes_are_split_between_writers_and_a_stop_leaves_nothing) {
  const TestFolder folder;
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 2, .bytes = 10'000, .write_bytes = 4096});
  EXPECT_EQ(t.fault, "");
  EXPECT_EQ(t.bytes, 10'000u) << "5,000 each, not a whole number of pages";
  EXPECT_LE(t.stall_end_s, t.safe_s);
  EXPECT_GT(t.stall_end_s, 0);
  const BurstTimes stopped = run_burst(
      {.folder = folder.path(), .writers = 2, .bytes = 10'000, .stop = [] { return true; }});
  EXPECT_EQ(stopped.bytes, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CheckpointBurst, first_fault_of_a_writer_is_reported) {
  const TestFolder folder;
  folder.write("rank-0.part/by", "taken");
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 2, .bytes = 2 << 16, .write_bytes = 1 << 14});
  EXPECT_THAT(t.fault, HasSubstr("rank-0.part: open"));
  EXPECT_EQ(t.bytes, 1u << 16) << "the half of the other writer";
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-1.ckpt")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-1.part")));
}

TEST(CheckpointBurst, file_without_its_final_name_is_a_fault) {
  const TestFolder folder;
  folder.write("rank-1.ckpt/by", "taken");
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 2, .bytes = 1 << 14, .write_bytes = 4096});
  EXPECT_THAT(t.fault, HasSubstr("rank-1.part: rename"));
  EXPECT_EQ(t.bytes, 1U << 14);
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-1.part")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-0.ckpt")));
}

// A store must not be able to deduplicate or compress the checkpoint.
TEST(CheckpointBurst, no_two_pages_are_equal) {
  const TestFolder folder;
  std::vector<std::string> seen;
  const BurstTimes times = run_burst({.folder = folder.path(),
                                      .writers = 1,
                                      .bytes = 4 * 4096,
                                      .write_bytes = 2 * 4096,
                                      .seed = 3,
                                      .stop = [&] {
                                        std::ifstream part(folder.at("rank-0.part"));
                                        seen.emplace_back(std::istreambuf_iterator<char>(part),
                                                          std::istreambuf_iterator<char>());
                                        return false;
                                      }});
  EXPECT_EQ(times.fault, "");
  EXPECT_EQ(times.bytes, 4U * 4096);
  // Before the first piece and before the second.
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], "");
  ASSERT_EQ(seen[1].size(), 2U * 4096);
  std::uint64_t first = 0, second = 0;
  std::memcpy(&first, seen[1].data(), 8);
  std::memcpy(&second, seen[1].data() + 4096, 8);
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(second, 2U);
  EXPECT_NE(seen[1].substr(8, 4088), seen[1].substr(4104));
}

}  // namespace
}  // namespace orrery::agent::checkpoint_burst_tests
