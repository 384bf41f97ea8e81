// What a design says about its store: the tiers of the storage section with their redundancy, what
// they keep of checkpoints, and whether they are encrypted.
//
// A tier of the design gets the erasure code with the largest data share that does not exceed its
// `usable` (8+2, 6+2, 4+2, 2 copies, 3 copies). A tier without `usable`, and a tier that the design
// does not have, is a folder with one copy. The folders of the drives are in the store's folder:
// mount your drives there, or name others with --tier. A tier with a `place` is at that place as
// one copy, because the pool or the other store keeps the copies or the code that `protection`
// gives to the plan. Rates, capacities, servers and prices matter to the plan only; a store on one
// machine has no options for them.
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
// Returns the store of a design, or a fault if a tier has a place that it cannot have.
Result<DesignedStore> store_of_design(const design::Design& design);

}  // namespace orrery::cli
