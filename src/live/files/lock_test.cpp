#include "live/files/lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "live/files/files_fixture.h"

namespace orrery::files::lock_tests {
namespace {

namespace fs = std::filesystem;
using LockTest = FilesFixture;

TEST_F(LockTest, folder_has_one_owner_until_it_ends_or_is_killed) {
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
  EXPECT_FALSE(lock->holds(folder)) << "another process could take a new one";
  fs::create_symlink(at("outside/secret"), at(std::string("root/") + kLockName));
  EXPECT_EQ(code(FolderLock::take(folder, "me")), "files.unsafe");
  EXPECT_EQ(text("outside/secret"), "s");
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace orrery::files::lock_tests
