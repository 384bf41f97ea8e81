// Runs the replications of a simulation on threads; shared by the verbs and the console's jobs.
//
// Replications run in any order and are joined in theirs, so the number of threads changes no byte
// of the result.
#pragma once

#include <functional>
#include <vector>

#include "core/base/units.h"
#include "twin/run/simulation.h"

namespace orrery::server {

inline constexpr Seconds kSimulatedMin = seconds(1);
inline constexpr Seconds kSimulatedMax = years(10);

struct ReplicateOptions {
  int threads = 1;
  // Called on any thread, world::kParts times per replication; returning false stops all of them.
  std::function<bool()> part;
  // Called on any thread when a replication is complete; may be empty.
  std::function<void()> whole;
};

// Returns the completed replications, sorted by number: all of them unless `part` returned false.
std::vector<run::Replication> replicate_all(const run::Simulation& simulation,
                                            const ReplicateOptions& options);

}  // namespace orrery::server
