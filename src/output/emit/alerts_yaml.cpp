#include "output/emit/alerts_yaml.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "output/emit/escape.h"

namespace orrery::emit {
namespace {

constexpr const char* kRecordingGroup = "recording";

std::optional<std::string> value_of(const MetricLabels& labels, std::string_view name) {
  for (const auto& [key, value] : labels) {
    if (key == name) return value;
  }
  return std::nullopt;
}

// Replaces <name> with label(name); passes all other text through `literal`.
std::string with_labels(std::string_view text,
                        const std::function<std::string(std::string_view)>& label,
                        const std::function<std::string(std::string_view)>& literal) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('<');
    const std::size_t close = open == text.npos ? text.npos : text.find('>', open);
    out += literal(text.substr(0, close == text.npos ? text.size() : open));
    if (close == text.npos) break;
    out += label(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  return out;
}

// Returns the summary as the rule has it: own labels are filled in, and Prometheus expands those of
// the series.
std::string summary_template(const Alert& a) {
  return with_labels(
      a.summary,
      [&a](std::string_view name) {
        const auto own = value_of(a.labels, name);
        return own ? template_escaped(*own) : fmt::format("{{{{ $labels.{} }}}}", name);
      },
      template_escaped);
}

// Returns the summary as the alert has it once its series is known.
std::string summary_expanded(const Alert& a, const MetricLabels& series) {
  return with_labels(
      a.summary,
      [&](std::string_view name) {
        return value_of(a.labels, name).value_or(value_of(series, name).value_or(""));
      },
      [](std::string_view text) { return std::string(text); });
}

std::string threshold_text(const Alert& a) {
  return fmt::format("{}: {}", promql_number(a.threshold), a.threshold_source);
}

void add_field(std::string& out, int indent, std::string_view key, std::string_view value) {
  out += fmt::format("{:{}}{}: {}\n", "", indent, key, yaml_string(value));
}

std::string alert_yaml(const Alert& a) {
  std::string out = fmt::format("      - alert: {}\n", a.name);
  add_field(out, 8, "expr", expression_of(a));
  out += fmt::format("        for: {}m\n        labels:\n", a.for_minutes);
  add_field(out, 10, "severity", a.severity);
  for (const auto& [name, value] : a.labels) add_field(out, 10, name, template_escaped(value));
  out += "        annotations:\n";
  add_field(out, 10, "action", template_escaped(a.action));
  add_field(out, 10, "summary", summary_template(a));
  add_field(out, 10, "threshold", template_escaped(threshold_text(a)));
  return out;
}

// Alerts of one name, which differ in their subject and are tested together.
using Siblings = std::vector<const Alert*>;

// Returns the series of all siblings, each once.
std::string series_yaml(const Siblings& siblings, std::size_t c) {
  std::string out = "    input_series:\n";
  std::set<std::string> seen;
  for (const Alert* a : siblings) {
    for (const TestSeries& s : a->cases[c].input) {
      if (!seen.insert(s.series).second) continue;
      out += fmt::format("      - series: {}\n        values: {}\n", yaml_string(s.series),
                         yaml_string(s.values));
    }
  }
  return out;
}

std::string expected_yaml(const Alert& a, const MetricLabels& series) {
  MetricLabels labels = a.labels;
  for (const auto& label : series) {
    if (!value_of(labels, label.first)) labels.push_back(label);
  }
  labels.emplace_back("severity", a.severity);
  std::ranges::sort(labels);
  std::string out = "          - exp_labels:\n";
  for (const auto& [name, value] : labels) add_field(out, 14, name, value);
  out += "            exp_annotations:\n";
  add_field(out, 14, "action", a.action);
  add_field(out, 14, "summary", summary_expanded(a, series));
  add_field(out, 14, "threshold", threshold_text(a));
  return out;
}

std::string moment_yaml(const Siblings& siblings, int minute, std::size_t c, bool fired) {
  std::string expected;
  for (const Alert* a : siblings) {
    if (!fired) break;
    for (const MetricLabels& labels : a->cases[c].expected) expected += expected_yaml(*a, labels);
  }
  return fmt::format("      - eval_time: {}m\n        alertname: {}\n        exp_alerts:{}", minute,
                     siblings.front()->name, expected.empty() ? " []\n" : "\n" + expected);
}

std::string case_yaml(const Siblings& siblings, std::size_t c) {
  const Alert& first = *siblings.front();
  const int fires_at = first.onset_minutes + first.for_minutes;
  const bool quiet = first.cases[c].expected.empty();
  std::string out = fmt::format("  - name: {} {}\n    interval: 1m\n", first.name,
                                quiet ? "does not fire" : "fires");
  out += series_yaml(siblings, c) + "    alert_rule_test:\n";
  if (fires_at > 0 && !quiet) out += moment_yaml(siblings, fires_at - 1, c, false);
  return out + moment_yaml(siblings, fires_at, c, true);
}

}  // namespace

std::string group_name(std::string_view group) { return fmt::format("orrery-{}", group); }

std::string template_escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool opens = text[i] == '{' && (i + 1 == text.size() || text[i + 1] == '{');
    if (opens) {
      out += "{{ \"{\" }}";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string recording_yaml(const std::vector<RecordingRule>& rules) {
  std::string out = fmt::format("groups:\n  - name: {}\n", group_name(kRecordingGroup));
  if (rules.empty()) return out + "    rules: []\n";
  out += "    rules:\n";
  for (const RecordingRule& r : rules) {
    if (!r.why.empty()) out += fmt::format("      # {}\n", r.why);
    out += fmt::format("      - record: {}\n", r.record);
    add_field(out, 8, "expr", r.expr);
  }
  return out;
}

std::string alerts_yaml(std::string_view group, const std::vector<Alert>& alerts) {
  std::string out = fmt::format("groups:\n  - name: {}\n    rules:\n", group_name(group));
  for (const Alert& a : alerts) out += alert_yaml(a);
  return out;
}

std::string alert_tests_yaml(const std::vector<std::string>& rule_files,
                             const std::vector<Alert>& alerts) {
  std::string out = "rule_files:\n";
  for (const std::string& file : rule_files) out += fmt::format("  - {}\n", file);
  std::set<std::string> groups;
  for (const Alert& a : alerts) groups.insert(a.group);
  out += fmt::format("evaluation_interval: 1m\ngroup_eval_order:\n  - {}\n",
                     group_name(kRecordingGroup));
  for (const std::string& g : groups) out += fmt::format("  - {}\n", group_name(g));
  out += "tests:\n";
  std::set<std::string> done;
  for (const Alert& alert : alerts) {
    if (!done.insert(alert.name).second) continue;
    Siblings siblings;
    for (const Alert& a : alerts) {
      if (a.name == alert.name) siblings.push_back(&a);
    }
    for (std::size_t c = 0; c < alert.cases.size(); ++c) out += case_yaml(siblings, c);
  }
  return out;
}

}  // namespace orrery::emit
