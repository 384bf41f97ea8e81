// Protects a store from other users of its machine, and keeps files free for its drives: modes of
// the files that it creates, modes of the files that hold its secrets, and the number of
// connections.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/base/diagnostic.h"

namespace orrery::cli {

// While an object of this class exists, only the owner can read new files and folders.
class PrivateFiles {
 public:
  PrivateFiles();
  ~PrivateFiles();
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;

 private:
  mode_t before_;
};

// Refuses a file with secrets that others may read ("store.secrets"). Only its owner may read it,
// or root and its group, as secrets of services are often given. Accepts a missing file, a pipe and
// an empty name: the code that reads them reports those.
Result<void> check_private_file(const std::string& file);

// Raises the soft limit on open files as far as this process may. Returns the new limit.
std::uint64_t raise_open_files();
// Returns how many of `most` connections a store may accept so that files remain for its metadata
// and for one request per handler, each with all shards of the widest tier. At least a third of the
// files is left for connections.
int connections_for(std::uint64_t open_files, int shards, int handlers, int most);

}  // namespace orrery::cli
