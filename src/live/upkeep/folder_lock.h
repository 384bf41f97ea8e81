// Ensures that one process at a time uses a store's folder and each of its drives, even if it only
// reads: a lock on the folder itself, so that taking it writes nothing. The lock ends with the
// process.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace orrery::upkeep {

class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(FolderLock&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }

  // Returns false if another process has the lock; shared locks do not exclude one another. On a
  // file system without such locks, only the lock of the metadata protects the store.
  bool take(const std::string& path, bool shared = false) {
    folder_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int kind = shared ? LOCK_SH : LOCK_EX;
    if (folder_ < 0 || ::flock(folder_, kind | LOCK_NB) == 0) return true;
    return errno != EWOULDBLOCK;
  }

 private:
  int folder_ = -1;
};

}  // namespace orrery::upkeep
