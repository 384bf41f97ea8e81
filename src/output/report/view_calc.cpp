#include "output/report/view_calc.h"

#include <algorithm>
#include <cmath>

#include "core/base/json_writer.h"
#include "core/base/math.h"
#include "core/base/text.h"
#include "output/report/calculation_report.h"
#include "output/report/figure_json.h"

namespace orrery::report {
namespace {

void write_parameter(JsonWriter& w, const calc::CalcParameter& p) {
  w.begin_object().field("name", p.name).field("label", p.label).field("kind", to_text(p.kind));
  w.field("unit", p.unit).key("default");
  p.optional() ? w.null() : w.value(p.preset);
  w.field("optional", p.optional());
  const bool slides = p.high > p.low;
  w.key("min");
  slides ? w.value(p.low) : w.null();
  w.key("max");
  slides ? w.value(p.high) : w.null();
  if (slides) w.field("scale", p.log ? "log" : "linear");
  if (!p.choices.empty()) {
    w.key("choices").begin_array();
    for (const std::string_view c : p.choices) w.value(c);
    w.end_array();
  }
  if (!p.table.empty()) w.field("table", p.table);
  w.end_object();
}

Diagnostic bad_sweep(std::string what, std::string fix) {
  return {.code = "calc.sweep", .what = std::move(what), .fix = std::move(fix)};
}

std::optional<Diagnostic> fault_of(const CalcSweep& s, const calc::CalcParameter* p) {
  if (p == nullptr || !p->can_sweep()) {
    return bad_sweep("'" + s.parameter + "' is not a parameter with a range",
                     "GET /api/v1/calc lists numbers, counts and quantities");
  }
  if (s.points < 2 || s.points > kMostSweepPoints) {
    return bad_sweep("a sweep has 2 to 200 points", "");
  }
  const bool ordered = std::isfinite(s.from) && std::isfinite(s.to) && s.from < s.to;
  if (!ordered || s.from < 0 || (s.log && s.from <= 0)) {
    return bad_sweep("a sweep goes from a lower to a higher value",
                     s.log ? "a logarithmic sweep begins above zero" : "");
  }
  return std::nullopt;
}

std::vector<double> points_of(const CalcSweep& s, const calc::CalcParameter& p) {
  std::vector<double> x;
  for (int i = 0; i < s.points; ++i) {
    const double t = static_cast<double>(i) / (s.points - 1);
    double v = s.log ? s.from * math::pow(s.to / s.from, t) : s.from + (s.to - s.from) * t;
    // The ends are exactly as given, in spite of rounding.
    if (i == s.points - 1) v = s.to;
    if (p.kind == calc::ParameterKind::integer) v = std::round(v);
    if (x.empty() || v > x.back()) x.push_back(v);
  }
  return x;
}

std::string text_at(const calc::CalcParameter& p, double x) {
  return p.unit.empty() ? shortest(x) : shortest(x) + ' ' + std::string(p.unit);
}

const figures::Number* same_figure(const Result<calc::Calculation>& c,
                                   const figures::Number& like) {
  if (!c) return nullptr;
  const auto found = std::ranges::find(c->figures, like.id, &figures::Number::id);
  return found == c->figures.end() ? nullptr : &*found;
}

void write_series(JsonWriter& w, const figures::Number& like,
                  const std::vector<Result<calc::Calculation>>& all) {
  w.begin_object().field("key", like.id + std::string(json_suffix(like.unit)));
  w.field("label", like.label).field("unit", unit_name(like.unit));
  const auto write = [&](std::string_view key, double Estimate::* which) {
    w.key(key).begin_array();
    for (const Result<calc::Calculation>& c : all) {
      const figures::Number* f = same_figure(c, like);
      f ? w.value(f->estimate.*which) : w.null();
    }
    w.end_array();
  };
  write("value", &Estimate::value);
  write("low", &Estimate::low);
  write("high", &Estimate::high);
  w.end_object();
}

}  // namespace

std::string calculators_json() {
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "calculators");
  w.key("calculators").begin_array();
  for (const calc::Calculator& c : calc::calculators()) {
    w.begin_object().field("name", c.name).field("summary", c.summary).field("example", c.example);
    w.key("parameters").begin_array();
    for (const calc::CalcParameter& p : c.parameters) write_parameter(w, p);
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

Result<std::string> calculation_view_json(std::string_view name, const calc::CalcTexts& given,
                                          const std::optional<CalcSweep>& sweep,
                                          const machine::Models& models) {
  const calc::Calculator* calculator = calc::find_calculator(name);
  if (calculator == nullptr) {
    return fail({.code = "calc.unknown",
                 .what = "there is no calculator '" + std::string(name.substr(0, 80)) + "'",
                 .fix = "GET /api/v1/calc lists them"});
  }
  const calc::CalcParameter* swept =
      sweep ? find_parameter(*calculator, sweep->parameter) : nullptr;
  if (sweep) {
    if (auto fault = fault_of(*sweep, swept)) return fail(*std::move(fault));
  }
  const Result<calc::Calculation> answer = calculate(*calculator, given, models);
  if (!answer) return std::unexpected(answer.error());
  JsonWriter w(0);
  w.begin_object();
  write_calculation(w, *answer);
  if (sweep) {
    const std::vector<double> x = points_of(*sweep, *swept);
    std::vector<Result<calc::Calculation>> all;
    calc::CalcTexts texts = given;
    for (const double v : x) {
      texts[sweep->parameter] = text_at(*swept, v);
      all.push_back(calculate(*calculator, texts, models));
    }
    w.key("sweep").begin_object().field("parameter", swept->name).field("label", swept->label);
    w.field("unit", swept->unit).key("x").begin_array();
    for (const double v : x) w.value(v);
    w.end_array().key("series").begin_array();
    for (const figures::Number& f : answer->figures) write_series(w, f, all);
    w.end_array().end_object();
  }
  w.end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
