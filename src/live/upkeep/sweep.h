// What the store does besides answering: removes the shards of garbage, sweeps what a run that died
// left behind, and carries out the lifecycle rules. Each a function that ends; s3server/runtime.h
// calls them.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

// Nothing is removed in doubt. A file that no row names is set aside on its drive, with the time
// and the run it came from, and is removed once the store has been well for a week since (an
// option), while no drive has seen more than the metadata know. A file that a row names after all
// is brought back. A whole blob without a row that the last run did not leave is not even set
// aside, unless a repair was asked to: rows were lost, and somebody should look.
struct Swept {
  std::size_t files = 0;      // looked at
  std::size_t set_aside = 0;  // that nothing referred to
  std::size_t kept = 0;       // files of whole blobs without a row, which stay where they are
  std::vector<std::string> says = {};  // why something stays, the first hundred
};

// Sets the shard files of runs that died aside that no row refers to: their writers died before the
// commit. Files of this run and of others that live are left: they may be on their way. Names that
// are not a shard's are not ours and stay. With files of a run that the metadata do not know
// nothing more is done.
store::Answer<Swept> sweep_orphans(
    store::Store& store, const std::function<bool()>& stop = [] { return false; });

// What became of the files that were set aside before.
struct Aside {
  std::size_t files = 0;  // that still are
  std::size_t brought_back = 0;
  std::size_t removed = 0;
};
store::Answer<Aside> tend_aside(
    store::Store& store, const std::function<bool()>& stop = [] { return false; });

// For how long the store was well, in all its runs: no clock that jumps can make it longer.
store::Answer<std::uint64_t> well_ms(store::Store& store);
store::Answer<void> add_well(store::Store& store, std::uint64_t ms);

// Another run has ended, and not in order: there may be something to sweep.
store::Answer<bool> has_died(store::Store& store);
// This run ends in order: there is nothing of it to sweep.
store::Answer<void> end_run(store::Store& store);

struct LifecycleRun {
  std::size_t expired = 0;  // objects ended: removed, or a marker put
  std::size_t removed = 0;  // versions and lone markers removed
  std::size_t aborted = 0;  // uploads
};
store::Answer<LifecycleRun> run_lifecycle(store::Store& store, rows::TimeMs day_ms,
                                          const std::function<bool()>& stop);

}  // namespace orrery::upkeep
