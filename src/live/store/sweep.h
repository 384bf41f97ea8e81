// What the store does besides answering: removes the shards of garbage, sweeps what a run that died
// left behind, and carries out the lifecycle rules. Each a function that ends; keeper.h calls them.
#pragma once

#include "live/store/store.h"

namespace orrery::store {

struct Swept {
  std::size_t files = 0;    // looked at
  std::size_t removed = 0;  // that nothing referred to
};

// Removes the shard files of runs that died that no row refers to: their writers died before the
// commit. Files of this run and of others that live are left: they may be on their way. Names that
// are not a shard's are not ours and stay.
Answer<Swept> sweep_orphans(Store& store, const std::function<bool()>& stop = [] { return false; });
// Another run has ended, and not in order: there may be something to sweep.
Answer<bool> has_died(Store& store);
// This run ends in order: there is nothing of it to sweep.
Answer<void> end_run(Store& store);

struct LifecycleRun {
  std::size_t expired = 0;  // objects ended: removed, or a marker put
  std::size_t removed = 0;  // versions and lone markers removed
  std::size_t aborted = 0;  // uploads
};
Answer<LifecycleRun> run_lifecycle(Store& store, TimeMs day_ms, const std::function<bool()>& stop);

}  // namespace orrery::store
