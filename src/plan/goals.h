// Goals of a design held against the figures of its review.
#pragma once

#include <vector>

#include "plan/stages.h"
#include "plan/verdict.h"

namespace orrery {

// A goal whose metric the review could not compute is missed, and says so in its text.
std::vector<GoalOutcome> check_goals(const Review& review, const std::vector<Section>& sections);

}  // namespace orrery
