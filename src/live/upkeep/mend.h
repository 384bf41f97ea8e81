// Checks shards block by block, and rebuilds lost and damaged ones.
//
// A rebuilt shard is a new file (the next revision), on its drive or, if that is missing, on a
// drive of the tier that has no shard of the blob. The file is synced, then a commit names it,
// which expects the blob's row as it was read, and only then is the old file removed. So a crash
// leaves the old row or the new one, and perhaps one file too many, which is swept.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

// Returns the shards of a blob that are missing or damaged, and the number of bytes read, which
// paces the scrub. Reads all shards; on remote drives only their headers.
struct ShardCheck {
  std::set<int> damaged = {};
  std::set<int> unasked = {};  // shards whose drives do not answer now
  std::uint64_t bytes = 0;
  bool lost = false;  // the bytes are in the blob's row and are wrong
};
ShardCheck check_shards(const store::DriveSet& drives, const rows::Blob& blob);

// Rebuilds these shards. Returns how many were rebuilt, and the fault of the first that was not.
struct Mended {
  int shards = 0;
  std::optional<drives::Fault> fault = {};
};
store::Answer<Mended> mend_blob(store::Store& store, const std::string& id,
                                const std::set<int>& damaged);

// A walk over all blobs, a few at a time. It continues where the last call stopped.
struct ScrubCounts {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // damaged or missing shards
  std::uint64_t mended = 0;
  std::uint64_t lost = 0;    // blobs with too few intact shards
  std::uint64_t rounds = 0;  // complete walks
};
class Scrubber {
 public:
  explicit Scrubber(store::Store& store) : store_(store) {}
  // Reads about `bytes` and returns false at the end of a round. A blob is always read as a whole;
  // what exceeds `bytes` is deducted from the following calls.
  store::Answer<bool> step(std::uint64_t bytes);
  const ScrubCounts& counts() const { return counts_; }

 private:
  store::Store& store_;
  std::string after_;
  std::uint64_t owed_ = 0;
  ScrubCounts counts_;
};

}  // namespace orrery::upkeep
