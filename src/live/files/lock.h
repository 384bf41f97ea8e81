// One owner per folder: a lock file in it, held as long as the process lives.
//
// The lock is flock() on `.orrery-lock`: it ends with the process, however that ends, and cannot be
// left behind. The file's text says who holds it, for the message that the next one reads; the text
// proves nothing. On a network file system the lock holds between machines only where the file
// system supports it (NFS does; Lustre with `-o flock`); where it is not supported the lock is
// refused, for two owners could not see each other.
// Somebody may remove the lock file under its owner: holds() says so, and the owner must stop.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::files {

inline constexpr const char* kLockName = ".orrery-lock";

class FolderLock {
 public:
  // Fails with "files.locked" if another process holds it; `what` is then the text of its owner.
  static Result<FolderLock> take(const Folder& folder, const std::string& owner);

  // Whether the file that is locked is still the one in the folder.
  bool holds(const Folder& folder) const;

 private:
  explicit FolderLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

}  // namespace orrery::files
