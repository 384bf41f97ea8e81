// The halls of a design for drawing: racks in rows with their density, the mean power from the
// utility to where it ends, and the PUE by its parts.
//
// Racks are those of the fleets, filled in the order of the file; switches and storage servers are
// loads of the power chain but stand in no rack here, because no model places them. A fleet of
// which not even one node fits is drawn one node a rack, so that its density shows why.
//   utility = chain input + cooling and other overhead; each stage gives its output on and loses
//   the rest; the last one feeds fleets, networks and storage.
#pragma once

#include <string>

#include "plan/review/stages.h"

namespace orrery::report {

// A hall of more racks is counted, and this many are listed.
inline constexpr int kMostRacksListed = 2000;
// Positions of a row: assumption, for drawing only.
inline constexpr int kRackPositions = 16;

std::string hall_view_json(const review::Review& review);

}  // namespace orrery::report
