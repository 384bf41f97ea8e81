// Folders by descriptor: what is opened, written and moved, and which paths would lead out of the
// tree.
#include "live/files/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "live/files/files_fixture.h"

namespace orrery::files::folder_tests {
namespace {

namespace fs = std::filesystem;
using FolderTest = FilesFixture;

TEST_F(FolderTest, links_are_not_followed) {
  fs::create_symlink(at("outside/secret"), at("root/file-link"));
  fs::create_directory_symlink(at("outside"), at("root/folder-link"));
  fs::create_symlink("../../outside/secret", at("root/sub/relative"));
  const Folder folder = root();
  EXPECT_EQ(code(folder.read("file-link")), "files.unsafe");
  EXPECT_EQ(code(folder.read("folder-link/secret")), "files.unsafe");
  EXPECT_EQ(code(folder.read("sub/relative")), "files.unsafe");
  EXPECT_EQ(code(folder.read("../outside/secret")), "files.unsafe");
  EXPECT_EQ(code(folder.below("folder-link")), "files.unsafe");
  EXPECT_EQ(code(folder.below("folder-link/new", true)), "files.unsafe");
  const auto fill = [](int file) -> Result<void> {
    EXPECT_EQ(::write(file, "x", 1), 1);
    return {};
  };
  EXPECT_EQ(code(folder.write("folder-link/secret", fill)), "files.unsafe");
  // Writing replaces a link, not what it points to.
  EXPECT_EQ(code(folder.write("file-link", fill)), "good");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(at("root/file-link"))));
  EXPECT_EQ(text("outside/secret"), "s");
}

TEST_F(FolderTest, file_appears_whole_or_not_at_all) {
  const Folder folder = root();
  const auto fails = [](int file) -> Result<void> {
    EXPECT_EQ(::write(file, "half", 4), 4);
    return fail({.code = "test.stop", .what = "stop"});
  };
  EXPECT_EQ(code(folder.write("a", fails)), "test.stop");
  EXPECT_EQ(text("root/a"), "aa");
  EXPECT_FALSE(fs::exists(at("root/.orrery-part")));
  // Leftovers of a killed writer are no obstacle.
  write("root/new/.orrery-part", "left over");
  const auto fill = [](int file) -> Result<void> {
    EXPECT_EQ(::write(file, "whole", 5), 5);
    return {};
  };
  EXPECT_EQ(code(folder.write("new/deep/file", fill)), "good");
  EXPECT_EQ(code(folder.write("new/file", fill)), "good");
  EXPECT_EQ(text("root/new/file"), "whole");
}

TEST_F(FolderTest, move_replaces_nothing) {
  const Folder folder = root();
  const Folder sub = *folder.below("sub");
  write("root/sub/a", "other");
  EXPECT_EQ(code(folder.move("a", sub, "a")), "files.failed");
  EXPECT_EQ(text("root/a") + text("root/sub/a"), "aaother");
  EXPECT_EQ(code(folder.move("a", sub, "../a")), "files.unsafe");
  EXPECT_EQ(code(folder.move("a", sub, "c")), "good");
  EXPECT_EQ(text("root/sub/c"), "aa");
  EXPECT_FALSE(*folder.has("a"));
}

}  // namespace
}  // namespace orrery::files::folder_tests
