// Positions in the lists of a design: its fleets, storage tiers, sites and workloads.
//
// A machine keeps its lists in the design's order, so one index is valid for the design's entry and
// for the machine's counterpart. Tiers that only the machine has (drives in the nodes that the
// design does not list) come after the design's.
#pragma once

#include "core/base/index.h"

namespace orrery::design {

using FleetIndex = Index<struct FleetTag>;
using TierIndex = Index<struct TierTag>;
using SiteIndex = Index<struct SiteTag>;
using WorkloadIndex = Index<struct WorkloadTag>;

}  // namespace orrery::design
