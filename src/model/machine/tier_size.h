// How many servers a tier has, and their shape.
//
//   servers = as the design counts them, else max(for the needs, for durability)
// The needs are what the tier's own fields say (capacity, read, write) and, where they are absent,
// what the workloads need from it (tier_asks.h): data sets, kept checkpoints, samples, saves within
// their goal. storage/tier_sizing.h sizes it, as it does for `orrery calc tier-size`. There are at
// least as many servers as allow one of them to be lost (10 shards of which 2 may be lost: 5), for
// drives that a design puts into servers; one if nothing is protected, for NFS and for appliances.
#pragma once

#include <vector>

#include "model/machine/tier.h"

namespace orrery::machine {

// Fills servers, devices, metadata servers and `need`.
void count_servers(Tier& tier, const std::vector<TierAsk>& asks);

// Returns the usable share of the raw capacity of its devices.
double usable_share(const Tier& tier);
// Returns options_of for the device that is bought, with a server's usual network if the design
// gives none.
storage::TierOptions purchase_options(const Tier& tier, const catalog::StorageDevice& device);
// Returns the files that one metadata server opens or creates per second.
PerSecond creates_of_one(const design::StorageTier& tier);

}  // namespace orrery::machine
