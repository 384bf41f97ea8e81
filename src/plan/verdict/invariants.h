// What holds of every verdict, whatever the design: a break of it is a fault of ours, not the
// author's.
//
//   no figure is infinite or not a number; low <= value <= high
//   mean <= peak <= nameplate; a swing is no larger than what stands there
//   every NIC has an endpoint, or a finding says that it has none
//   shares of time and traffic lie in 0..1 and add up to one
//   the year's cost is the sum of its items
//   a text has no "inf", no "nan" and no power of ten; an edit is a round number that the finding
//   names, and never loosens a goal, a deadline or an objective
// verdict_of asserts it in debug builds; tests/random_designs_test.cpp draws designs for it.
#pragma once

#include <string>
#include <vector>

#include "plan/review/stages.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {

// One sentence for each that is broken.
std::vector<std::string> broken_invariants(const review::Review& review, const Verdict& verdict);

}  // namespace orrery::verdict
