// Simulates a group of drives over time: they fail, are rebuilt, and now and then lose data.
//
// It simulates drive by drive what durability.h solves as a Markov chain: each drive fails after an
// exponential time, a server takes all its shards of the group with it, a lost shard is whole again
// after its rebuild. Data is lost if more shards are gone than the code survives, or if a rebuild
// without redundancy meets an unreadable sector. After a loss the group starts again. Rebuild times
// are either exponential, as in the chain, or of fixed length, as in reality. With several failures
// at once, the chain's rebuilds are too short at the start and too long at the end, and its mean
// time to loss is too low.
#pragma once

#include <cstdint>

#include "layers/storage/durability.h"

namespace orrery::storage {

struct DriveTrial {
  DurabilityQuestion group;
  bool rebuilds_alike = false;  // every rebuild takes the mean time
  int losses = 1000;            // number of losses to simulate
  std::uint64_t events_most = 20'000'000;
  std::uint64_t seed = 1;
};

struct DriveOutcome {
  Seconds mean_time_to_loss;  // 0 if there was no loss
  int losses = 0;
  std::uint64_t failures = 0;
  bool is_whole = false;  // all requested losses were simulated
};

DriveOutcome live_through(const DriveTrial& trial);

}  // namespace orrery::storage
