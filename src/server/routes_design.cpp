// A design in, an answer out. A design that comes over the network gets no reader of files.
#include "base/json_writer.h"
#include "base/text.h"
#include "design/edit.h"
#include "plan/review.h"
#include "report/verdict_report.h"
#include "report/view_calc.h"
#include "server/console.h"
#include "server/json_body.h"
#include "server/problem.h"

namespace orrery {
namespace {

constexpr std::size_t kDesignBytes = 1'000'000;
constexpr std::size_t kNameBytes = 200;
constexpr const char* kFaults = "the design has errors";

Result<design::Design> read(std::string_view text, const ConsoleSetting& setting) {
  return design::read_design(text, setting.catalog, {.file = "design.yaml"});
}

Result<Verdict> reviewed(std::string_view text, const ConsoleSetting& setting) {
  const Result<design::Design> design = read(text, setting);
  if (!design) return std::unexpected(design.error());
  return review(*design, setting.catalog, setting.models);
}

Response json_or_faults(Result<std::string> json, std::string_view title = kFaults) {
  return json ? json_response(std::move(*json)) : refused_body(json.error(), title);
}

Response plan(const Request& request, const ConsoleSetting& setting) {
  if (!is_valid_utf8(request.body)) return problem(400, "the design is not UTF-8 text");
  const Result<Verdict> verdict = reviewed(request.body, setting);
  if (!verdict) return problem(422, kFaults, verdict.error());
  return json_response(json_of(*verdict));
}

Result<std::string> edit(const Request& request, const ConsoleSetting& setting) {
  auto body = JsonBody::parse(request.body);
  if (!body) return std::unexpected(body.error());
  const std::string text = body->text("design", kDesignBytes);
  const design::TextEdit change{.path = body->text("path", 500),
                                .value = body->text("value", 10'000)};
  if (Diagnostics faults = body->faults(); !faults.empty()) return std::unexpected(faults);
  const auto edited = design::edit_text(text, change, setting.catalog);
  if (!edited) return std::unexpected(edited.error());
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "edit").field("text", edited->text);
  w.field("kept_format", !edited->rewritten);
  w.field("note", edited->rewritten ? "the file was written anew in canonical form; its comments "
                                      "and its own order are gone"
                                    : "");
  w.end_object();
  return w.text() + '\n';
}

CalcSweep read_sweep(JsonBody& body) {
  constexpr NumberRange kAny{-1e30, 1e30};
  CalcSweep sweep{.parameter = body.text("parameter", kNameBytes)};
  sweep.from = body.number("from", kAny);
  sweep.to = body.number("to", kAny);
  sweep.points = static_cast<int>(body.integer("points", {2, kMostSweepPoints}));
  sweep.log = body.optional_choice("scale", {"linear", "log"}) == "log";
  return sweep;
}

Response calculate(const Request& request, const std::string& name, const ConsoleSetting& setting) {
  if (find_calculator(name) == nullptr) return problem(404, "there is no calculator of this name");
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  CalcTexts given;
  for (auto& [key, value] : body->plain_values("parameters", 32)) given[key] = value;
  std::optional<CalcSweep> sweep;
  body->object("sweep", [&sweep](JsonBody& inner) { sweep = read_sweep(inner); });
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  return json_or_faults(calculation_view_json(name, given, sweep, setting.catalog, setting.models),
                        "the question has errors");
}

Response in_format(const Verdict& verdict, const std::string& format, bool explain) {
  const auto document = [&] { return document_of(verdict, {.explain = explain}); };
  if (format == "json") return json_response(json_of(verdict));
  if (format == "csv") {
    return {.content_type = "text/csv; charset=utf-8", .body = csv_of(verdict)};
  }
  if (format == "markdown") {
    return {.content_type = "text/markdown; charset=utf-8", .body = to_markdown(document())};
  }
  if (format == "html") {
    return {.content_type = "text/html; charset=utf-8", .body = to_html(document())};
  }
  return {.body = to_text(document())};
}

Response report(const Request& request, const ConsoleSetting& setting) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const std::string text = body->text("design", kDesignBytes);
  const std::string format = body->choice("format", {"html", "markdown", "csv", "json", "text"});
  const bool explain = body->optional_flag("explain").value_or(false);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  const Result<Verdict> verdict = reviewed(text, setting);
  return verdict ? in_format(*verdict, format, explain) : refused_body(verdict.error(), kFaults);
}

}  // namespace

std::vector<Route> design_routes(const Console& console) {
  const ConsoleSetting& setting = console.setting();
  return {
      {"POST", "/api/v1/plan",
       [&setting](const Request& request, const PathValues&) { return plan(request, setting); }},
      {"POST", "/api/v1/edit",
       [&setting](const Request& request, const PathValues&) {
         return json_or_faults(edit(request, setting));
       }},
      {"GET", "/api/v1/calc",
       [](const Request&, const PathValues&) { return json_response(calculators_json()); }},
      {"POST", "/api/v1/calc/{name}",
       [&setting](const Request& request, const PathValues& values) {
         return calculate(request, values[0], setting);
       }},
      {"POST", "/api/v1/report",
       [&setting](const Request& request, const PathValues&) { return report(request, setting); }}};
}

}  // namespace orrery
