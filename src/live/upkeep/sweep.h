// Upkeep of the store: sweeps the files that a dead run left behind, manages files that were set
// aside, and applies the lifecycle rules. s3server/runtime.h calls these functions.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

// Nothing is removed while there is doubt. A file that no row refers to is set aside on its drive,
// with the time and the run that it came from. It is removed once the store has been healthy for a
// week since then (an option), and only while no drive has recorded more than the metadata knows.
// If a row refers to the file after all, it is brought back. A complete blob without a row that the
// last run did not leave is not even set aside, unless a repair was asked to do so: rows were lost,
// and a person should look.
struct Swept {
  std::size_t files = 0;               // files examined
  std::size_t set_aside = 0;           // files that no row refers to
  std::size_t kept = 0;                // files of complete blobs without a row, which stay
  std::vector<std::string> says = {};  // reasons why files stay (the first hundred)
};

// Sets aside the shard files of dead runs that no row refers to: their writers died before the
// commit. Files of live runs stay, because a commit may still name them, and so do files that are
// not shards. If there are files of a run that the metadata does not know, it fails and changes
// nothing.
store::Answer<Swept> sweep_orphans(
    store::Store& store, const std::function<bool()>& stop = [] { return false; });

// Files that had been set aside before.
struct Aside {
  std::size_t files = 0;  // still set aside
  std::size_t brought_back = 0;
  std::size_t removed = 0;
};
store::Answer<Aside> tend_aside(
    store::Store& store, const std::function<bool()>& stop = [] { return false; });

// The healthy time of the store over all its runs; a clock that jumps cannot lengthen it.
store::Answer<std::uint64_t> well_ms(store::Store& store);
store::Answer<void> add_well(store::Store& store, std::uint64_t ms);

// Returns true if another run died without a clean end, so there may be something to sweep.
store::Answer<bool> has_died(store::Store& store);
// Ends this run cleanly: it leaves nothing to sweep.
store::Answer<void> end_run(store::Store& store);

struct LifecycleRun {
  std::size_t expired = 0;  // objects expired: removed, or a delete marker added
  std::size_t removed = 0;  // versions and lone delete markers removed
  std::size_t aborted = 0;  // uploads aborted
};
// Carries out the rules of all buckets as of `now`, without it as of the store's clock when the run
// begins: a clock that is set forward during the run ends nothing early.
store::Answer<LifecycleRun> run_lifecycle(store::Store& store, rows::TimeMs day_ms,
                                          const std::function<bool()>& stop,
                                          std::optional<rows::TimeMs> now = std::nullopt);

}  // namespace orrery::upkeep
