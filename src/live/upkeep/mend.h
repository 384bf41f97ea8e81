// Checks shards block by block, and writes lost and damaged ones again.
//
// A mended shard is a new file (the next revision), on its drive or, if that is missing, on a drive
// of the tier that has no shard of the blob. It is synced, then named by a commit that expects the
// blob's row as it was read, and only then is the old file removed. So a crash leaves the old row
// or the new one, and perhaps one file too many, which is swept.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

// Returns the shards of a blob that are missing or damaged, and the bytes read, to pace the scrub.
// Reads all shards; on remote drives only their headers.
struct ShardCheck {
  std::set<int> damaged = {};
  std::set<int> unasked = {};  // shards whose drives do not answer now
  std::uint64_t bytes = 0;
  bool lost = false;  // its row holds it, and the bytes there are wrong
};
ShardCheck check_shards(const store::DriveSet& drives, const rows::Blob& blob);

// Writes these shards again. Returns how many were written, and the fault of the first that was
// not.
struct Mended {
  int shards = 0;
  std::optional<drives::Fault> fault = {};
};
store::Answer<Mended> mend_blob(store::Store& store, const std::string& id,
                                const std::set<int>& damaged);

// A walk over all blobs, a few at a time; it continues where the last call stopped.
struct ScrubCounts {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // shards
  std::uint64_t mended = 0;
  std::uint64_t lost = 0;    // blobs with too few good shards
  std::uint64_t rounds = 0;  // whole walks
};
class Scrubber {
 public:
  explicit Scrubber(store::Store& store) : store_(store) {}
  // Reads up to `bytes`; returns false at the end of a round. A blob is read whole: what exceeds
  // `bytes` is taken from the following calls.
  store::Answer<bool> step(std::uint64_t bytes);
  const ScrubCounts& counts() const { return counts_; }

 private:
  store::Store& store_;
  std::string after_;
  std::uint64_t owed_ = 0;
  ScrubCounts counts_;
};

}  // namespace orrery::upkeep
