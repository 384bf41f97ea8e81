// Folders by descriptor: what is opened, written, moved and removed, and what leads out of the
// tree.
#include "live/files/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "live/files/lock.h"
#include "live/files/tree.h"

namespace orrery::files {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    std::string name = (fs::temp_directory_path() / "orrery-files-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    fs::create_directories(at("root/sub"));
    write("root/a", "aa");
    write("root/sub/b", "bbb");
    write("outside/secret", "s");
  }
  ~FilesTest() override { fs::remove_all(path_); }

  fs::path at(const std::string& below) const { return path_ / below; }
  void write(const std::string& below, const std::string& text) const {
    fs::create_directories(at(below).parent_path());
    std::ofstream(at(below)) << text;
  }
  std::string text(const std::string& below) const {
    std::ifstream file(at(below));
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  Folder root() const {
    auto folder = Folder::open(at("root"));
    EXPECT_TRUE(folder);
    return std::move(*folder);
  }
  template <class T>
  static std::string code(const Result<T>& done) {
    return done ? "good" : done.error().front().code;
  }
  static std::vector<std::string> odd(const Tree& tree) {
    std::vector<std::string> all;
    for (const Oddity& one : tree.odd) all.push_back(one.path + ": " + one.what);
    return all;
  }

  fs::path path_;
};

TEST(FilesPath, only_ordinary_names_below_the_folder_are_taken) {
  for (const char* good : {"a", "a/b", ".hidden", "a..b", "...", "a b"}) {
    EXPECT_EQ(path_fault(good), "") << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("/a"), std::string(".."), std::string("a/../b"),
        std::string("./a"), std::string("a//b"), std::string("a/"), std::string("a\0b", 3),
        std::string(256, 'n'), std::string(4001, 'n')}) {
    EXPECT_NE(path_fault(bad), "") << bad.substr(0, 20);
  }
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += "/a";
  EXPECT_NE(path_fault(deep), "");
}

TEST_F(FilesTest, a_link_leads_nowhere) {
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
  // A link under the file's own name is replaced, what it points to is not.
  EXPECT_EQ(code(folder.write("file-link", fill)), "good");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(at("root/file-link"))));
  EXPECT_EQ(text("outside/secret"), "s");
  EXPECT_THAT(
      odd(*walk(*Folder::open(path_), "root")),
      ElementsAre("folder-link: it is a symbolic link", "sub/relative: it is a symbolic link"));
}

TEST_F(FilesTest, a_walk_names_all_that_is_no_plain_file) {
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
  EXPECT_THAT(odd(*tree), ElementsAre("fifo: it is a FIFO",
                                      "shared: it has another name outside the item (a hard link)",
                                      "socket: it is a socket"))
      << "two names in the item are its own";
  EXPECT_EQ(code(root().read("fifo")), "files.unsafe") << "and does not wait for a writer";
  EXPECT_EQ(code(remove(*Folder::open(path_), "root", *tree)), "files.unsafe");
  EXPECT_EQ(text("root/a"), "aa");
}

// In a mount namespace of its own, so that nothing of the machine is touched.
TEST_F(FilesTest, another_file_system_below_the_folder_is_odd_and_not_entered) {
  write("outside/more/deep", "d");
  constexpr int kCannotMount = 42;
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string sub = at("root/sub").string(), other = at("outside/more").string();
    const bool is_bound = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount(other.c_str(), sub.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!is_bound) ::_exit(kCannotMount);
    // The same device, another mount.
    const auto tree = walk(*Folder::open(path_), "root");
    const bool is_odd = tree && tree->odd.size() == 1 && tree->odd[0].path == "sub" &&
                        tree->odd[0].what == "another file system is mounted here";
    ::_exit(is_odd && code(root().read("sub/deep")) == "files.unsafe" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(FilesTest, a_tree_deeper_than_the_limit_is_odd_and_ends) {
  std::string deep = "root";
  for (int i = 0; i < 200; ++i) deep += "/d";
  fs::create_directories(at(deep));
  const auto tree = walk(*Folder::open(path_), "root");
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->odd.size(), 1U);
  EXPECT_EQ(tree->odd[0].what, "the tree is too deep");
}

TEST_F(FilesTest, a_file_is_there_whole_or_not_at_all) {
  const Folder folder = root();
  const auto fails = [](int file) -> Result<void> {
    EXPECT_EQ(::write(file, "half", 4), 4);
    return fail({.code = "test.stop", .what = "stop"});
  };
  EXPECT_EQ(code(folder.write("a", fails)), "test.stop");
  EXPECT_EQ(text("root/a"), "aa");
  EXPECT_FALSE(fs::exists(at("root/.orrery-part")));
  // What a kill left does not stand in the way.
  write("root/new/.orrery-part", "left over");
  const auto fill = [](int file) -> Result<void> {
    EXPECT_EQ(::write(file, "whole", 5), 5);
    return {};
  };
  EXPECT_EQ(code(folder.write("new/deep/file", fill)), "good");
  EXPECT_EQ(code(folder.write("new/file", fill)), "good");
  EXPECT_EQ(text("root/new/file"), "whole");
}

TEST_F(FilesTest, a_move_replaces_nothing) {
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

TEST_F(FilesTest, only_what_was_seen_is_removed) {
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

TEST_F(FilesTest, a_folder_has_one_owner_and_a_killed_one_leaves_it_free) {
  const Folder folder = root();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const auto lock = FolderLock::take(folder, "the other");
    const char byte = lock ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto refused = FolderLock::take(folder, "me");
  EXPECT_EQ(code(refused), "files.locked");
  EXPECT_EQ(refused.error().front().what, "the other");
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  const auto lock = FolderLock::take(folder, "me");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->holds(folder));
  fs::remove(at(std::string("root/") + kLockName));
  EXPECT_FALSE(lock->holds(folder)) << "somebody could take a new one";
  fs::create_symlink(at("outside/secret"), at(std::string("root/") + kLockName));
  EXPECT_EQ(code(FolderLock::take(folder, "me")), "files.unsafe");
  EXPECT_EQ(text("outside/secret"), "s");
  ::close(ready[0]), ::close(ready[1]);
}

}  // namespace
}  // namespace orrery::files
