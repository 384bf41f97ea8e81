// A group of drives on the clock: they fail, are rebuilt, and now and then take data with them.
//
// What durability.h solves as a Markov chain, lived through drive by drive: each drive fails after
// an exponential time, a server takes all its shards of the group at once, a lost shard is whole
// again after its rebuild, and data is lost when more shards are gone than the code survives, or
// when a rebuild without redundancy meets a sector that cannot be read. After a loss the group
// begins anew. Rebuilds are exponential, as the chain has them, or of one length, as they are: with
// several failures at once the chain's are too short-lived at the start and too long at the end,
// and its mean time to loss is low.
#pragma once

#include <cstdint>

#include "layers/storage/durability.h"

namespace orrery::storage {

struct DriveTrial {
  DurabilityQuestion group;
  bool rebuilds_alike = false;  // each takes the mean
  int losses = 1000;            // that are lived through
  std::uint64_t events_most = 20'000'000;
  std::uint64_t seed = 1;
};

struct DriveOutcome {
  Seconds mean_time_to_loss;  // 0 where there was none
  int losses = 0;
  std::uint64_t failures = 0;
  bool is_whole = false;  // all the losses that were asked for
};

DriveOutcome live_through(const DriveTrial& trial);

}  // namespace orrery::storage
