#include "report/view_compare.h"

#include <algorithm>

#include "base/json_writer.h"
#include "plan/diff.h"
#include "plan/review.h"
#include "report/diff_report.h"
#include "report/figure_json.h"
#include "report/view_cost.h"

namespace orrery {
namespace {

struct Side {
  const NamedDesign* named = nullptr;
  Review stages;
  Verdict verdict;
};

// A row of the table: one figure of one section, wherever a design has it.
struct FigureRow {
  Layer layer = Layer::compute;
  std::string section;
  std::string id;
  std::string label;
  Unit unit = Unit::count;
};

// In the order of the first design that has each; later designs add theirs to the end of a layer.
std::vector<FigureRow> rows_of(const std::vector<Side>& sides) {
  std::vector<FigureRow> rows;
  for (const Side& side : sides) {
    for (const Section& s : side.verdict.sections) {
      for (const Figure& f : s.figures) {
        const bool there = std::ranges::any_of(rows, [&](const FigureRow& r) {
          return r.layer == s.layer && r.section == s.name && r.id == f.id;
        });
        if (!there) rows.push_back({s.layer, s.name, f.id, f.label, f.unit});
      }
    }
  }
  std::ranges::stable_sort(rows, {}, &FigureRow::layer);
  return rows;
}

// Of exactly this section: Verdict::figure takes an empty name for any.
const Figure* figure_in(const Verdict& v, const FigureRow& row) {
  for (const Section& s : v.sections) {
    if (s.layer != row.layer || s.name != row.section) continue;
    const auto found = std::ranges::find(s.figures, row.id, &Figure::id);
    if (found != s.figures.end()) return &*found;
  }
  return nullptr;
}

void write_figures(JsonWriter& w, const std::vector<Side>& sides) {
  w.key("figures").begin_array();
  for (const FigureRow& row : rows_of(sides)) {
    w.begin_object().field("layer", to_text(row.layer)).field("section", row.section);
    w.field("key", row.id + std::string(json_suffix(row.unit))).field("label", row.label);
    w.field("unit", unit_name(row.unit)).key("values").begin_array();
    for (const Side& side : sides) {
      const Figure* f = figure_in(side.verdict, row);
      if (f == nullptr) {
        w.null();
        continue;
      }
      w.begin_object().field("value", f->estimate.value).field("low", f->estimate.low);
      w.field("high", f->estimate.high).field("shown", show(f->estimate.value, f->unit));
      w.end_object();
    }
    w.end_array().end_object();
  }
  w.end_array();
}

void write_side(JsonWriter& w, const Side& side) {
  const Verdict& v = side.verdict;
  const CostView& cost = side.stages.cost;
  w.begin_object().field("name", side.named->name).field("design", v.design);
  w.field("digest", v.digest).field("passes", v.passes()).field("summary", v.summary);
  w.field("errors", std::ranges::count(v.findings, Severity::error, &Finding::severity));
  w.field("warnings", std::ranges::count(v.findings, Severity::warning, &Finding::severity));
  w.field("cost_usd_per_year", cost.annual.base()).field("goodput_ratio", cost.goodput);
  w.field("unit_cost_usd_per_hour", cost.per_useful_hour.base() * 3600);
  w.key("cost");
  write_cost_tree(w, cost_tree(cost));
  w.key("tornado");
  write_tornado(w, cost);
  w.end_object();
}

}  // namespace

Result<std::string> comparison_view_json(const std::vector<NamedDesign>& designs,
                                         const Models& models) {
  if (designs.size() < 2 || designs.size() > kMostCompared) {
    return fail({.code = "compare.count", .what = "a comparison is of 2 to 8 designs"});
  }
  std::vector<Side> sides;
  for (const NamedDesign& d : designs) {
    Review stages = run_stages(d.design, models);
    Verdict verdict = verdict_of(stages, {.spends = false});
    sides.push_back({&d, std::move(stages), std::move(verdict)});
  }
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "comparison");
  w.key("designs").begin_array();
  for (const Side& side : sides) write_side(w, side);
  w.end_array();
  write_figures(w, sides);
  w.key("differences").begin_array();
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const DesignDiff d =
        compare({sides[0].stages, sides[0].verdict}, {sides[i].stages, sides[i].verdict}, models);
    w.begin_object().field("after_index", i).field("verdict", d.verdict);
    write_difference(w, d);
    w.end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery
