// Routes that take a design. The design may name the files that the served design names.
#include <algorithm>
#include <functional>
#include <iterator>

#include "app/server/console.h"
#include "app/server/json_body.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "output/report/comparison_report.h"
#include "output/report/tornado_svg.h"
#include "output/report/verdict_report.h"
#include "output/report/view_calc.h"
#include "output/report/view_compare.h"
#include "output/report/view_cost.h"
#include "output/report/view_fabric.h"
#include "output/report/view_hall.h"
#include "output/report/view_serving.h"
#include "output/report/view_storage.h"
#include "output/report/view_training.h"

namespace orrery::server {
namespace {

constexpr const char* kFaults = "the design has errors";

Result<design::Design> read(std::string_view text, const Console& console,
                            const std::string& name = "design.yaml") {
  return design_text::read_design(text, console.setting().catalog(),
                                  {.file = name, .read_file = console.files().reader()});
}

Result<verdict::Verdict> reviewed(std::string_view text, const Console& console) {
  Result<design::Design> design = read(text, console);
  if (!design) return std::unexpected(design.error());
  return console.reviews().review(std::move(*design));
}

Response json_or_faults(Result<std::string> json, std::string_view title = kFaults) {
  return json ? json_response(std::move(*json)) : refused_body(json.error(), title);
}

Response plan(const Request& request, const Console& console) {
  if (!is_valid_utf8(request.body)) return problem(400, "the design is not UTF-8 text");
  const Result<verdict::Verdict> verdict = reviewed(request.body, console);
  if (!verdict) return problem(422, kFaults, verdict.error());
  return json_response(report::console_json_of(*verdict));
}

Result<std::string> edited(const Request& request, const Console& console) {
  auto body = JsonBody::parse(request.body);
  if (!body) return std::unexpected(body.error());
  const std::string text = body->text("design", kDesignBytes);
  const design_text::Change change{.path = body->text("path", 500),
                                   .value = body->text("value", 10'000)};
  if (Diagnostics faults = body->faults(); !faults.empty()) return std::unexpected(faults);
  const auto after = design_text::edit_text(text, change, console.setting().catalog(),
                                            {.read_file = console.files().reader()});
  if (!after) return std::unexpected(after.error());
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "edit").field("text", after->text);
  w.field("kept_format", !after->rewritten);
  w.field("note", after->rewritten ? "the file was rewritten in canonical form: its comments and "
                                     "the order of its keys are lost"
                                   : "");
  w.end_object();
  return w.text() + '\n';
}

// Prices the edits that the review of a design offers, each applied to the text as the console
// would. The shelf keeps those reviews, so that the next request after a fix is fast.
Response prices(const Request& request, const Console& console) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const std::string text = body->text("design", kDesignBytes);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  Result<design::Design> design = read(text, console);
  if (!design) return refused_body(design.error(), kFaults);
  const auto changed =
      [&](const design_text::Change& change) -> std::shared_ptr<const review::Review> {
    const auto after = edit_text(text, change, console.setting().catalog(),
                                 {.read_file = console.files().reader()});
    if (!after) return nullptr;
    Result<design::Design> other = read(after->text, console);
    return other ? console.reviews().stages(std::move(*other)) : nullptr;
  };
  return json_response(
      report::prices_view_json(*console.reviews().stages(std::move(*design)), changed));
}

// Writes a text to the served file, if that still holds the text that the page was loaded with.
Response save(const Request& request, const Console& console) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const std::string text = body->text("text", kDesignBytes);
  const std::string before = body->text("before", kDesignBytes);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  const auto& setting = console.setting();
  if (!setting.save) return problem(409, "this server has no file to save to: save a copy instead");
  const auto served = setting.served();
  if (!served) return problem(409, "the file can no longer be read", served.error());
  if (served->text != before && served->text != text) {
    return problem(409, "the file was changed by another program; it was not overwritten");
  }
  console.files().will_save(text);
  if (const auto saved = setting.save(text); !saved) {
    return problem(500, "the file cannot be written", saved.error());
  }
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "saved").field("file", served->file);
  w.end_object();
  return json_response(w.text() + '\n');
}

Response edit(const Request& request, const Console& console) {
  return json_or_faults(edited(request, console), "the edit has errors");
}

report::CalcSweep read_sweep(JsonBody& body) {
  constexpr NumberRange kAny{-1e30, 1e30};
  report::CalcSweep sweep{.parameter = body.text("parameter", kNameBytes)};
  sweep.from = body.number("from", kAny);
  sweep.to = body.number("to", kAny);
  sweep.points = static_cast<int>(body.integer("points", {2, report::kMostSweepPoints}));
  sweep.log = body.optional_choice("scale", {"linear", "log"}) == "log";
  return sweep;
}

Response calculate(const Request& request, const std::string& name, const ConsoleSetting& setting) {
  if (calc::find_calculator(name) == nullptr)
    return problem(404, "there is no calculator of this name");
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  calc::CalcTexts given;
  for (auto& [key, value] : body->plain_values("parameters", 32)) given[key] = value;
  std::optional<report::CalcSweep> sweep;
  body->object("sweep", [&sweep](JsonBody& inner) { sweep = read_sweep(inner); });
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  return json_or_faults(calculation_view_json(name, given, sweep, setting.models),
                        "the question has errors");
}

Response in_format(const verdict::Verdict& verdict, const std::string& format, bool explain) {
  const auto document = [&] { return report::document_of(verdict, {.explain = explain}); };
  if (format == "json") return json_response(report::console_json_of(verdict));
  if (format == "csv") {
    return {.content_type = "text/csv; charset=utf-8", .body = report::csv_of(verdict)};
  }
  if (format == "markdown") {
    return {.content_type = "text/markdown; charset=utf-8", .body = to_markdown(document())};
  }
  if (format == "html") {
    return {.content_type = "text/html; charset=utf-8", .body = to_html(document())};
  }
  return {.body = to_text(document())};
}

Response report(const Request& request, const Console& console) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const std::string text = body->text("design", kDesignBytes);
  const std::string format = body->choice("format", {"html", "markdown", "csv", "json", "text"});
  const bool explain = body->optional_flag("explain").value_or(false);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  const Result<verdict::Verdict> verdict = reviewed(text, console);
  return verdict ? in_format(*verdict, format, explain) : refused_body(verdict.error(), kFaults);
}

// Answers one question about a design.
using DesignView = std::function<Result<std::string>(design::Design design)>;
// Reads the remaining fields of the body and returns the question.
using ReadView = std::function<DesignView(JsonBody& body)>;

Response view(const Request& request, const Console& console, const ReadView& read_view) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const std::string text = body->text("design", kDesignBytes);
  const DesignView ask = read_view(*body);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  Result<design::Design> design = read(text, console);
  if (!design) return refused_body(design.error(), kFaults);
  return json_or_faults(ask(std::move(*design)), "the question has errors");
}

report::FabricViewQuestion read_fabric(JsonBody& body) {
  report::FabricViewQuestion q;
  q.network = body.optional_choice("network", {"compute", "storage", "management"}).value_or("");
  const auto kinds = word_list<workload::Collective>();
  const auto kind = body.optional_choice("collective", {kinds.begin(), kinds.end()});
  if (kind) q.collective.kind = from_word<workload::Collective>(*kind).value_or(q.collective.kind);
  if (const auto bytes = body.optional_number("bytes", {1, 1e13})) {
    q.collective.bytes = Bytes(*bytes);
  }
  q.failed = body.texts("failed", report::kMostFailed, kNameBytes);
  const std::string detail =
      body.optional_choice("detail", {"auto", "full", "aggregated"}).value_or("auto");
  q.detail = detail == "full"         ? report::FabricDetail::full
             : detail == "aggregated" ? report::FabricDetail::aggregated
                                      : report::FabricDetail::automatic;
  return q;
}

Response fabric(const Request& request, const Console& console) {
  return view(request, console, [&console](JsonBody& body) -> DesignView {
    return [&console, question = read_fabric(body)](design::Design design) {
      return fabric_view_json(jobs::build_machine(std::move(design), console.setting().models),
                              question);
    };
  });
}

Response hall(const Request& request, const Console& console) {
  return view(request, console, [&console](JsonBody&) -> DesignView {
    return [&console](design::Design design) {
      return report::hall_view_json(*console.reviews().stages(std::move(design)));
    };
  });
}

// Answers about one workload of a design, by one of the views that take its name.
Response of_workload(const Request& request, const Console& console,
                     decltype(&report::training_view_json) answer) {
  return view(request, console, [&console, answer](JsonBody& body) -> DesignView {
    const std::string workload = body.optional_text("workload", kNameBytes).value_or("");
    return [&console, answer, workload](design::Design design) {
      return answer(*console.reviews().stages(std::move(design)), workload);
    };
  });
}

// Answers with simulated requests. The simulation ends if the client leaves or if it takes too much
// CPU time.
Response serving(const Request& request, const Console& console) {
  return view(request, console, [&](JsonBody& body) -> DesignView {
    const std::string workload = body.optional_text("workload", kNameBytes).value_or("");
    return [&console, workload, stop = stop_of(request)](design::Design design) {
      return report::serving_view_json(*console.reviews().stages(std::move(design)), workload,
                                       stop);
    };
  });
}

struct SentDesign {
  std::string name;
  std::string text;
};

struct SentDesigns {
  std::vector<SentDesign> designs;
  bool same_workloads = false;  // use the workloads of the first design in all of them, if they can
                                // run there
};

