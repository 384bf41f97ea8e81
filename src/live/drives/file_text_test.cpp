// Small text files: written durably as a whole, or not at all.
#include "live/drives/file_text.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace orrery::drives::file_text_tests {
namespace {

class FileTextTest : public testing::Test {
 protected:
  FileTextTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-text-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~FileTextTest() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

// Limits the size of every file that this process writes; a longer write fails.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &was_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = was_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &was_);
    std::signal(SIGXFSZ, before_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit was_{};
  void (*before_)(int) = nullptr;
};

TEST_F(FileTextTest, a_full_disk_leaves_the_previous_text) {
  ASSERT_TRUE(write_durably(folder + "/text", "before"));
  {
    const FileLimit limit(100);
    EXPECT_FALSE(write_durably(folder + "/text", std::string(101, 'x')));
    EXPECT_TRUE(write_durably(folder + "/full", std::string(100, 'x')));
  }
  EXPECT_EQ(read_file(folder + "/text"), "before");
  EXPECT_FALSE(read_file(folder + "/text.new"));
  EXPECT_EQ(read_file(folder + "/full"), std::string(100, 'x'));
}

TEST_F(FileTextTest, a_failed_write_leaves_no_partial_file) {
  EXPECT_TRUE(write_durably(folder + "/text", "first"));
  EXPECT_TRUE(write_durably(folder + "/text", "second"));
  EXPECT_EQ(read_file(folder + "/text"), "second");
  EXPECT_FALSE(write_durably(folder + "/none/text", "x"));
  std::filesystem::create_directories(folder + "/taken");
  std::filesystem::create_directories(folder + "/taken/by");
  EXPECT_FALSE(write_durably(folder + "/taken", "x")) << "a folder has that name";
  EXPECT_FALSE(read_file(folder + "/taken.new")) << "no temporary file is left";
  EXPECT_FALSE(read_file(folder + "/text.new"));
  EXPECT_FALSE(read_file(folder + "/none"));
}

}  // namespace
}  // namespace orrery::drives::file_text_tests
