// What the plan expects of quantities that a running cluster can measure: the lines that dashboards
// draw, the thresholds that alerts compare with, and the exporter's orrery_plan_* metrics.
//
// A planned value is named like its measurement: orrery_plan_step_time_seconds corresponds to
// orrery_measured_step_time_seconds. Values are figures of the review with their intervals. The few
// that no section shows are computed here, with their formula.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/estimate.h"
#include "plan/review/stages.h"

namespace orrery::emit {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;  // sorted by name

struct PlannedValue {
  std::string metric;  // "step_time_seconds"
  std::string help;
  MetricLabels labels;  // {{"workload", "pretrain"}}
  Estimate estimate;
};

// Returns the values sorted by metric, then in the order of the design. Omits runs that do not fit
// and values that are not known.
std::vector<PlannedValue> planned_values(const review::Review& review);

// Returns the values of one metric.
std::vector<PlannedValue> planned_of(const std::vector<PlannedValue>& all, std::string_view metric);

// Returns true if DCGM can provide the fleet's counters.
bool has_dcgm(const machine::Fleet& fleet);

}  // namespace orrery::emit
