#include "output/emit/alerts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/text.h"
#include "core/catalog/embedded_table.h"
#include "output/emit/alerts_table.h"

namespace orrery::emit {
namespace {

constexpr const char* kAlertTable = "emit/prometheus/alerts.csv";
constexpr const char* kRecordingTable = "emit/prometheus/recording.csv";
constexpr const char* kMetricTable = "emit/prometheus/metrics.csv";
constexpr std::string_view kGuard = "guard";
// Distance of test values from the threshold; a threshold that moves by more fails its test.
constexpr double kMargin = 0.05;
// A share that is planned as certain still allows one in a thousand.
constexpr double kRatioMost = 0.999;
constexpr int kThresholdDigits = 6;
constexpr int kSeriesDigits = 12;
constexpr std::string_view kTestGpu = "Hostname='node-1',gpu='3',UUID='GPU-3'";

// Reads labels of the table, "a='b',c='d'". Values there contain no quotes or commas.
MetricLabels labels_in(std::string_view text) {
  MetricLabels labels;
  for (const std::string_view part : separated(text, ",")) {
    const std::size_t equals = part.find("='");
    if (equals == std::string_view::npos) continue;
    labels.emplace_back(part.substr(0, equals), part.substr(equals + 2, part.size() - equals - 3));
  }
  std::ranges::sort(labels);
  return labels;
}

std::vector<TestSeries> series_in(std::string_view text, const Words& words) {
  std::vector<TestSeries> all;
  for (const std::string_view part : separated(text, ";;")) {
    const auto sides = separated(part, "=>");
    if (sides.size() == 2) all.push_back({filled(sides[0], words), filled(sides[1], words)});
  }
  return all;
}

double rounded(double v) { return parse_number(significant(v, kThresholdDigits)).value_or(v); }

double bound_of(const Estimate& e, std::string_view bound) {
  return bound == "low" ? e.low : bound == "high" ? e.high : e.value;
}

std::string series_number(double v) { return significant(v, kSeriesDigits); }

// Returns {above} and {below}: values on either side of the threshold, as the row's series count.
Words test_words(double threshold, std::string_view scale) {
  double above = threshold * (1 + kMargin);
  double below = threshold * (1 - kMargin);
  if (scale == "ratio") {
    above = 1 - (1 - threshold) * (1 - kMargin);
    below = 1 - (1 - threshold) * (1 + kMargin);
  } else if (scale == "count") {
    above = threshold + 1;
    below = threshold - 1;
  } else {
    const double factor = parse_number(scale).value_or(1);
    above *= factor;
    below *= factor;
  }
  return {{"above", series_number(above)},
          {"below", series_number(below)},
          {"rest_above", series_number(1 - above)},
          {"rest_below", series_number(1 - below)},
          {"gpu", std::string(kTestGpu)}};
}

std::vector<AlertCase> cases_of(const CsvTable& table, const CsvRow& row, const Words& words) {
  AlertCase firing{.input = series_in(table.text(row, "fires"), words), .expected = {}};
  for (const std::string_view labels : separated(table.text(row, "labels"), "||")) {
    firing.expected.push_back(labels_in(filled(labels, words)));
  }
  if (firing.expected.empty()) firing.expected.emplace_back();
  std::vector<AlertCase> cases = {std::move(firing)};
  for (const std::string_view quiet : separated(table.text(row, "quiet"), "||")) {
    cases.push_back({.input = series_in(quiet, words), .expected = {}});
  }
  return cases;
}

int minutes_of(std::string_view text) {
  const bool unit = text.ends_with('m');
  return static_cast<int>(parse_integer(text.substr(0, text.size() - unit)).value_or(0));
}

// `own` has the labels that distinguish this alert from others of its name; `words` has those and
// more, escaped.
Alert alert_of(const CsvTable& table, const CsvRow& row, double threshold, MetricLabels own,
               Words words) {
  const std::string_view scale = table.text(row, "scale");
  if (scale == "ratio") threshold = std::min(threshold, kRatioMost);
  threshold = rounded(threshold);
  for (const auto& [name, value] : own) words.emplace(name, promql_escaped(value));
  Alert a{.name = std::string(table.text(row, "alert")),
          .group = std::string(table.text(row, "group")),
          .severity = std::string(table.text(row, "severity")),
          .for_minutes = minutes_of(table.text(row, "for")),
          .pattern = filled(table.text(row, "expr"), words),
          .threshold = threshold,
          .labels = std::move(own),
          .summary = std::string(table.text(row, "summary")),
          .action = std::string(table.text(row, "action")),
          .command = std::string(table.text(row, "command")),
          .threshold_source = std::string(table.text(row, "source")),
          .onset_minutes = minutes_of(table.text(row, "onset")),
          .cases = {}};
  words.merge(test_words(threshold, scale));
  words.emplace("t", promql_number(threshold));
  a.cases = cases_of(table, row, words);
  return a;
}

std::vector<Alert> alerts_of(const CsvTable& table, const CsvRow& row,
                             const std::vector<PlannedValue>& plan) {
  const double factor = table.number(row, "threshold").value_or(0);
  const std::string_view of = table.text(row, "of");
  if (of.empty()) return {alert_of(table, row, factor, {}, {})};
  std::vector<Alert> alerts;
  for (const PlannedValue& v : planned_of(plan, of)) {
    const double bound = bound_of(v.estimate, table.text(row, "bound"));
    if (bound > 0) alerts.push_back(alert_of(table, row, factor * bound, v.labels, {}));
  }
  return alerts;
}

// Returns every selector that the rules read and whose absence is a fault. The output of a
// recording rule is guarded by its inputs, unless an alert selects a single subject of it.
std::vector<std::string> guarded(const WatchRules& rules, const std::vector<Metric>& metrics) {
  std::set<std::string> selectors;
  const auto add = [&](std::string_view expr, bool with_recorded) {
    for (const std::string& s : selectors_of(expr)) {
      const std::string_view name = metric_of(s);
      const auto metric = std::ranges::find(metrics, name, &Metric::name);
      const bool recorded = name.find(':') != std::string_view::npos;
      const bool wanted = recorded ? with_recorded && name.size() < s.size()
                                   : metric == metrics.end() || metric->guard;
      if (wanted) selectors.insert(s);
    }
  };
  for (const RecordingRule& r : rules.recording) add(r.expr, false);
  for (const Alert& a : rules.alerts) add(expression_of(a), !a.labels.empty());
  return {selectors.begin(), selectors.end()};
}

void add_guards(WatchRules& rules, const CsvTable& table, const std::vector<Metric>& metrics) {
  for (const CsvRow& row : table.rows()) {
    if (table.text(row, "needs") != kGuard) continue;
    const double threshold = table.number(row, "threshold").value_or(1);
    for (const std::string& selector : guarded(rules, metrics)) {
      rules.alerts.push_back(
          alert_of(table, row, threshold, {{"metric", selector}}, {{"selector", selector}}));
    }
    return;
  }
}

}  // namespace

std::string promql_number(double v) { return significant(v, kThresholdDigits); }

std::string expression_of(const Alert& alert) {
  return filled(alert.pattern, {{"t", promql_number(alert.threshold)}});
}

Result<std::vector<Metric>> known_metrics() {
  const auto table = catalog::embedded_table(kMetricTable);
  if (!table) return std::unexpected(table.error());
  std::vector<Metric> metrics;
  for (const CsvRow& row : table->rows()) {
    metrics.push_back({.name = std::string(table->text(row, "metric")),
                       .source = std::string(table->text(row, "source")),
                       .type = std::string(table->text(row, "type")),
                       .help = std::string(table->text(row, "help")),
                       .guard = table->text(row, "guard") == "yes"});
  }
  return metrics;
}

Result<WatchRules> watch_rules(const review::Review& review,
                               const std::vector<PlannedValue>& plan) {
  const auto recording = catalog::embedded_table(kRecordingTable);
  if (!recording) return std::unexpected(recording.error());
  const auto alerts = catalog::embedded_table(kAlertTable);
  if (!alerts) return std::unexpected(alerts.error());
  const auto metrics = known_metrics();
  if (!metrics) return std::unexpected(metrics.error());

  const Traits traits = traits_of(review, plan);
  WatchRules rules;
  for (const CsvRow& row : recording->rows()) {
    if (!meets(recording->text(row, "needs"), traits)) continue;
    rules.recording.push_back({.record = std::string(recording->text(row, "record")),
                               .expr = std::string(recording->text(row, "expr")),
                               .why = std::string(recording->text(row, "why"))});
  }
  for (const CsvRow& row : alerts->rows()) {
    if (!meets(alerts->text(row, "needs"), traits)) continue;
    std::ranges::move(alerts_of(*alerts, row, plan), std::back_inserter(rules.alerts));
  }
  add_guards(rules, *alerts, *metrics);
  return rules;
}

std::string_view metric_of(std::string_view selector) {
  return selector.substr(0, selector.find('{'));
}

}  // namespace orrery::emit
