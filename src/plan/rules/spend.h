// The next best spend: changes tried one at a time, ranked by the cost per useful hour that
// follows.
#pragma once

#include <string>
#include <vector>

#include "model/design_text/change.h"
#include "plan/review/stages.h"

namespace orrery::rules {

// One change worth its money: what it adds to the yearly cost, and the cost of a useful unit before
// and after.
struct Spend {
  std::string what;  // "checkpoint asynchronously"
  design_text::Change change;
  double cost_usd_per_year = 0;
  double goodput_before = 0;
  double goodput_after = 0;
  double unit_cost_before_usd = 0;  // per useful GPU-hour
  double unit_cost_after_usd = 0;
};

// The most changes that best_spends() lists: those that lower the cost per useful accelerator-hour,
// best first.
inline constexpr std::size_t kSpendsShown = 5;
std::vector<Spend> best_spends(const review::Review& review);

}  // namespace orrery::rules
