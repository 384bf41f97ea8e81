// How many servers a tier has, and how they are shaped.
//
//   servers = as the design counts them, else max(for what is asked, for durability)
// What is asked is what the tier's own lines say (capacity, read, write), and where they say
// nothing what the workloads want of it (tier_asks.h): data sets, kept checkpoints, samples, saves
// within their goal. storage/tier_sizing.h sizes it, as it does for `orrery calc tier-size`. At the
// least there are as many servers as let one of them be lost (10 shards of which 2 may go: 5), for
// drives that a design puts into servers; one where nothing is protected, for NFS and for what is
// sold as a server.
#pragma once

#include <vector>

#include "model/machine/tier.h"

namespace orrery::machine {

// Fills servers, devices, metadata servers and `need`.
void count_servers(Tier& tier, const std::vector<TierAsk>& asks);

// Of the raw capacity of its devices.
double usable_share(const Tier& tier);
// options_of for the device that is bought, with the network that a server has where the design
// gives none.
storage::TierOptions purchase_options(const Tier& tier, const catalog::StorageDevice& device);
// Files that one metadata server opens or makes in a second.
PerSecond creates_of_one(const design::StorageTier& tier);

}  // namespace orrery::machine
