// What a run's checkpoints occupy: the newest few hot, a window warm, milestones cold, the rest
// deleted.
//
//   hot  = (N + 1) S            N newest and the one in flight, which retention must not count
//   warm = S window / interval  (thinned: one of every `warm_every`)
//   cold = S (1 + run / milestone)
// A run that deletes nothing holds S run / interval. Volumes are of copies, not of erasure-coded
// bytes (tier_sizing.h adds those).
#pragma once

#include "base/quantity.h"

namespace orrery::storage {

struct RetentionPolicy {
  Seconds interval;  // between saves
  int newest_hot = 3;
  Seconds warm_window;    // 0: no warm copies
  double warm_every = 1;  // keep one of so many in the window
  Seconds milestone;      // 0: none
};

struct RetentionVolume {
  Bytes hot;
  Bytes warm;
  Bytes cold;  // at the end of the run
  Bytes total;
  Bytes undeleted;  // what the run would hold if nothing were deleted
  Bytes written_per_day;
  BytesPerSecond mean_write;
  BytesPerSecond to_warm;  // what the movers carry on average
  BytesPerSecond to_cold;
  double saves = 0;
};

RetentionVolume retain(Bytes checkpoint, Seconds run, const RetentionPolicy& policy);

}  // namespace orrery::storage
