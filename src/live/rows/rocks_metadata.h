// The metadata in RocksDB, for one gateway: the embedded default.
//
// A commit locks the stripes of its keys, compares the rows that it expects and writes one batch
// with a synced log. RocksDB combines the batches of all threads into one sync (group commit).
// Synced commits survive a power cut; a torn end of the log is cut off when it is opened. Only one
// process can use the metadata at a time: RocksDB holds a lock in the folder.
//
// An existing store is opened in two steps (store_folder.cpp): `look` reads and writes nothing;
// `use` follows once the checks have passed. Only `make` creates metadata. Commits are counted by
// RocksDB's own sequence numbers. These are stored in the log with each batch, so a log that lost
// its end, or files from an older copy, have a lower count.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "live/rows/metadata.h"

namespace orrery::rows {

enum class RocksOpening { make, use, look };

// `files_changed` is called once the metadata is open, and after each flush and each merge, before
// RocksDB removes files that are no longer needed. It may be called from any thread, one call at a
// time.
Result<std::unique_ptr<Metadata>> open_rocks_metadata(
    const std::string& folder, RocksOpening how = RocksOpening::make,
    const std::function<void()>& files_changed = nullptr);

// Returns a fault that names the metadata file that this user may not read, or the folder that it
// may not write to. Returns nullopt if the user has all permissions.
std::optional<Diagnostic> missing_right(const std::string& folder, bool writes);

}  // namespace orrery::rows
