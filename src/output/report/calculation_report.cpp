#include "output/report/calculation_report.h"

#include "core/base/json_writer.h"
#include "output/report/figure_json.h"
#include "output/report/readable.h"

namespace orrery::report {

Document document_of(const calc::Calculation& c) {
  Document d;
  d.heading(1, c.question);
  d.paragraph(c.answer);
  Table t{.flush_right = {false, true, false, false}};
  for (const figures::Number& f : c.figures) {
    t.rows.push_back({f.label, readable(f.estimate, f.unit), readable_interval(f.estimate, f.unit),
                      std::string(to_text(f.estimate.basis))});
  }
  d.table(std::move(t));
  d.heading(2, "The arithmetic");
  for (const figures::Number& f : c.figures) {
    if (f.formula.empty()) continue;
    d.verbatim(f.label + " = " + f.formula);
  }
  if (!c.assumptions.empty()) {
    d.heading(2, "Assumptions");
    d.bullets(c.assumptions);
  }
  return d;
}

void write_calculation(JsonWriter& w, const calc::Calculation& c) {
  w.field("schema_version", 1).field("kind", "calculation");
  w.field("question", c.question).field("answer", c.answer).field("command", c.command);
  w.key("figures").begin_object();
  for (const figures::Number& f : c.figures) write_figure(w, f);
  w.end_object().key("assumptions").begin_array();
  for (const std::string& a : c.assumptions) w.value(a);
  w.end_array();
}

std::string json_of(const calc::Calculation& c) {
  JsonWriter w;
  w.begin_object();
  write_calculation(w, c);
  w.end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
