// Two small drawings for an HTML report: goals with their intervals, and bars of a sum.
//
// Every row of the goals has a scale of its own, because their units differ; what matters is where
// the interval is relative to the bound. Each drawing is complete by itself and takes the colour of
// the text around it, as tornado_svg does. A table always says the same.
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
