// What holds for every verdict of any design: a violation is our fault, not the author's.
//
//   no figure is infinite or not a number; low <= value <= high
//   mean <= peak <= nameplate; a power swing is no larger than the nameplate
//   every NIC has an endpoint, or a finding says that it has none
//   shares of time and traffic are in 0..1 and add up to one
//   the yearly cost is the sum of its items
//   a text has no "inf", no "nan" and no power of ten; an edit is a round number that the finding
//   names, and never loosens a goal, a deadline or an objective
// verdict_of asserts this in debug builds; tests/random_designs_test.cpp draws designs for it.
#pragma once

#include <string>
#include <vector>

#include "plan/review/stages.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {

// Returns one sentence for each invariant that is violated.
std::vector<std::string> broken_invariants(const review::Review& review, const Verdict& verdict);

}  // namespace orrery::verdict
