#include "output/emit/grafana.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/catalog/embedded_table.h"
#include "output/emit/alerts.h"
#include "output/emit/alerts_table.h"
#include "output/emit/grafana_json.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr const char* kPanelTable = "emit/prometheus/panels.csv";
constexpr const char* kProvisioning =
    "apiVersion: 1\n"
    "providers:\n"
    "  - name: orrery\n"
    "    type: file\n"
    "    options:\n"
    "      path: /var/lib/grafana/dashboards\n";

std::string label_of(const PlannedValue& v, std::string_view name) {
  for (const auto& [key, value] : v.labels) {
    if (key == name) return value;
  }
  return {};
}

// Returns a line named "plan", with what distinguishes this value from others in the panel.
PlanLine line_of(const PlannedValue& v, std::string_view per) {
  std::string name = "plan";
  for (const auto& [key, value] : v.labels) {
    if (key != per) name += " " + value;
  }
  return {name, v.estimate};
}

class Builder {
 public:
  Builder(const CsvTable& table, const std::vector<PlannedValue>& plan)
      : table_(table), plan_(plan) {}

  // Adds one panel, or one per subject (workload, tier, fleet) that has a planned value.
  void add(const CsvRow& row, std::vector<Panel>& panels) const {
    const std::string per(table_.text(row, "per"));
    if (per.empty()) return add_one(row, "", "", panels);
    std::vector<std::string> done;
    for (const PlannedValue& v : plan_) {
      const std::string subject = label_of(v, per);
      if (subject.empty() || std::ranges::find(done, subject) != done.end()) continue;
      done.push_back(subject);
      add_one(row, per, subject, panels);
    }
  }

 private:
  std::vector<PlanLine> lines(std::string_view metric, const std::string& per,
                              const std::string& subject) const {
    if (const auto constant = parse_number(metric)) {
      return {{"plan", exact(*constant, Basis::derived, "as planned")}};
    }
    std::vector<PlanLine> lines;
    for (const PlannedValue& v : planned_of(plan_, metric)) {
      if (per.empty() || label_of(v, per) == subject) lines.push_back(line_of(v, per));
    }
    return lines;
  }

  // Returns the words of a panel. {workload} is the subject; {plan.METRIC} is its planned value.
  Words words(const std::string& per, const std::string& subject, bool escaped) const {
    Words words;
    if (!per.empty()) words.emplace(per, escaped ? promql_escaped(subject) : subject);
    for (const PlannedValue& v : plan_) {
      if (label_of(v, per) == subject) {
        words.emplace("plan." + v.metric, promql_number(v.estimate.value));
      }
    }
    return words;
  }

  void add_one(const CsvRow& row, const std::string& per, const std::string& subject,
               std::vector<Panel>& panels) const {
    Panel panel{.row = std::string(table_.text(row, "row")),
                .title = filled(table_.text(row, "title"), words(per, subject, false)),
                .type = std::string(table_.text(row, "type")),
                .unit = std::string(table_.text(row, "unit")),
                .help = std::string(table_.text(row, "help")),
                .measured = {},
                .plan = lines(table_.text(row, "plan"), per, subject)};
    const Words known = words(per, subject, true);
    const auto exprs = separated(table_.text(row, "expr"), ";;");
    const auto legends = separated(table_.text(row, "legend"), ";;");
    for (std::size_t i = 0; i < exprs.size() && i < legends.size(); ++i) {
      const std::string expr = filled(exprs[i], known);
      // If the subject has no planned value (a run without checkpoints), its query is omitted too.
      if (expr.find("{plan.") != std::string::npos) continue;
      panel.measured.push_back({expr, std::string(legends[i])});
    }
    if (!panel.plan.empty() && !panel.measured.empty()) panels.push_back(std::move(panel));
  }

  const CsvTable& table_;
  const std::vector<PlannedValue>& plan_;
};

}  // namespace

Result<std::vector<Panel>> panels_of(const review::Review& review,
                                     const std::vector<PlannedValue>& plan) {
  const auto table = catalog::embedded_table(kPanelTable);
  if (!table) return std::unexpected(table.error());
  const Traits traits = traits_of(review, plan);
  const Builder builder(*table, plan);
  std::vector<Panel> panels;
  for (const CsvRow& row : table->rows()) {
    if (meets(table->text(row, "needs"), traits)) builder.add(row, panels);
  }
  return panels;
}

Result<std::vector<std::string>> dashboard_expressions(const review::Review& review,
                                                       const std::vector<PlannedValue>& plan) {
  const auto panels = panels_of(review, plan);
  if (!panels) return std::unexpected(panels.error());
  std::vector<std::string> all;
  for (const Panel& p : *panels) {
    for (const PanelQuery& q : p.measured) all.push_back(q.expr);
  }
  return all;
}

Result<EmittedFiles> emit_grafana(const review::Review& review, const EmitSource& source) {
  const std::vector<PlannedValue> plan = planned_values(review);
  const auto panels = panels_of(review, plan);
  if (!panels) return std::unexpected(panels.error());
  const std::string head = stamp(source, "#");
  return EmittedFiles{{.path = "dashboards/orrery.json", .text = dashboard_json(*panels, source)},
                      {.path = "provisioning/dashboards/orrery.yml", .text = head + kProvisioning}};
}

}  // namespace orrery::emit
