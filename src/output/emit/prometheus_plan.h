// What the plan promises of things that a running cluster can measure: the lines that dashboards
// draw, the thresholds that alerts compare with, and the orrery_plan_* metrics of the exporter.
//
// A planned value is named as its measurement is: orrery_plan_step_time_seconds stands beside
// orrery_measured_step_time_seconds. Values come from the figures of the review with their
// intervals; the few that no section shows are made here and say how.
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

// Sorted by metric, within one in the order of the design. Runs that do not fit, and values that
// are not known, are left out.
std::vector<PlannedValue> planned_values(const review::Review& review);

// Those of one metric.
std::vector<PlannedValue> planned_of(const std::vector<PlannedValue>& all, std::string_view metric);

// A fleet whose counters DCGM can give.
bool has_dcgm(const machine::Fleet& fleet);

}  // namespace orrery::emit
