#include "output/emit/prometheus.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "output/emit/alerts.h"
#include "output/emit/alerts_yaml.h"
#include "output/emit/escape.h"
#include "output/emit/grafana.h"
#include "output/emit/hosts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr const char* kRecordingFile = "rules/recording.yml";
constexpr const char* kHeader =
    "# Copy this folder to /etc/prometheus, give dcgm_counters.csv to dcgm-exporter (-f), and run\n"
    "# `orrery exporter` on this machine. Check with: promtool check config prometheus.yml\n"
    "# and: promtool test rules tests/*.yml\n";

constexpr const char* kPodHeader =
    "# Use this instead of prometheus.yml if the exporters are pods: it finds them through the\n"
    "# Kubernetes API. Some distributions build Prometheus without that discovery.\n";

// Hosts of a fleet below the same leaf are one entry, so that every series has the label `leaf`.
std::string targets_yaml(const Hosts& hosts, const HostFleet& fleet, int port) {
  std::map<std::string, std::vector<std::string>> by_leaf;
  for (int n = 1; n <= fleet.hosts(); ++n) {
    const TreeSwitch* leaf = leaf_of(hosts, fleet.index, n);
    by_leaf[leaf ? leaf->name : ""].push_back(
        yaml_string(fmt::format("{}:{}", host_name(fleet, n), port)));
  }
  std::string out;
  for (const auto& [leaf, targets] : by_leaf) {
    out += "- targets:\n";
    for (const std::string& t : targets) out += fmt::format("    - {}\n", t);
    out += fmt::format("  labels:\n    fleet: {}\n", yaml_string(fleet.name()));
    if (!leaf.empty()) out += fmt::format("    leaf: {}\n", yaml_string(leaf));
  }
  return out;
}

std::string file_job(std::string_view name, std::string_view files) {
  return fmt::format(
      "  - job_name: {}\n    file_sd_configs:\n      - files: [\"targets/{}-*.yml\"]\n", name,
      files);
}

// Returns the scrape job for the pods of an exporter in any namespace, under the job name that the
// rules use. Hosts are named after their fleet, as in emit/hosts.h.
std::string pod_job(std::string_view name, std::string_view app) {
  return fmt::format(
      "  - job_name: {}\n    kubernetes_sd_configs:\n      - role: pod\n    relabel_configs:\n"
      "      - source_labels: [__meta_kubernetes_pod_label_app_kubernetes_io_name, "
      "__meta_kubernetes_pod_label_app]\n"
      "        regex: \".*{}.*\"\n        action: keep\n"
      "      - source_labels: [__meta_kubernetes_pod_node_name]\n"
      "        regex: \"(.+)-[0-9]+\"\n        target_label: fleet\n"
      "      - source_labels: [__meta_kubernetes_pod_node_name]\n"
      "        target_label: instance\n",
      name, app);
}

// With `pods` the exporters are found through Kubernetes, else in the target files.
std::string config_yaml(const std::vector<std::string>& rule_files, bool dcgm, bool pods) {
  std::string out = "global:\n  scrape_interval: 15s\n  evaluation_interval: 1m\nrule_files:\n";
  for (const std::string& file : rule_files) out += fmt::format("  - {}\n", file);
  out += "scrape_configs:\n";
  if (dcgm) out += pods ? pod_job("orrery-dcgm", "dcgm-exporter") : file_job("orrery-dcgm", "dcgm");
  out += pods ? pod_job("orrery-node", "node-exporter") : file_job("orrery-node", "node");
  out += fmt::format(
      "  - job_name: orrery-exporter\n    static_configs:\n"
      "      - targets: [\"127.0.0.1:{}\"]\n",
      kOrreryExporterPort);
  return out;
}

// Adds the target files. Returns true if any host has DCGM's counters.
bool add_targets(EmittedFiles& files, const Hosts& hosts, const std::string& head) {
  bool dcgm = false;
  for (const HostFleet& fleet : hosts.fleets) {
    if (fleet.hosts() == 0) continue;
    files.push_back({.path = fmt::format("targets/node-{}.yml", fleet.name()),
                     .text = head + targets_yaml(hosts, fleet, kNodeExporterPort)});
    if (!has_dcgm(*fleet.view)) continue;
    files.push_back({.path = fmt::format("targets/dcgm-{}.yml", fleet.name()),
                     .text = head + targets_yaml(hosts, fleet, kDcgmExporterPort)});
    dcgm = true;
  }
  return dcgm;
}

