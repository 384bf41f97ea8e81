// Two small drawings for a report that is sent: goals with their intervals, and bars of a sum.
//
// Every row of the goals has a scale of its own, since their units differ: what counts is where the
// interval lies to the bound. Both stand alone and take the colour of the text around them, as
// tornado_svg does; what they show is also said in a table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/figures/goals.h"

namespace orrery::report {

std::string goals_svg(std::span<const figures::GoalOutcome> goals);

struct Bar {
  std::string label;
  double value = 0;   // not negative
  std::string shown;  // "12.4 MUSD"
};
std::string bars_svg(const std::string& title, std::span<const Bar> bars);

}  // namespace orrery::report
