#include "output/report/figure_json.h"

namespace orrery::report {

std::string_view unit_name(machine::Unit unit) {
  const std::string_view suffix = json_suffix(unit);
  return suffix.empty() ? "count" : suffix.substr(1);
}

void write_figure(JsonWriter& w, const machine::Figure& f) {
  w.key(f.id + std::string(json_suffix(f.unit))).begin_object();
  w.field("label", f.label).field("unit", unit_name(f.unit));
  w.field("value", f.estimate.value).field("low", f.estimate.low).field("high", f.estimate.high);
  w.field("basis", to_text(f.estimate.basis)).field("reference", f.estimate.reference);
  w.field("shown", show(f.estimate.value, f.unit));
  if (!f.formula.empty()) w.field("formula", f.formula);
  if (!f.inputs.empty()) {
    w.key("inputs").begin_array();
    for (const machine::Input& i : f.inputs) {
      w.begin_object().field("name", i.name).field("value", i.value);
      w.field("reference", i.reference).end_object();
    }
    w.end_array();
  }
  w.end_object();
}

}  // namespace orrery::report
