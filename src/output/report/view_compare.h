// Designs side by side for drawing: every figure of each, what differs from the first design and
// which section caused it, how the year's cost divides, and how sensitive it is.
//
// The cost tree has the cost of a year: capital by section of the bill and by line (each line has
// the share of its price), then running costs, rents and fees. A part is starred (`assumed`) if its
// number has no source; a part with children is starred if all of them are.
#pragma once

#include <string>
#include <vector>

#include "output/report/comparison.h"

namespace orrery::report {

std::string comparison_view_json(const Comparison& c);

}  // namespace orrery::report
