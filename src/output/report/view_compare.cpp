#include "output/report/view_compare.h"

#include <algorithm>

#include "core/base/json_writer.h"
#include "output/report/diff_report.h"
#include "output/report/figure_json.h"
#include "output/report/view_cost.h"

namespace orrery::report {
namespace {

void write_summary(JsonWriter& w, const Comparison& c) {
  w.key("summary").begin_array();
  for (const SummaryRow& row : c.summary()) {
    w.begin_object().field("label", row.label).key("shown").begin_array();
    for (const std::string& text : row.shown) w.value(text);
    w.end_array().end_object();
  }
  w.end_array();
}

void write_figure_row(JsonWriter& w, const ComparedFigure& row) {
  w.begin_object().field("layer", to_text(row.layer)).field("section", row.section);
  w.field("key", row.id + std::string(json_suffix(row.unit))).field("label", row.label);
  w.field("unit", unit_name(row.unit)).field("differs", row.differs());
  w.key("values").begin_array();
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    const std::optional<Estimate>& v = row.values[i];
    if (!v) {
      w.null();
      continue;
    }
    w.begin_object().field("value", v->value).field("low", v->low).field("high", v->high);
    w.field("shown", show(v->value, row.unit)).field("change", row.change(i)).end_object();
  }
  w.end_array().end_object();
}

void write_design(JsonWriter& w, const ComparedDesign& d, const ComparedDesign& first) {
  const verdict::Verdict& v = d.verdict;
  const review::CostView& cost = d.stages.cost;
  w.begin_object().field("name", d.name).field("design", v.design);
  w.field("digest", v.digest).field("passes", v.passes()).field("summary", v.summary);
  w.field("same_workloads", does_same_work(first.stages.design(), d.stages.design()));
  w.field("errors", std::ranges::count(v.findings, Severity::error, &rules::Finding::severity));
  w.field("warnings", std::ranges::count(v.findings, Severity::warning, &rules::Finding::severity));
  w.field("cost_usd_per_year", cost.annual.base()).field("goodput_ratio", cost.goodput);
  w.field("unit_cost_usd_per_hour", cost.per_useful_hour.base() * 3600);
  w.key("cost");
  const CostNode year = cost_tree(cost);
  write_cost_tree(w, year, year.per_year);
  w.key("tornado");
  write_tornado(w, cost);
  w.end_object();
}

}  // namespace

std::string comparison_view_json(const Comparison& c) {
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "comparison");
  write_summary(w, c);
  w.key("designs").begin_array();
  for (const ComparedDesign& d : c.designs) write_design(w, d, c.designs.front());
  w.end_array().key("figures").begin_array();
  for (const ComparedFigure& row : c.figures) write_figure_row(w, row);
  w.end_array().key("differences").begin_array();
  for (std::size_t i = 0; i < c.differences.size(); ++i) {
    const compare::DesignDiff& d = c.differences[i];
    w.begin_object().field("after_index", i + 1).field("verdict", d.verdict);
    write_difference(w, d);
    w.end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
