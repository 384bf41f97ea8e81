// The halls of a design for drawing: racks in rows with their density, the mean power from the
// utility to its final use, and the PUE by its parts.
//
// Racks are those of the fleets, filled in the order of the file. Switches and storage servers are
// loads of the power chain but are in no rack here, because no model places them. A fleet whose
// nodes do not fit into a rack is drawn with one node per rack, so that its density shows why.
//
//   utility = input of the chain + cooling and other overhead; each stage passes its output on and
//   loses the rest; the last stage feeds fleets, networks and storage.
#pragma once

#include <string>

#include "plan/review/stages.h"

namespace orrery::report {

// Most racks listed for a hall; a larger hall has its number of racks only.
inline constexpr int kMostRacksListed = 2000;
// Rack positions per row. An assumption for the drawing only.
inline constexpr int kRackPositions = 16;

std::string hall_view_json(const review::Review& review);

}  // namespace orrery::report
