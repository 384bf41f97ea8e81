#include "output/report/reference_report.h"

#include <fmt/core.h>

#include "core/base/json_writer.h"
#include "model/figures/goals.h"
#include "output/report/figure_json.h"

namespace orrery::report {
namespace {

using figures::FigureKind;

std::string quoted(std::string_view word) { return fmt::format("`{}`", word); }

std::string said_text(figures::Said said) {
  return said == figures::Said::both ? "review and run" : std::string(word_of(said));
}

void add_kinds(Document& d, figures::Layer layer) {
  d.heading(2, to_text(layer));
  Table t{.header = {"figure", "label", "unit", "better", "given by", "meaning"},
          .rows = {},
          .flush_right = {}};
  for (const FigureKind& k : figures::kFigureKinds) {
    if (k.layer != layer) continue;
    t.rows.push_back({quoted(k.word) + (k.is_of_something() ? "..." : ""), std::string(k.label),
                      std::string(unit_name(k.unit)), std::string(word_of(k.better)),
                      said_text(k.said), std::string(k.definition)});
  }
  d.table(std::move(t));
}

std::string pick_text(figures::Pick pick) {
  switch (pick) {
    case figures::Pick::first:
      return "the first";
    case figures::Pick::largest:
      return "the largest";
    case figures::Pick::smallest:
      return "the smallest";
    case figures::Pick::sum:
      return "the sum";
  }
  return "the first";
}

void add_goals(Document& d) {
  d.heading(2, "Words that goals use");
  d.paragraph(
      "Each word of a goal means one figure. A run leaves a goal to the review if only the "
      "review gives its figure.");
  Table t{.header = {"goal", "figure", "if there are several"}, .rows = {}, .flush_right = {}};
  for (const figures::GoalSource& g : figures::goal_sources()) {
    std::string names;
    for (const figures::FigureId id : g.ids) {
      names += (names.empty() ? "" : ", else ") + quoted(kind_of(id).word);
    }
    t.rows.push_back({quoted(g.metric), std::move(names), pick_text(g.pick)});
  }
  d.table(std::move(t));
}

}  // namespace

Document figure_reference() {
  Document d;
  d.heading(1, "Figures");
  d.paragraph(
      "Every figure that a review or a simulated run can give, by layer. A figure that both give "
      "means the same in both. In JSON the key ends with the unit, or the unit is given beside the "
      "id. Three dots are replaced by the subject of the figure, as in `rack_power_dgx`.");
  for (int i = 0; i < figures::kLayerCount; ++i) add_kinds(d, static_cast<figures::Layer>(i));
  add_goals(d);
  return d;
}

Document document_of(const FigureKind& kind) {
  Document d;
  d.heading(2, fmt::format("The figure {}", kind.word));
  d.paragraph(fmt::format("{}: {}", kind.label, kind.definition));
  d.paragraph(fmt::format("Layer {}, unit {}, better: {}, given by {}.", to_text(kind.layer),
                          unit_name(kind.unit), word_of(kind.better), said_text(kind.said)));
  return d;
}

std::string figure_reference_json(std::span<const FigureKind> kinds) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "figure_kinds");
  w.key("figures").begin_array();
  for (const FigureKind& k : kinds) {
    w.begin_object().field("id", k.word).field("layer", to_text(k.layer));
    w.field("unit", unit_name(k.unit)).field("better", word_of(k.better));
    w.field("said", word_of(k.said)).field("label", k.label);
    w.field("of_something", k.is_of_something()).field("definition", k.definition).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

Document document_of(std::span<const figures::Assumption> assumptions) {
  Document d;
  d.heading(1, "Assumptions");
  d.paragraph(
      "Quantities, shares and factors that the model, the review, the run and the emitted files "
      "assume. The source says how each is known: measured, fitted, vendor, published, practice or "
      "assumed. The range is what is plausible; it is empty if it was not examined.");
  Table t{
      .header = {"assumption", "value", "range", "source", "name"}, .rows = {}, .flush_right = {}};
  for (const figures::Assumption& a : assumptions) {
    const std::string range =
        a.low == a.high ? "" : fmt::format("{} .. {}", show(a.low, a.unit), show(a.high, a.unit));
    t.rows.push_back({std::string(a.what), show(a.value, a.unit, 4), range, std::string(a.source),
                      quoted(a.name)});
  }
  d.table(std::move(t));
  return d;
}

Document assumption_reference() {
  Document d = document_of(std::span(figures::kAssumptions));
  d.heading(2, "Half-widths of figures");
  d.paragraph(
      "How far a figure may be off if its inputs bring no interval, as shares of its value; and, "
      "for latencies of a service, how many times the service's own half-width.");
  Table t{.header = {"figure", "below", "above", "source"}, .rows = {}, .flush_right = {}};
  for (const figures::HalfWidth& w : figures::kHalfWidths) {
    t.rows.push_back({quoted(kind_of(w.id).word), show(w.below, figures::Unit::ratio),
                      show(w.above, figures::Unit::ratio), std::string(w.source)});
  }
  for (const figures::Widened& w : figures::kWidened) {
    const std::string times = show(w.times, figures::Unit::factor);
    t.rows.push_back({quoted(kind_of(w.id).word), times, times, std::string(w.source)});
  }
  d.table(std::move(t));
  return d;
}

std::string json_of(std::span<const figures::Assumption> assumptions) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "assumptions");
  w.key("assumptions").begin_array();
  for (const figures::Assumption& a : assumptions) {
    w.begin_object().field("name", a.name).field("what", a.what).field("unit", unit_name(a.unit));
    w.field("value", a.value).field("low", a.low).field("high", a.high);
    w.field("source", a.source).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
