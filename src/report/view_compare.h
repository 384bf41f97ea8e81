// Designs side by side for drawing: every figure of each, what differs from the first and which
// section did it, what the year's money goes to, and what the answer hangs on.
//
// The cost tree is the year's cost: capital by sections of the bill and their lines (each line has
// the share of its price), then running costs, rents and fees. A part is starred (`assumed`) where
// no source stands behind it; a part is, where one of its children is, only if all of them are.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "design/design.h"
#include "machine/models.h"

namespace orrery {

struct NamedDesign {
  std::string name;  // as the page calls it
  design::Design design;
};

// Side by side on a page; each is reviewed and each but the first attributed.
inline constexpr std::size_t kMostCompared = 8;

// Faults: "compare.count".
Result<std::string> comparison_view_json(const std::vector<NamedDesign>& designs,
                                         const Models& models);

}  // namespace orrery
