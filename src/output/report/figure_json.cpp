#include "output/report/figure_json.h"

namespace orrery::report {

std::string_view unit_name(figures::Unit unit) {
  const std::string_view suffix = json_suffix(unit);
  return suffix.empty() ? "count" : suffix.substr(1);
}

void write_figure(JsonWriter& w, const figures::Number& f) {
  w.key(f.id + std::string(json_suffix(f.unit))).begin_object();
  w.field("label", f.label).field("unit", unit_name(f.unit));
  w.field("value", f.estimate.value).field("low", f.estimate.low).field("high", f.estimate.high);
  w.field("basis", to_text(f.estimate.basis)).field("reference", f.estimate.reference);
  w.field("shown", show(f.estimate.value, f.unit));
  if (!f.formula.empty()) w.field("formula", f.formula);
  if (!f.inputs.empty()) {
    w.key("inputs").begin_array();
    for (const figures::Input& i : f.inputs) {
      w.begin_object().field("name", i.name).field("value", i.value);
      w.field("reference", i.reference).end_object();
    }
    w.end_array();
  }
  w.end_object();
}

void write_figure(JsonWriter& w, const figures::Figure& f) { write_figure(w, number_of(f)); }

// Schema 1 gave the draw at nameplate the id that now means the highest draw of a run.
void write_console_figure(JsonWriter& w, const figures::Figure& f) {
  figures::Number n = number_of(f);
  if (f.kind == figures::FigureId::draw_nameplate) n.id = id_text(figures::FigureId::draw_peak);
  write_figure(w, n);
}

void write_figure_list(JsonWriter& w, const std::vector<figures::Section>& sections) {
  w.key("figures").begin_array();
  for (const figures::Section& s : sections) {
    for (const figures::Figure& f : s.figures) {
      w.begin_object().field("layer", to_text(s.layer)).field("section", s.name);
      w.field("id", f.id()).field("label", f.label());
      w.field("value", f.estimate.value).field("low", f.estimate.low);
      w.field("high", f.estimate.high).field("unit", unit_name(f.unit())).end_object();
    }
  }
  w.end_array();
}

std::string_view outcome_word(const figures::GoalOutcome& g) {
  return !g.known ? "not known" : g.met ? "met" : "missed";
}

void write_goal_numbers(JsonWriter& w, const figures::GoalOutcome& g) {
  const auto shown = [&](std::string_view key, double value) {
    g.known ? w.field(key, value) : w.key(key).null();
  };
  shown("bound", g.bound);
  shown("value", g.actual.value);
  shown("low", g.actual.low);
  shown("high", g.actual.high);
  w.field("unit", unit_name(g.unit));
}

}  // namespace orrery::report
