// Subcommands of `orrery store` that do not run a store: check and repair the store in a folder,
// and query a running one.
#pragma once

#include <string>

#include "app/cli/terminal.h"
#include "live/drives/s3_drive.h"

namespace orrery::cli {

// Returns the keys of tiers in other object stores: those of the file (which may be unnamed), and
// for other buckets those of the environment.
Result<drives::S3Access> s3_access(const std::string& file, const Terminal& terminal);

struct FolderCheck {
  std::string folder;
  bool quick = false;  // check that files exist without reading their blocks
  std::string s3_keys = {};
};
// Prints which objects are lost, damaged or unreachable, and which files no object uses. Writes
// nothing.
ExitCode check_store_folder(const FolderCheck& options, Terminal& terminal);
// Prints what a repair would do, one action per line. Writes nothing.
ExitCode plan_repair(const FolderCheck& options, Terminal& terminal);
// Carries out the repair, then checks the store.
ExitCode apply_repair(const FolderCheck& options, Terminal& terminal);

// Returns the status of the store that answers at `address`, as JSON.
Result<std::string> status_at(const std::string& address);
ExitCode show_status(const std::string& address, Terminal& terminal);

// Prints what an object (BUCKET/KEY) was made from: asks the store at `address` with the keys of
// the environment, or reads the store in a folder.
ExitCode show_lineage(const std::string& object, const std::string& address,
                      const std::string& region, Terminal& terminal);
ExitCode show_lineage_in(const std::string& folder, const std::string& object, Terminal& terminal);

}  // namespace orrery::cli
