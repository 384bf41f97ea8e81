#include "output/emit/emit_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "live/agent/test_folder.h"

namespace orrery::emit {
namespace {

namespace fs = std::filesystem;

class EmitFolderWords : public testing::Test {
 protected:
  EmitFolderWords() : folder(std::move(EmitFolder::open(dir.at("out"), true).value())) {}
  template <class T>
  static std::string said(const Result<T>& result) {
    return result ? "good" : to_text(result.error());
  }
  std::string at(const std::string& below) const { return dir.at("out/" + below); }
  std::string rights(const std::string& below) const {
    struct stat s = {};
    ::stat(at(below).c_str(), &s);
    char text[8];
    std::snprintf(text, sizeof text, "%o", s.st_mode & 0777U);
    return text;
  }
  agent::TestFolder dir;
  std::unique_ptr<EmitFolder> folder;
};

TEST_F(EmitFolderWords, files_have_their_mode_and_empty_folders_are_removed) {
  const mode_t before = ::umask(077);
  EXPECT_EQ(said(folder->write({"a/b/run.sh", "x", true})), "good");
  EXPECT_EQ(said(folder->write({"a/conf", "y"})), "good");
  ::umask(before);
  EXPECT_EQ(rights("a/b/run.sh"), "755");
  EXPECT_EQ(rights("a/conf"), "644");
  EXPECT_EQ(said(folder->write({"a/conf", std::string(200'000, 'z'), true})), "good");
  EXPECT_EQ(rights("a/conf"), "755");
  EXPECT_EQ(folder->read("a/conf").value()->text, std::string(200'000, 'z'));
  EXPECT_EQ(said(folder->remove("a/b/run.sh")), "good");
  EXPECT_FALSE(fs::exists(at("a/b")));
  EXPECT_TRUE(fs::exists(at("a/conf")));
  EXPECT_EQ(said(folder->remove("a/conf")), "good");
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_TRUE(fs::exists(dir.at("out")));
}

// Files of up to 16 MiB are read.
TEST_F(EmitFolderWords, oversized_files_are_not_read) {
  dir.write("out/most", "");
  fs::resize_file(at("most"), kEmittedBytesMax);
  EXPECT_EQ(folder->read("most").value()->text.size(), kEmittedBytesMax);
  fs::resize_file(at("most"), kEmittedBytesMax + 1);
  EXPECT_EQ(folder->read("most").error().front().code, "emit.file");
}

TEST(EmitFolder, leftovers_of_a_killed_run_are_overwritten) {
  const agent::TestFolder dir;
  dir.write(".orrery-tmp-a", "half");
  {
    const auto folder = EmitFolder::open(dir.path(), true);
    ASSERT_TRUE(folder.has_value());
    EXPECT_FALSE(EmitFolder::open(dir.path(), true).has_value());
    ASSERT_TRUE((*folder)->write({"a", "whole", true}).has_value());
    EXPECT_EQ((*folder)->read("a").value()->text, "whole");
    EXPECT_TRUE((*folder)->read("a").value()->executable);
    for (const char* path : {"../x", "/x", "a/../../x", "", "a//b"}) {
      EXPECT_FALSE((*folder)->write({path, "x"}).has_value()) << path;
    }
    ASSERT_TRUE((*folder)->write({"sub/b", "x"}).has_value());
    ASSERT_TRUE((*folder)->remove("sub/b").has_value());
    EXPECT_FALSE(fs::exists(dir.at("sub")));
  }
  EXPECT_FALSE(fs::exists(dir.at(".orrery-tmp-a")));
}

TEST(EmitFolder, a_file_in_place_of_a_folder_is_refused) {
  const agent::TestFolder dir;
  dir.write("out/a", "a file");
  const auto folder = EmitFolder::open(dir.at("out"), true);
  ASSERT_TRUE(folder);
  const auto below = (*folder)->write({.path = "a/b", .text = "x"});
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().front().code, "emit.link");
  EXPECT_EQ((*folder)->read("none").value(), std::nullopt);
  EXPECT_EQ((*folder)->read("none/below").value(), std::nullopt);
  EXPECT_TRUE((*folder)->remove("none"));
  EXPECT_FALSE((*folder)->remove("none/below"));
  // A folder cannot be overwritten, and nothing of the attempt is left.
  ASSERT_TRUE((*folder)->write({.path = "full/x", .text = "x"}));
  EXPECT_FALSE((*folder)->write({.path = "full", .text = "y"}));
  EXPECT_FALSE(std::filesystem::exists(dir.at("out/.orrery-tmp-full")));
  const auto dry = EmitFolder::open(dir.at("missing"), false);
  ASSERT_TRUE(dry);
  EXPECT_EQ((*dry)->read("a").value(), std::nullopt);
  EXPECT_FALSE(EmitFolder::open("/dev/null/x", true));
  EXPECT_FALSE(EmitFolder::open(dir.at("out/a"), false));
}

}  // namespace
}  // namespace orrery::emit
