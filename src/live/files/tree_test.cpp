// A walk names everything that does not belong in a tree of plain data; a removal removes only what
// a walk has seen.
#include "live/files/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/files/files_fixture.h"

namespace orrery::files::tree_tests {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::StartsWith;
using TreeTest = FilesFixture;

TEST_F(TreeTest, walk_names_links_special_files_and_outside_hard_links) {
  fs::create_symlink(at("outside/secret"), at("root/file-link"));
  fs::create_directory_symlink(at("outside"), at("root/folder-link"));
  fs::create_symlink("../../outside/secret", at("root/sub/relative"));
  ASSERT_EQ(::mkfifo(at("root/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mknod(at("root/socket").c_str(), S_IFSOCK | 0600, 0), 0);
  fs::create_hard_link(at("outside/secret"), at("root/shared"));
  write("root/twin", "t");
  fs::create_hard_link(at("root/twin"), at("root/sub/twin"));
  const auto tree = walk(*Folder::open(path_), "root");
  ASSERT_TRUE(tree);
  std::vector<std::string> files;
  for (const TreeFile& file : tree->files) files.push_back(file.path);
  EXPECT_THAT(files, ElementsAre("a", "shared", "sub/b", "sub/twin", "twin"));
  EXPECT_THAT(odd(*tree), ElementsAre(StartsWith("fifo: "), StartsWith("file-link: "),
                                      StartsWith("folder-link: "), StartsWith("shared: "),
                                      StartsWith("socket: "), StartsWith("sub/relative: ")))
      << "a hard link within the tree is not an oddity";
  EXPECT_EQ(code(root().read("fifo")), "files.unsafe") << "and does not wait for a writer";
  EXPECT_EQ(code(remove(*Folder::open(path_), "root", *tree)), "files.unsafe");
  EXPECT_EQ(text("root/a"), "aa");
}

// In its own mount namespace, so that the machine is not affected.
TEST_F(TreeTest, another_mount_is_odd_and_not_entered) {
  write("outside/more/deep", "d");
  constexpr int kCannotMount = 42;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto bind = [this](const char* from, const char* to) {
      return ::mount(at(from).c_str(), at(to).c_str(), nullptr, MS_BIND, nullptr) == 0;
    };
    const bool is_bound = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          bind("outside/more", "root/sub") && bind("outside/secret", "root/a");
    if (!is_bound) ::_exit(kCannotMount);
    // The same device, another mount.
    const auto tree = walk(*Folder::open(path_), "root");
    const bool is_odd = tree && tree->files.empty() && tree->odd.size() == 2 &&
                        tree->odd[0].path == "a" && tree->odd[1].path == "sub";
    ::_exit(is_odd && code(root().read("a")) == "files.unsafe" &&
                    code(root().read("sub/deep")) == "files.unsafe"
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "this user cannot mount a file system";
  EXPECT_EQ(status, 0);
}

TEST_F(TreeTest, tree_beyond_the_depth_limit_is_odd) {
  std::string deep = "root";
  for (int i = 0; i < 200; ++i) deep += "/d";
  fs::create_directories(at(deep));
  const auto tree = walk(*Folder::open(path_), "root");
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->odd.size(), 1U);
}

TEST_F(TreeTest, removal_stops_at_what_was_not_seen) {
  const Folder top = *Folder::open(path_);
  const auto seen = walk(top, "root");
  ASSERT_TRUE(seen);
  write("root/sub/late", "l");
  EXPECT_EQ(code(remove(top, "root", *seen)), "files.failed") << "the folder is not empty";
  EXPECT_EQ(text("root/sub/late"), "l");
  write("root/a", "again");
  const auto again = walk(top, "root");
  write("root/a", "and now longer");
  EXPECT_EQ(code(remove(top, "root", *again)), "files.unsafe");
  EXPECT_EQ(text("root/a"), "and now longer");
  EXPECT_EQ(code(remove(top, "root", *walk(top, "root"))), "good");
  EXPECT_FALSE(fs::exists(at("root")));
  EXPECT_EQ(text("outside/secret"), "s");
}

}  // namespace
}  // namespace orrery::files::tree_tests
