// Goals: `metric comparison bound`, as in `goodput >= 0.90` or `cost <= 12 MUSD/y`.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "model/design/economics.h"

namespace orrery::design {

struct GoalMetric {
  std::string_view name;
  Dimension dimension;    // all zero: a plain number or a share
  std::string_view unit;  // unit to suggest; empty for a plain number
  std::string_view doc;
};

// To add a metric, add it here and compute it in plan/.
std::span<const GoalMetric> goal_metrics();
const GoalMetric* find_goal_metric(std::string_view name);

struct GoalFault {
  std::string code;  // "goal.syntax", "goal.metric", "goal.unit"
  std::string what;
  std::string fix;
};
std::expected<Goal, GoalFault> parse_goal(std::string_view text);
std::string to_text(const Goal& goal);  // parse_goal reads it back exactly

}  // namespace orrery::design
