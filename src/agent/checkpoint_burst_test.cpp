// The two clocks of a burst, and what it leaves behind.
#include "agent/checkpoint_burst.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace orrery {
namespace {

namespace fs = std::filesystem;

// A folder of this test's own.
class Folder {
 public:
  Folder() {
    const char* chosen = std::getenv("ORRERY_PROBE_FOLDER");  // a disk, where TMPDIR is memory
    const fs::path parent = chosen ? fs::path(chosen) : fs::temp_directory_path();
    path_ = (parent / "agent-test-XXXXXX").string();
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(CheckpointBurst, both_clocks_and_nothing_left) {
  const Folder folder;
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 3, .bytes = 3 << 20, .write_bytes = 1 << 18});
  EXPECT_EQ(t.fault, "");
  EXPECT_EQ(t.bytes, 3u << 20);
  EXPECT_GT(t.stall_end_s, 0);
  EXPECT_GT(t.safe_s, t.stall_end_s);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_NE(run_burst({.folder = folder.path() + "/absent", .bytes = 4096}).fault, "");
}

}  // namespace
}  // namespace orrery
