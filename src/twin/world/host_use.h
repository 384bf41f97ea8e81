// What a host does and draws: the cause its slots are booked under, and its power.
//
//   draw = idle + (peak - idle) x level     level between 0 and 1, by what the host does
// Ranks that wait for a failed one spin in a collective, so a host in `detect` draws as much as in
// communication. A host without power draws nothing.
#pragma once

#include "twin/world/cause.h"
#include "twin/world/world_spec.h"

namespace orrery::world {

struct HostUse {
  Cause cause = Cause::idle;
  Watts draw;     // mean power
  Watts highest;  // highest power of its phases
};

// Power and cause of a host that is not stepping.
HostUse resting(const FleetPart& fleet, Cause cause);
// Power and cause of a host that computes, at levels between idle and peak.
HostUse working(const FleetPart& fleet, double mean_level, double highest_level);

}  // namespace orrery::world
