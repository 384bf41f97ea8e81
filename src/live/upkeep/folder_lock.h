// One process at a time on a store's folder and on each of its drives, though it only looks: a lock
// on the folder itself, so that nothing is written to take it. It ends with the process.
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

  // False where another has it; those that share it do not exclude one another. A file system
  // without such locks is left to the metadata's own.
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
