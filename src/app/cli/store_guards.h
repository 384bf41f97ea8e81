// What a store does so that other users of its machine get nothing from it, and that it has files
// left for its drives: modes of what it makes, modes of the files it is told its secrets with, and
// how many connections it takes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/base/diagnostic.h"

namespace orrery::cli {

// New files and folders are their owner's alone while it lives.
class PrivateFiles {
 public:
  PrivateFiles();
  ~PrivateFiles();
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;

 private:
  mode_t before_;
};

// Refuses a file with secrets that others may read ("store.secrets"): its owner alone may, or where
// that is root also its group, as a service's secrets are often given. A file that is not there, a
// pipe and an empty name are left to whoever reads them.
Result<void> check_private_file(const std::string& file);

// Raises the soft limit on open files as far as this process may, and returns it.
std::uint64_t raise_open_files();
// The connections that a store may take of `most`, so that files are left for its metadata and for
// as many requests at once as there are handlers, each with all shards of the widest tier. A third
// at least is left for the connections where files are few.
int connections_for(std::uint64_t open_files, int shards, int handlers, int most);

}  // namespace orrery::cli
