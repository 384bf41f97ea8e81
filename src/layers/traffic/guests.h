// Another region's requests on a fleet that has users of its own: merged in time, and separated
// again in the results.
//
// A guest's conversation is new to this fleet: it gets another name, so that no prefix cache finds
// it. The prefix that all users share is found.
#pragma once

#include <vector>

#include "layers/traffic/fleet.h"

namespace orrery::traffic {

struct MixedLoad {
  std::vector<Timed> all;      // in order of time; ties: the fleet's own first
  std::vector<bool> is_guest;  // indexed by request id
};
// Both inputs must be in order of time.
MixedLoad with_guests(std::vector<Timed> own, std::vector<Timed> guests);

// Returns the results of the guests, or of the fleet's own requests.
FleetRun records_of(const FleetRun& run, const MixedLoad& load, bool guests);

}  // namespace orrery::traffic
