// The next best spend: changes tried one at a time, ranked by what a useful hour then costs.
#pragma once

#include <vector>

#include "model/machine/models.h"
#include "plan/plan/stages.h"
#include "plan/plan/verdict.h"

namespace orrery::plan {

// Those that lower the cost of a useful accelerator-hour, best first, at most kSpendsShown.
inline constexpr std::size_t kSpendsShown = 5;
std::vector<Spend> best_spends(const Review& review);

}  // namespace orrery::plan
