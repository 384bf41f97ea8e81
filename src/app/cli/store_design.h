// What a design says of its store: the tiers of the storage section with their redundancy, what
// they keep of checkpoints, and whether they are enciphered.
//
// A tier that the design has takes the code whose share of data is the largest that is no larger
// than its `usable` (8+2, 6+2, 4+2, 2 copies, 3 copies); one that says nothing of it, and one that
// the design does not have, is a folder with one copy. The folders of the drives lie in the store:
// mount yours there, or name others with --tier. A tier with a `place` lies there, as one copy: the
// pool or the other store keeps the copies or the code that `protection` says to the plan. Rates,
// capacities, servers and prices are the plan's matter and no option of a store on one machine.
#pragma once

#include "live/s3server/mover.h"
#include "live/upkeep/store_folder.h"
#include "model/design/design.h"

namespace orrery::cli {

struct DesignedStore {
  std::vector<upkeep::TierPlan> tiers = {};
  std::vector<storage::KeepPlace> keeps = {};
  bool enciphered = false;
};
// The fault is that of a place that no tier can have.
Result<DesignedStore> store_of_design(const design::Design& design);

}  // namespace orrery::cli
