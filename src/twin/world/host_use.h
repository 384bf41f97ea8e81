// What a host does and draws: the cause its slots are booked under, and its power.
//
//   draw = idle + (peak - idle) x level     level between 0 and 1, by what the host does
// Ranks that wait for one that failed spin in a collective, so a host in `detect` draws what
// communication draws. A host without power draws nothing.
#pragma once

#include "twin/world/cause.h"
#include "twin/world/world_spec.h"

namespace orrery::world {

struct HostUse {
  Cause cause = Cause::idle;
  Watts draw;     // mean
  Watts highest;  // of its phases
};

// A host that does no steps.
HostUse resting(const FleetPart& fleet, Cause cause);
// A host that computes, at levels between idle and peak.
HostUse working(const FleetPart& fleet, double mean_level, double highest_level);

}  // namespace orrery::world