SentDesigns sent_designs(JsonBody& body) {
  SentDesigns sent;
  body.objects("designs", 2, report::kMostCompared, [&sent](JsonBody& inner) {
    std::string name = inner.text("name", kNameBytes);
    sent.designs.push_back({std::move(name), inner.text("text", kDesignBytes)});
  });
  sent.same_workloads = body.optional_flag("same_workloads").value_or(false);
  return sent;
}

// Reads the designs. A fault's file is the name under which its design was sent.
Result<std::vector<report::NamedDesign>> read_designs(const SentDesigns& sent,
                                                      const Console& console) {
  std::vector<report::NamedDesign> designs;
  Diagnostics faults;
  for (const auto& [name, text] : sent.designs) {
    Result<design::Design> design = read(text, console, name);
    if (design) {
      designs.push_back({.name = name, .design = std::move(*design)});
    } else {
      std::ranges::move(design.error(), std::back_inserter(faults));
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  for (std::size_t i = 1; sent.same_workloads && i < designs.size(); ++i) {
    auto changed = report::with_work_of(designs.front().design, designs[i].design,
                                        console.setting().catalog(), console.files().reader());
    if (changed) designs[i].design = std::move(*changed);
  }
  return designs;
}

// Compares the designs sent, and answers with what `make` returns.
Response compared(const SentDesigns& sent, const Console& console,
                  const std::function<Response(const report::Comparison&)>& answer) {
  auto designs = read_designs(sent, console);
  if (!designs) return refused_body(designs.error(), "the designs have errors");
  const auto comparison = compare_designs(std::move(*designs), console.setting().models);
  return comparison ? answer(*comparison) : refused_body(comparison.error(), kFaults);
}

Response compare_view(const Request& request, const Console& console) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const SentDesigns sent = sent_designs(*body);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  return compared(sent, console, [](const report::Comparison& c) {
    return json_response(comparison_view_json(c));
  });
}

Response file_of(const report::Comparison& c, const std::string& format, std::size_t drawn) {
  if (format == "csv") return {.content_type = "text/csv; charset=utf-8", .body = csv_of(c)};
  if (format == "markdown") {
    return {.content_type = "text/markdown; charset=utf-8", .body = to_markdown(document_of(c))};
  }
  if (format == "html") {
    return {.content_type = "text/html; charset=utf-8",
            .body = to_html(document_of(c, {.whole = true}))};
  }
  return {.content_type = "image/svg+xml",
          .body = report::tornado_svg(c.designs[drawn].stages.cost.tornado,
                                      figures::Unit::usd_per_hour)};
}

Response compare_report(const Request& request, const Console& console) {
  auto body = JsonBody::parse(request.body);
  if (!body) return refused_body(body.error(), "");
  const SentDesigns sent = sent_designs(*body);
  const std::string format = body->choice("format", {"html", "markdown", "csv", "svg"});
  const std::size_t count = sent.designs.size();
  const double last = count == 0 ? 0 : static_cast<double>(count - 1);
  const auto drawn = body->optional_integer("drawn", {0, last}).value_or(0);
  if (Diagnostics faults = body->faults(); !faults.empty()) return refused_body(faults, "");
  return compared(sent, console, [&](const report::Comparison& c) {
    return file_of(c, format, static_cast<std::size_t>(drawn));
  });
}

}  // namespace

std::vector<Route> design_routes(const Console& console) {
  const auto post = [&console](std::string pattern, auto answer) -> Route {
    return {"POST", std::move(pattern),
            [&console, answer](const Request& request, const PathValues&) {
              return answer(request, console);
            }};
  };
  return {
      post("/api/v1/plan", plan),
      post("/api/v1/report", report),
      post("/api/v1/edit", edit),
      post("/api/v1/prices", prices),
      post("/api/v1/save", save),
      post("/api/v1/fabric", fabric),
      post("/api/v1/hall", hall),
      post("/api/v1/compare", compare_view),
      post("/api/v1/compare/report", compare_report),
      post("/api/v1/serving", serving),
      post("/api/v1/storage",
           [](const Request& request, const Console& c) {
             return of_workload(request, c, report::storage_view_json);
           }),
      post("/api/v1/training",
           [](const Request& request, const Console& c) {
             return of_workload(request, c, report::training_view_json);
           }),
      post("/api/v1/training/trace",
           [](const Request& request, const Console& c) {
             return of_workload(request, c, report::training_trace_json);
           }),
      {"GET", "/api/v1/calc",
       [](const Request&, const PathValues&) { return json_response(report::calculators_json()); }},
      {"POST", "/api/v1/calc/{name}", [&console](const Request& request, const PathValues& values) {
         return calculate(request, values[0], console.setting());
       }}};
}

}  // namespace orrery::server
