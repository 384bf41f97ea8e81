// One owner per folder: a lock file in it, held for the lifetime of the process.
//
// The lock is flock() on `.orrery-lock`. It ends with the process, however that ends, so it is
// never left behind. The file's text names the owner, for the message that the next process prints;
// it proves nothing. Between machines the lock works only if the network file system supports it
// (NFS does; Lustre with `-o flock`); if it does not, take() fails. If the lock file is removed
// while it is held, holds() returns false and the owner must stop.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::files {

inline constexpr const char* kLockName = ".orrery-lock";

class FolderLock {
 public:
  // Fails with "files.locked" if another process holds the lock; `what` is then that owner's text.
  static Result<FolderLock> take(const Folder& folder, const std::string& owner);

  // Returns whether the lock file in the folder is still the one that was locked.
  bool holds(const Folder& folder) const;

 private:
  explicit FolderLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

}  // namespace orrery::files
