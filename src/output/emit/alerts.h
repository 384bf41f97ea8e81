// Alert and recording rules of a design: the rows of data/emit/prometheus laid over its plan.
//
//   row of alerts.csv + planned value -> Alert -> rule text, and cases that prove it
// A row says what to compare, with what, for how long, and gives series that make it fire and
// series that must not. `threshold` is a number, or a factor of a planned value (`of`, `bound`);
// then there is one alert for each value of that name. `needs` keeps a row away from designs it
// does not speak of (nvidia, nvlink, train, slurm, cache). Every selector that a rule reads gets a
// MetricMissing alert: a rule without data is silent, and silence looks like health.
//
// Placeholders of a row: {t} the threshold; {above} and {below} 5 % beside it, times `scale`, for
// series; {gpu} the labels of one GPU; {workload} and the like the labels of the planned value;
// <name> in annotations the label of that name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/prometheus_plan.h"
#include "plan/review/stages.h"

namespace orrery::emit {

struct TestSeries {
  std::string series;  // as PromQL writes it
  std::string values;  // as promtool writes them: "0x5 1x20"
};

// Series from minute 0 on, and the alerts that stand once `for` has passed; none for a quiet case.
struct AlertCase {
  std::vector<TestSeries> input;
  std::vector<MetricLabels> expected;  // without the alert's own labels
};

struct Alert {
  std::string name;
  std::string group;
  std::string severity;  // "page", "warning"
  int for_minutes = 0;
  std::string pattern;   // the expression with {t} still in it
  double threshold = 0;  // as written in the rule
  MetricLabels labels;   // of its own: {{"workload", "pretrain"}}
  std::string summary;   // with <label>
  std::string action;    // what to do
  std::string command;   // the first to type; <label> stands for the alert's
  std::string threshold_source;
  int onset_minutes = 0;  // at which the firing case first holds
  std::vector<AlertCase> cases;
};
std::string expression_of(const Alert& alert);

struct RecordingRule {
  std::string record;
  std::string expr;
  std::string why;
};

struct WatchRules {
  std::vector<RecordingRule> recording;  // each reads only those before it
  std::vector<Alert> alerts;             // by group, in the order of the table
};
Result<WatchRules> watch_rules(const review::Review& review, const std::vector<PlannedValue>& plan);

// A metric that rules or dashboards may read (metrics.csv).
struct Metric {
  std::string name;
  std::string source;  // "dcgm", "exporter", "prometheus"
  std::string type;    // "gauge", "counter"
  std::string help;
  bool guard = true;  // its absence is a fault
};
Result<std::vector<Metric>> known_metrics();

// The vector selectors of an expression, "name" or "name{matchers}", in order, each once.
std::vector<std::string> selectors_of(std::string_view expr);
std::string_view metric_of(std::string_view selector);

// Text within a PromQL string of single quotes. '$' is escaped as well, which Grafana would read,
// and braces, so that a name which looks like a placeholder stays a name.
std::string promql_escaped(std::string_view text);
// The number as a rule or a series writes it: never with an exponent.
std::string promql_number(double v);

}  // namespace orrery::emit
