// Looking after what is kept: shards checked block by block, lost and wrong ones written anew.
//
// A rebuilt shard is a new file (the next revision), on its drive or, where that is not there, on
// one of the tier that has none of the blob; it is synced and then named by a commit that expects
// the blob's row as it was read, and only then is the old file removed. So a crash leaves the old
// row or the new one, and a file too many, which is swept.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

// The shards of a blob that are missing or have a wrong byte; reads all of them, but those on other
// machines, of which it looks for the header. Gives the bytes read too, for whoever paces it.
struct ShardCheck {
  std::set<int> damaged = {};
  std::set<int> unasked = {};  // their drive does not answer now
  std::uint64_t bytes = 0;
  bool lost = false;  // it stands in its row, and the bytes there are wrong
};
ShardCheck check_shards(const store::DriveSet& drives, const rows::Blob& blob);

// Writes these shards anew. Gives how many were; the fault says why the first that was not.
struct Mended {
  int shards = 0;
  std::optional<drives::Fault> fault = {};
};
store::Answer<Mended> mend_blob(store::Store& store, const std::string& id,
                                const std::set<int>& damaged);

// A walk over all blobs, a few at a time: the place is kept between two calls.
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
  // Goes on until `bytes` are read or the walk is round; false at its end. A blob is read whole:
  // what it has beyond that is owed, and calls read nothing until they have paid it.
  store::Answer<bool> step(std::uint64_t bytes);
  const ScrubCounts& counts() const { return counts_; }

 private:
  store::Store& store_;
  std::string after_;
  std::uint64_t owed_ = 0;
  ScrubCounts counts_;
};

}  // namespace orrery::upkeep