// Adds the alerts of each group with their tests. Returns the paths of the rule files.
std::vector<std::string> add_rules(EmittedFiles& files, const WatchRules& rules,
                                   const std::string& head) {
  files.push_back({.path = kRecordingFile, .text = head + recording_yaml(rules.recording)});
  std::vector<std::string> paths = {kRecordingFile};
  std::map<std::string, std::vector<Alert>> groups;
  for (const Alert& a : rules.alerts) groups[a.group].push_back(a);
  for (const auto& [group, alerts] : groups) {
    paths.push_back(fmt::format("rules/{}.yml", group));
    files.push_back({.path = paths.back(), .text = head + alerts_yaml(group, alerts)});
    const std::string rule = "../" + paths.back();
    files.push_back(
        {.path = fmt::format("tests/{}_test.yml", group),
         .text = head + alert_tests_yaml({fmt::format("../{}", kRecordingFile), rule}, alerts)});
  }
  return paths;
}

// Returns the DCGM counters that a rule or a panel reads, and no others, because each costs the
// driver time.
std::string counters_csv(const WatchRules& rules, const std::vector<std::string>& panel_exprs,
                         const std::vector<Metric>& metrics) {
  std::set<std::string> used;
  const auto add = [&used](std::string_view expr) {
    for (const std::string& s : selectors_of(expr)) used.emplace(metric_of(s));
  };
  for (const RecordingRule& r : rules.recording) add(r.expr);
  for (const Alert& a : rules.alerts) add(a.pattern);
  for (const std::string& expr : panel_exprs) add(expr);
  std::string out = "# DCGM field, Prometheus type, help\n";
  for (const Metric& m : metrics) {
    if (m.source == "dcgm" && used.contains(m.name)) {
      out += fmt::format("{}, {}, {}\n", m.name, m.type, m.help);
    }
  }
  return out;
}

// Escapes a text of our table for Markdown, which would read <label> as a tag. The runbook has one
// entry per alert: what it means, the first command, what to do.
std::string as_markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

std::string runbook_md(const WatchRules& rules, const EmitSource& source) {
  std::string out =
      "# Runbook\n"
      "\n"
      "For the design with digest " +
      source.digest + ". Replace `<label>` with the label of the alert that fired.\n";
  std::string last;
  for (const Alert& a : rules.alerts) {
    if (a.name == last) continue;  // one entry for all workloads and tiers
    last = a.name;
    out += fmt::format("\n## {} ({})\n\n{}.\n\nFirst: `{}`\n\nThen: {}\n", a.name, a.severity,
                       as_markdown(a.summary), a.command, as_markdown(a.action));
  }
  return out;
}

}  // namespace

Result<EmittedFiles> emit_prometheus(const review::Review& review, const EmitSource& source) {
  const auto hosts = hosts_of(review, HostsOf::all);
  if (!hosts) return std::unexpected(hosts.error());
  const std::vector<PlannedValue> plan = planned_values(review);
  const auto rules = watch_rules(review, plan);
  if (!rules) return std::unexpected(rules.error());
  const auto metrics = known_metrics();
  if (!metrics) return std::unexpected(metrics.error());
  const auto panels = dashboard_expressions(review, plan);
  if (!panels) return std::unexpected(panels.error());

  const std::string head = stamp(source, "#");
  EmittedFiles files;
  const bool dcgm = add_targets(files, *hosts, head);
  const std::vector<std::string> rule_files = add_rules(files, *rules, head);
  files.push_back(
      {.path = "prometheus.yml", .text = head + kHeader + config_yaml(rule_files, dcgm, false)});
  if (review.design().scheduler.kind != design::SchedulerKind::slurm) {
    files.push_back({.path = "prometheus-kubernetes.yml",
                     .text = head + kPodHeader + config_yaml(rule_files, dcgm, true)});
  }
  const std::string counters = counters_csv(*rules, *panels, *metrics);
  if (counters.find("DCGM_") != std::string::npos) {
    files.push_back({.path = "dcgm_counters.csv", .text = head + counters});
  }
  files.push_back({.path = "runbook.md", .text = runbook_md(*rules, source)});
  std::ranges::sort(files, {}, &EmittedFile::path);
  return files;
}

}  // namespace orrery::emit
