#include "live/agent/probe_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/csv.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::agent {
namespace {

constexpr int kSchemaVersion = 1;

}  // namespace

double ProbeFigure::value() const { return quantile(samples, 0.5); }
double ProbeFigure::low() const { return quantile(samples, 0.1); }
double ProbeFigure::high() const { return quantile(samples, 0.9); }

const ProbeFigure* ProbeReport::figure(std::string_view id) const {
  const auto at = std::ranges::find(figures, id, &ProbeFigure::id);
  return at == figures.end() ? nullptr : &*at;
}

void ProbeReport::add(const ProbeFigure& shape, double sample) {
  auto at = std::ranges::find(figures, shape.id, &ProbeFigure::id);
  if (at == figures.end()) at = figures.insert(figures.end(), shape);
  at->samples.push_back(sample);
}

std::string_view suffix_of(ProbeUnit unit) {
  switch (unit) {
    case ProbeUnit::bytes_per_s:
      return "bytes_per_s";
    case ProbeUnit::per_s:
      return "per_s";
    case ProbeUnit::seconds:
      return "s";
    case ProbeUnit::bytes:
      return "bytes";
    case ProbeUnit::factor:
      return "factor";
  }
  return "factor";
}

std::string show_probe(double value, ProbeUnit unit) {
  switch (unit) {
    case ProbeUnit::bytes_per_s:
      return brief(BytesPerSecond(value));
    case ProbeUnit::per_s:
      return significant(value, 3) + " /s";
    case ProbeUnit::seconds:
      return brief(Seconds(value));
    case ProbeUnit::bytes:
      return brief(Bytes(value));
    case ProbeUnit::factor:
      return significant(value, 3) + "x";
  }
  return shortest(value);
}

std::string probe_text(const ProbeReport& report) {
  std::string out = fmt::format("storage probe of {} ({})\n", report.target, report.kind);
  for (const auto& [name, value] : report.conditions) out += fmt::format("  {}: {}\n", name, value);
  if (!report.figures.empty()) {
    out += fmt::format("\n  {:<54} {:>12}   {}\n", "figure", "median", "low .. high");
  }
  for (const ProbeFigure& f : report.figures) {
    out += fmt::format("  {:<54} {:>12}   {} .. {}\n", f.label, show_probe(f.value(), f.unit),
                       show_probe(f.low(), f.unit), show_probe(f.high(), f.unit));
  }
  for (const std::string& notice : report.notices) out += "\n  note: " + notice + '\n';
  if (report.interrupted) out += "\n  interrupted: only the measurements made so far are shown\n";
  return out;
}

std::string probe_json(const ProbeReport& report, const std::function<void(JsonWriter&)>& more) {
  JsonWriter json;
  json.begin_object().field("schema_version", kSchemaVersion).field("kind", "storage-probe");
  json.field("target", report.target).field("target_kind", report.kind);
  json.key("conditions").begin_object();
  for (const auto& [name, value] : report.conditions) json.field(name, value);
  json.end_object().key("figures").begin_array();
  for (const ProbeFigure& f : report.figures) {
    const std::string suffix = '_' + std::string(suffix_of(f.unit));
    json.begin_object().field("id", f.id).field("label", f.label);
    json.field("repeats", f.samples.size());
    json.field("value" + suffix, f.value());
    json.field("low" + suffix, f.low()).field("high" + suffix, f.high()).end_object();
  }
  json.end_array().key("notices").begin_array();
  for (const std::string& notice : report.notices) json.value(notice);
  json.end_array().field("interrupted", report.interrupted);
  if (more) more(json);
  json.end_object();
  return json.text() + '\n';
}

std::string probe_csv(const ProbeReport& report) {
  std::string out = "id,unit,value,low,high,repeats,label\n";
  for (const ProbeFigure& f : report.figures) {
    out += fmt::format("{},{},{},{},{},{},{}\n", f.id, suffix_of(f.unit), shortest(f.value()),
                       shortest(f.low()), shortest(f.high()), f.samples.size(), csv_field(f.label));
  }
  return out;
}

}  // namespace orrery::agent
