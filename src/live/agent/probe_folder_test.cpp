#include "live/agent/probe_folder.h"

#include <gtest/gtest.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "live/agent/io_ring.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::probe_folder_tests {
namespace {

TEST(ProbeFolder, free_space_keeps_two_percent_of_the_file_system) {
  const TestFolder folder;
  struct statfs facts{};
  ASSERT_EQ(::statfs(folder.path().c_str(), &facts), 0);
  const auto system = file_system_of(folder.path());
  ASSERT_TRUE(system);
  const double block = static_cast<double>(facts.f_bsize);
  const double free = static_cast<double>(facts.f_bavail) * block -
                      0.02 * static_cast<double>(facts.f_blocks) * block;
  EXPECT_NEAR(static_cast<double>(system->free_bytes), std::max(0.0, free), 2e9);
  EXPECT_FALSE(system->name.empty());
  EXPECT_EQ(system->in_memory, system->name == "tmpfs");
  const auto memory = file_system_of("/dev/shm");
  if (memory && memory->name == "tmpfs") {
    EXPECT_TRUE(memory->in_memory);
  }
}

// No word is zero and none occurs twice.
TEST(ProbeFolder, written_blocks_cannot_be_compressed_or_deduplicated) {
  const TestFolder folder;
  const auto made = ProbeFolder::make(folder.path(), 0);
  ASSERT_TRUE(made) << to_text(made.error());
  const auto file = open_nameless(*made, false);
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_FALSE(file->direct);
  EXPECT_TRUE(std::filesystem::is_empty(made->path())) << "the file has no name";
  const IoRun run = run_io({.file = file->file.get(),
                            .write = true,
                            .block_bytes = 8192,
                            .depth = 1,
                            .span_bytes = 8192,
                            .bytes_max = 8192},
                           IoEngine::threads);
  ASSERT_EQ(run.fault, "");
  ASSERT_EQ(run.bytes, 8192U);
  std::vector<std::uint64_t> words(1024);
  ASSERT_EQ(::pread(file->file.get(), words.data(), 8192, 0), 8192);
  std::set<std::uint64_t> distinct(words.begin(), words.end());
  EXPECT_FALSE(distinct.contains(0));
  EXPECT_EQ(distinct.size(), 1024U);
}

}  // namespace
}  // namespace orrery::agent::probe_folder_tests
