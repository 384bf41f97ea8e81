#include "live/files/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace orrery::files {
namespace {

constexpr std::size_t kOwnerBytesMax = 4096;

std::string text_in(int file) {
  std::array<char, kOwnerBytesMax> text;
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace

Result<FolderLock> FolderLock::take(const Folder& folder, const std::string& owner) {
  const std::string path = folder.path() + '/' + kLockName;
  OpenFile file(::openat(folder.get(), kLockName,
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
  if (!file && errno == ELOOP) return unsafe(path, "it is a symbolic link");
  if (!file) return failed_call(path, "open");
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return failed_call(path, "stat");
  if (!S_ISREG(facts.st_mode)) return unsafe(path, "it is not a regular file");
  if (facts.st_nlink > 1) return unsafe(path, "it has another name (a hard link)");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail({.code = "files.locked", .what = text_in(file.get())});
    return failed_call(path, "flock");
  }
  const bool is_said =
      ::ftruncate(file.get(), 0) == 0 &&
      ::pwrite(file.get(), owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
  if (!is_said) return failed_call(path, "write");
  FolderLock lock(std::move(file));
  if (!lock.holds(folder)) return unsafe(path, "it was replaced while the lock was being taken");
  return lock;
}

bool FolderLock::holds(const Folder& folder) const {
  struct stat ours{}, there{};
  return ::fstat(file_.get(), &ours) == 0 &&
         ::fstatat(folder.get(), kLockName, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

}  // namespace orrery::files
