// What `orrery store` does besides running one: looks into a folder's store that does not run, asks
// one that does.
#pragma once

#include <string>

#include "app/cli/terminal.h"
#include "live/drives/s3_drive.h"

namespace orrery::cli {

// The keys of tiers in other object stores: those of the file (none: its name is empty), and for
// other buckets those of the environment.
Result<drives::S3Access> s3_access(const std::string& file, const Terminal& terminal);

struct FolderCheck {
  std::string folder;
  bool quick = false;  // looks for files, reads no blocks
  std::string s3_keys = {};
};
// Says which objects are lost, damaged or away, and which files no object names. Writes nothing.
ExitCode check_store_folder(const FolderCheck& options, Terminal& terminal);
// Says what a repair would do, an action a line; writes nothing.
ExitCode plan_repair(const FolderCheck& options, Terminal& terminal);
// Does it, and checks the store afterwards.
ExitCode apply_repair(const FolderCheck& options, Terminal& terminal);

// How the store that answers at `address` stands, as JSON.
Result<std::string> status_at(const std::string& address);
ExitCode show_status(const std::string& address, Terminal& terminal);

// What an object (BUCKET/KEY) was made from: of a store that answers at `address`, with the keys of
// the environment; or of one that does not run.
ExitCode show_lineage(const std::string& object, const std::string& address,
                      const std::string& region, Terminal& terminal);
ExitCode show_lineage_in(const std::string& folder, const std::string& object, Terminal& terminal);

}  // namespace orrery::cli
