// The metadata in RocksDB, for one gateway: the embedded default.
//
// A commit locks the stripes of its keys, compares what it expects and writes one batch with a
// synced log; RocksDB gathers the batches of all threads into one sync (group commit). What was
// synced survives a power cut; the log's torn end is cut off when it is opened. One process at a
// time: RocksDB holds a lock in the folder.
//
// A store that is there is opened in two steps (store_folder.cpp): `look` reads and writes nothing,
// `use` comes after what was read was found right. Only `make` makes metadata. Commits are counted
// by RocksDB's own sequence numbers: they are in the log with each batch, so a log that lost its
// end, or files from before, have a lower one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "live/rows/metadata.h"

namespace orrery::rows {

enum class RocksOpening { make, use, look };

// `files_changed` is called once the metadata are open, and after each flush and each merge, before
// RocksDB removes files that are no longer needed: from any thread, one call at a time.
Result<std::unique_ptr<Metadata>> open_rocks_metadata(
    const std::string& folder, RocksOpening how = RocksOpening::make,
    const std::function<void()>& files_changed = nullptr);

// Names the file of the metadata that this user may not read, or the folder that it may not write
// to. Returns nullopt if there is none.
std::optional<Diagnostic> missing_right(const std::string& folder, bool writes);

}  // namespace orrery::rows
