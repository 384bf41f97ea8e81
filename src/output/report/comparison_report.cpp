#include "output/report/comparison_report.h"

#include <fmt/core.h>

#include <cmath>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "output/report/figure_json.h"
#include "output/report/tornado_svg.h"
#include "output/report/view_cost.h"

namespace orrery::report {
namespace {

constexpr const char* kNone = "–";

std::vector<bool> all_but_the_first(std::size_t columns) {
  std::vector<bool> right(columns, true);
  right[0] = false;
  return right;
}

// Returns an empty table with a column of names and one column per design.
Table table_of_designs(const Comparison& c, std::string corner) {
  Table t{.header = {std::move(corner)}};
  for (const ComparedDesign& d : c.designs) t.header.push_back(d.name);
  t.flush_right = all_but_the_first(t.header.size());
  return t;
}

Table summary_table(const Comparison& c) {
  Table t = table_of_designs(c, "");
  for (SummaryRow& row : c.summary()) {
    row.shown.insert(row.shown.begin(), row.label);
    t.rows.push_back(std::move(row.shown));
  }
  return t;
}

Table attribution_table(const compare::DesignDiff& d) {
  Table t{.header = {"changed section", "cost", "goodput", "useful hour"},
          .flush_right = all_but_the_first(4)};
  for (const compare::SectionEffect& e : d.effects) {
    t.rows.push_back({e.section, signed_text(e.cost_usd_per_year, figures::Unit::usd_per_year),
                      signed_text(e.goodput, figures::Unit::ratio),
                      signed_text(e.unit_cost_usd, figures::Unit::usd_per_hour)});
  }
  return t;
}

std::string name_of(const ComparedFigure& f) {
  const std::string section = f.section.empty() ? "" : f.section + " · ";
  return fmt::format("{} · {}{}", to_text(f.layer), section, f.label);
}

Table differing_figures(const Comparison& c) {
  Table t = table_of_designs(c, "figure");
  for (const ComparedFigure& f : c.figures) {
    if (!f.differs()) continue;
    std::vector<std::string> row = {name_of(f)};
    for (const auto& v : f.values) row.push_back(v ? show(v->value, f.unit) : kNone);
    t.rows.push_back(std::move(row));
  }
  return t;
}

// Adds the rows of a cost tree depth first, with names indented by their depth.
void add_cost_rows(Table& t, const CostNode& node, int depth) {
  std::string name;
  for (int i = 0; i < depth; ++i) name += "\u2003";  // an em space, which HTML keeps
  name += node.name + (node.assumed ? " *" : "");
  t.rows.push_back(
      {std::move(name), show(node.per_year.base(), figures::Unit::usd_per_year), node.reference});
  for (const CostNode& child : node.children) add_cost_rows(t, child, depth + 1);
}

Table tornado_table(const cost::Tornado& tornado) {
  Table t{.header = {"input", "from", "to", "useful hour", "source"},
          .flush_right = {false, true, true, true, false}};
  for (const cost::SensitivityBar& b : tornado.bars) {
    t.rows.push_back({b.name, significant(b.input_low, 3), significant(b.input_high, 3),
                      fmt::format("{} … {}", show(b.at_low, figures::Unit::usd_per_hour),
                                  show(b.at_high, figures::Unit::usd_per_hour)),
                      b.reference});
  }
  return t;
}

void add_details(Document& doc, const Comparison& c) {
  for (const ComparedDesign& d : c.designs) {
    if (d.stages.cost.tornado.bars.empty()) continue;
    doc.heading(2, "Sensitivity of " + d.name);
    doc.drawing(tornado_svg(d.stages.cost.tornado, figures::Unit::usd_per_hour));
    doc.table(tornado_table(d.stages.cost.tornado));
  }
  for (const ComparedDesign& d : c.designs) {
    doc.heading(2, "Cost of " + d.name);
    Table t{.header = {"part (* assumed)", "per year", "source"},
            .flush_right = {false, true, false}};
    add_cost_rows(t, cost_tree(d.stages.cost), 0);
    doc.table(std::move(t));
  }
}

}  // namespace

std::string signed_text(double difference, figures::Unit unit) {
  const std::string sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  const double size = std::fabs(difference);
  if (unit == figures::Unit::ratio) return sign + significant(size * 100, 3) + " pp";
  return sign + show(size, unit);
}

Document document_of(const Comparison& c, ComparisonView view) {
  Document doc;
  doc.heading(1, "Comparison");
  doc.table(summary_table(c));
  for (std::size_t i = 0; i < c.differences.size(); ++i) {
    const compare::DesignDiff& d = c.differences[i];
    doc.heading(2, fmt::format("{} compared with {}", c.designs[i + 1].name, c.designs[0].name));
    doc.paragraph(d.verdict);
    if (!d.effects.empty()) doc.table(attribution_table(d));
  }
  if (view.whole) add_details(doc, c);
  Table figures = differing_figures(c);
  if (!figures.rows.empty()) {
    doc.heading(2, "Figures that differ");
    doc.table(std::move(figures));
  }
  return doc;
}

std::string csv_of(const Comparison& c) {
  std::string out = "layer,section,figure,unit";
  for (const ComparedDesign& d : c.designs) {
    for (const char* which : {"", " low", " high"}) out += ',' + csv_field(d.name + which);
  }
  out += '\n';
  for (const ComparedFigure& f : c.figures) {
    out += fmt::format("{},{},{}{},{}", to_text(f.layer), csv_field(f.section), f.id,
                       json_suffix(f.unit), unit_name(f.unit));
    for (const auto& v : f.values) {
      out += v ? fmt::format(",{},{},{}", shortest(v->value), shortest(v->low), shortest(v->high))
               : ",,,";
    }
    out += '\n';
  }
  return out;
}

}  // namespace orrery::report
