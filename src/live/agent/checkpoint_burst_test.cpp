// The two clocks of a burst, and what it leaves behind.
#include "live/agent/checkpoint_burst.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

TEST(CheckpointBurst, both_clocks_and_nothing_left) {
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

// One rank of two cannot write: what is told is what went wrong first, and the other is safe.
TEST(CheckpointBurst, the_first_fault_of_a_rank_is_told) {
  const TestFolder folder;
  folder.write("rank-0.part/by", "taken");
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 2, .bytes = 2 << 16, .write_bytes = 1 << 14});
  EXPECT_NE(t.fault.find("rank-0.part: open"), std::string::npos) << t.fault;
  EXPECT_EQ(t.bytes, 1u << 16) << "the other's half";
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-1.ckpt")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-1.part")));
}

}  // namespace
}  // namespace orrery::agent
