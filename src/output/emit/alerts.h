// Alert and recording rules of a design: the rows of data/emit/prometheus applied to its plan.
//
//   row of alerts.csv + planned value -> Alert -> rule text, and cases that test it
//
// A row says what to compare, with what and for how long, and has series that make it fire and
// series that must not. `threshold` is a number, or a factor of a planned value (`of`, `bound`);
// then there is one alert per value of that name. `needs` excludes a row from designs that lack
// what it is about (nvidia, nvlink, train, slurm, cache). Every selector that a rule reads gets a
// MetricMissing alert, because a rule without data never fires and looks like good health.
//
// Placeholders of a row: {t} is the threshold; {above} and {below} are 5 % away from it, times
// `scale`, for series; {gpu} has the labels of one GPU; {workload} and similar have the labels of
// the planned value; <name> in annotations is the label of that name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/prometheus_plan.h"
#include "plan/review/stages.h"

namespace orrery::emit {

struct TestSeries {
  std::string series;  // in PromQL notation
  std::string values;  // in promtool notation: "0x5 1x20"
};

// Series from minute 0 on, and the alerts that fire once `for` has passed; none in a quiet case.
struct AlertCase {
  std::vector<TestSeries> input;
  std::vector<MetricLabels> expected;  // without the alert's own labels
};

struct Alert {
  std::string name;
  std::string group;
  std::string severity;  // "page", "warning"
  int for_minutes = 0;
  std::string pattern;   // expression that still contains {t}
  double threshold = 0;  // as written in the rule
  MetricLabels labels;   // own labels: {{"workload", "pretrain"}}
  std::string summary;   // contains <label>
  std::string action;    // what to do about it
  std::string command;   // first command to run; <label> is replaced by the alert's label
  std::string threshold_source;
  int onset_minutes = 0;  // minute at which the firing case first holds
  std::vector<AlertCase> cases;
};
std::string expression_of(const Alert& alert);

struct RecordingRule {
  std::string record;
  std::string expr;
  std::string why;
};

struct WatchRules {
  std::vector<RecordingRule> recording;  // each reads only earlier ones
  std::vector<Alert> alerts;             // grouped, in the order of the table
};
Result<WatchRules> watch_rules(const review::Review& review, const std::vector<PlannedValue>& plan);

// A metric that rules or dashboards may read (metrics.csv).
struct Metric {
  std::string name;
  std::string source;  // "dcgm", "exporter", "prometheus"
  std::string type;    // "gauge", "counter"
  std::string help;
  bool guard = true;  // true: its absence is a fault
};
Result<std::vector<Metric>> known_metrics();

// Returns the vector selectors of an expression, "name" or "name{matchers}", in order, each once.
std::vector<std::string> selectors_of(std::string_view expr);
std::string_view metric_of(std::string_view selector);

// Escapes a text for a PromQL string in single quotes. Also escapes '$', which Grafana would
// expand, and braces, so that a name that looks like a placeholder stays a name.
std::string promql_escaped(std::string_view text);
// Formats a number as rules and series need it: never with an exponent.
std::string promql_number(double v);

}  // namespace orrery::emit
