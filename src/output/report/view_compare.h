// Designs side by side for drawing: every figure of each, what differs from the first and which
// section did it, what the year's money goes to, and what the answer hangs on.
//
// The cost tree is the year's cost: capital by sections of the bill and their lines (each line has
// the share of its price), then running costs, rents and fees. A part is starred (`assumed`) where
// no source stands behind it; a part is, where one of its children is, only if all of them are.
#pragma once

#include <string>
#include <vector>

#include "output/report/comparison.h"

namespace orrery::report {

std::string comparison_view_json(const Comparison& c);

}  // namespace orrery::report
