// One owner per folder: a lock file in it, held as long as the process lives.
//
// The lock is flock() on `.orrery-lock`: it ends with the process, however that ends, so it is
// never left behind. The file's text names the owner for the message to the next process; it proves
// nothing. Between machines the lock works only if the network file system supports it (NFS does;
// Lustre with `-o flock`); if it is not supported, take() fails. If the lock file is removed under
// its owner, holds() returns false and the owner must stop.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::files {

inline constexpr const char* kLockName = ".orrery-lock";

class FolderLock {
 public:
  // Fails with "files.locked" if another process holds it; `what` is then that owner's text.
  static Result<FolderLock> take(const Folder& folder, const std::string& owner);

  // Returns whether the locked file is still the one in the folder.
  bool holds(const Folder& folder) const;

 private:
  explicit FolderLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

}  // namespace orrery::files
