// The next best spend: changes tried one at a time, ranked by what a useful hour then costs.
#pragma once

#include <string>
#include <vector>

#include "model/design_text/change.h"
#include "plan/review/stages.h"

namespace orrery::rules {

// One change worth money: what it adds to the yearly cost, and what a useful unit costs before and
// after.
struct Spend {
  std::string what;  // "checkpoint asynchronously"
  design_text::Change change;
  double cost_usd_per_year = 0;
  double goodput_before = 0;
  double goodput_after = 0;
  double unit_cost_before_usd = 0;  // per useful GPU-hour
  double unit_cost_after_usd = 0;
};

// Those that lower the cost of a useful accelerator-hour, best first, at most kSpendsShown.
inline constexpr std::size_t kSpendsShown = 5;
std::vector<Spend> best_spends(const review::Review& review);

}  // namespace orrery::rules
