// Requests of another region on a fleet that has users of its own: joined in time, told apart
// after.
//
// A guest's talk is not one that the fleet has had before: its name is made another, so that no
// prefix cache finds it. What all users' prompts begin with is found.
#pragma once

#include <vector>

#include "layers/traffic/fleet.h"

namespace orrery::traffic {

struct MixedLoad {
  std::vector<Timed> all;      // in order of time; of two at once the fleet's own first
  std::vector<bool> is_guest;  // by a request's id
};
// Each in order of time.
MixedLoad with_guests(std::vector<Timed> own, std::vector<Timed> guests);

// What became of the guests, or of the fleet's own.
FleetRun records_of(const FleetRun& run, const MixedLoad& load, bool guests);

}  // namespace orrery::traffic
