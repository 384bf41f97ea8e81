#include "output/report/diff_report.h"

#include <fmt/core.h>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "output/report/figure_json.h"

namespace orrery::report {
namespace {

std::string with_sign(double value, const std::string& shown) {
  return (value > 0 ? "+" : "") + shown;
}

Table effects_table(const compare::DesignDiff& d) {
  Table t{.header = {"changed", "cost per year", "goodput, points", "USD per useful GPU-hour"},
          .flush_right = {false, true, true, true}};
  for (const compare::SectionEffect& e : d.effects) {
    t.rows.push_back({e.section,
                      with_sign(e.cost_usd_per_year, show(e.cost_usd_per_year, figures::Unit::usd)),
                      with_sign(e.goodput, significant(100 * e.goodput, 3)),
                      with_sign(e.unit_cost_usd, significant(e.unit_cost_usd, 3))});
  }
  return t;
}

Table figures_table(const compare::DesignDiff& d) {
  Table t{.header = {"layer", "of", "figure", "before", "after", "change"},
          .flush_right = {false, false, false, true, true, true}};
  for (const compare::FigureChange& f : d.figures) {
    t.rows.push_back(
        {to_text(f.layer), f.section, f.label, show(f.before, f.unit), show(f.after, f.unit),
         f.before != 0 ? with_sign(f.relative(), show(f.relative(), figures::Unit::ratio))
                       : "new"});
  }
  return t;
}

void add_findings(Document& doc, const std::string& title,
                  const std::vector<rules::Finding>& findings) {
  if (findings.empty()) return;
  doc.heading(2, title);
  std::vector<std::string> items;
  for (const rules::Finding& f : findings) items.push_back(fmt::format("{}: {}", f.rule, f.what));
  doc.bullets(std::move(items));
}

void write_findings(JsonWriter& w, std::string_view key,
                    const std::vector<rules::Finding>& findings) {
  w.key(key).begin_array();
  for (const rules::Finding& f : findings) {
    w.begin_object().field("rule", f.rule).field("what", f.what).end_object();
  }
  w.end_array();
}

}  // namespace

Document document_of(const compare::DesignDiff& d) {
  Document doc;
  doc.heading(1, fmt::format("{} compared with {}", d.after_name, d.before_name),
              d.passes_after ? Tone::good : Tone::bad);
  doc.paragraph(d.verdict);
  if (!d.effects.empty()) {
    doc.heading(2, "What caused it");
    doc.table(effects_table(d));
  }
  add_findings(doc, "Rules newly broken", d.broken);
  add_findings(doc, "Rules no longer broken", d.fixed);
  if (!d.figures.empty()) {
    doc.fold(fmt::format("Figures that changed ({})", d.figures.size()));
    doc.table(figures_table(d));
    doc.end_fold();
  }
  if (!d.lines.empty()) {
    doc.fold("Changes in the designs");
    std::string text;
    for (const std::string& l : d.lines) text += (text.empty() ? "" : "\n") + l;
    doc.verbatim(std::move(text));
    doc.end_fold();
  }
  doc.paragraph(fmt::format("design digests {} and {}", d.before_digest, d.after_digest));
  return doc;
}

void write_difference(JsonWriter& w, const compare::DesignDiff& d) {
  w.field("passed_before", d.passed_before).field("passes_after", d.passes_after);
  w.key("effects").begin_array();
  for (const compare::SectionEffect& e : d.effects) {
    w.begin_object().field("section", e.section).field("cost_usd_per_year", e.cost_usd_per_year);
    w.field("goodput_ratio", e.goodput);
    w.field("unit_cost_usd_per_hour", e.unit_cost_usd).end_object();
  }
  w.end_array().key("figures").begin_array();
  for (const compare::FigureChange& f : d.figures) {
    w.begin_object().field("layer", to_text(f.layer)).field("section", f.section);
    w.field("label", f.label).field("unit", unit_name(f.unit)).field("before", f.before);
    w.field("after", f.after).end_object();
  }
  w.end_array();
  write_findings(w, "broken", d.broken);
  write_findings(w, "fixed", d.fixed);
  w.key("lines").begin_array();
  for (const std::string& l : d.lines) w.value(l);
  w.end_array();
}

std::string json_of(const compare::DesignDiff& d) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "diff").field("verdict", d.verdict);
  w.field("before", d.before_name).field("before_digest", d.before_digest);
  w.field("after", d.after_name).field("after_digest", d.after_digest);
  write_difference(w, d);
  w.end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
