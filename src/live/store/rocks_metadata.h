// The metadata in RocksDB, for one gateway: the embedded default.
//
// A commit locks the stripes of its keys, compares what it expects and writes one batch with a
// synced log; RocksDB gathers the batches of all threads into one sync (group commit). What was
// synced survives a power cut; the log's torn end is cut off when it is opened. One process at a
// time: RocksDB holds a lock in the folder.
#pragma once

#include "core/base/diagnostic.h"
#include "live/store/metadata.h"

namespace orrery::store {

Result<std::unique_ptr<Metadata>> open_rocks_metadata(const std::string& folder);

}  // namespace orrery::store
