// A Grafana dashboard that shows measured values against the plan, panel by panel.
//
//   dashboards/orrery.json                 rows: goodput, allocation, queue, topology, failures,
//                                          storage, power, plan and actual
//   provisioning/dashboards/orrery.yml     tells Grafana where the dashboard is
//
// Every panel has the planned value as a dashed line with its 80 % interval as a band. A panel
// whose value the design does not plan is omitted. The lines are constants, so they are visible
// even if the exporter is not running. Panels are rows of data/emit/prometheus/panels.csv.
#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "output/emit/prometheus_plan.h"
#include "plan/review/stages.h"

namespace orrery::emit {

struct PanelQuery {
  std::string expr;
  std::string legend;
};

struct PlanLine {
  std::string name;  // "plan", or "plan checkpoint" if a panel has several lines
  Estimate estimate;
};

struct Panel {
  std::string row;
  std::string title;
  std::string type;  // "timeseries", "status-history", "bargauge"
  std::string unit;  // unit in Grafana's terms: "s", "percentunit"
  std::string help;
  std::vector<PanelQuery> measured;
  std::vector<PlanLine> plan;  // never empty
};
Result<std::vector<Panel>> panels_of(const review::Review& review,
                                     const std::vector<PlannedValue>& plan);

// Returns the expressions that the panels read; the file of counters must contain them.
Result<std::vector<std::string>> dashboard_expressions(const review::Review& review,
                                                       const std::vector<PlannedValue>& plan);

Result<EmittedFiles> emit_grafana(const review::Review& review, const EmitSource& source);

}  // namespace orrery::emit
