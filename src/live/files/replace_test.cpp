#include "live/files/replace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace orrery::files {
namespace {

namespace fs = std::filesystem;

class Replace : public testing::Test {
 protected:
  Replace() {
    std::string name = testing::TempDir() + "orrery-replace-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~Replace() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return folder + '/' + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  mode_t rights(const std::string& name) const {
    struct stat facts{};
    return ::stat(at(name).c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
  }
  long files() const { return std::distance(fs::directory_iterator(folder), {}); }

  std::string folder;
};

TEST_F(Replace, new_text_replaces_the_old_and_keeps_its_permissions) {
  write("a", "old");
  ASSERT_EQ(::chmod(at("a").c_str(), 0750), 0);
  ASSERT_TRUE(replace_file(at("a"), "new"));
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(rights("a"), 0750u);
  EXPECT_EQ(files(), 1);
}

TEST_F(Replace, given_rights_hold_for_an_old_file_too) {
  write("key", "old");
  ASSERT_EQ(::chmod(at("key").c_str(), 0644), 0);
  ASSERT_TRUE(replace_file(at("key"), "new", 0600));
  EXPECT_EQ(rights("key"), 0600u);
}

TEST_F(Replace, link_is_replaced_and_what_it_names_is_untouched) {
  write("target", "mine");
  fs::create_symlink("target", at("link"));
  ASSERT_TRUE(replace_file(at("link"), "new"));
  EXPECT_EQ(read("target"), "mine");
  EXPECT_FALSE(fs::is_symlink(at("link")));
}

TEST_F(Replace, leftover_of_a_killed_run_is_removed_even_if_it_is_a_link) {
  write("target", "mine");
  fs::create_symlink("target", at("a.new"));
  ASSERT_TRUE(replace_file(at("a"), "new"));
  EXPECT_EQ(read("target"), "mine");
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(files(), 2);
}

TEST_F(Replace, failure_leaves_the_old_file_alone_and_says_why) {
  fs::create_directory(at("full"));
  write("full/inside", "x");
  EXPECT_FALSE(replace_file(at("full"), "new"));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_FALSE(fs::exists(at("full.new")));
  EXPECT_FALSE(replace_file(at("no/such"), "new"));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(Replace, failed_fill_keeps_its_reason_and_leaves_nothing) {
  write("a", "old");
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const auto no_room = [](int) {
    errno = ENOSPC;
    return false;
  };
  EXPECT_FALSE(replace_at(opened, ".part", "a", 0644, no_room));
  EXPECT_EQ(errno, ENOSPC);
  ::close(opened);
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace orrery::files
