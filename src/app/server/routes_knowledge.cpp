// Routes to what Orrery knows independently of a design: schema, templates, catalog, rules,
// accuracy.
#include <algorithm>

#include "app/server/assets.h"
#include "app/server/console.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "model/design_text/read_design.h"
#include "model/design_text/schema.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "output/report/explain_report.h"
#include "output/report/view_accuracy.h"
#include "output/report/view_catalog.h"
#include "output/report/view_completions.h"
#include "plan/rules/rules.h"

namespace orrery::server {
namespace {

constexpr std::chrono::milliseconds kPatience{300};

Response session(const Console& console) {
  const ConsoleSetting& setting = console.setting();
  const Result<ServedDesign> served = setting.served();
  if (!served) return problem(422, "the served design cannot be read", served.error());
  // A design with faults has a session too: the page shows the text and asks for its review.
  const Result<design::Design> design =
      design_text::read_design(served->text, setting.catalog(),
                               {.file = served->file, .read_file = console.files().reader()});
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "session");
  w.field("version", setting.version).field("sample", served->sample);
  w.key("design").begin_object().field("name", design ? design->name : std::string());
  w.field("file", served->file).field("text", served->text);
  w.field("digest", design ? design_text::design_digest(*design) : std::string()).end_object();
  w.end_object();
  return json_response(w.text() + '\n');
}

Response templates() {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).key("templates").begin_array();
  for (const design_text::Template& t : design_text::templates()) {
    w.begin_object().field("name", t.name).field("summary", t.summary).end_object();
  }
  w.end_array().end_object();
  return json_response(w.text() + '\n');
}

Response template_named(const std::string& name) {
  const auto found = design_text::find_template(name);
  if (!found) return problem(404, "there is no template with this name");
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "template").field("name", found->name);
  w.field("summary", found->summary).field("text", found->text).end_object();
  return json_response(w.text() + '\n');
}

Response catalog(const ConsoleSetting& setting, const PathValues& values) {
  const auto part = [&values](std::size_t i) { return i < values.size() ? values[i] : ""; };
  auto found = report::catalog_view_json(*setting.models.knowledge, part(0), part(1));
  return found ? json_response(std::move(*found))
               : problem(404, "the catalog has nothing with this name");
}

Response glossary(const ConsoleSetting& setting) {
  const auto entries = report::read_glossary(*setting.models.knowledge);
  return entries ? json_response(json_of(*entries))
                 : problem(500, "the glossary cannot be read", entries.error());
}

// Returns the accuracy of a kind. Some take seconds to compute; until then the client is asked to
// retry.
Response accuracy(const Console& console, const std::string& kind) {
  const auto kinds = report::accuracy_kinds();
  if (std::ranges::find(kinds, std::string_view(kind), &report::AccuracyKind::name) ==
      kinds.end()) {
    return problem(404, "there are no published rows of this kind");
  }
  const auto text = console.accuracy().get(
      kind,
      [&models = console.setting().models, kind] {
        return report::accuracy_view_json(kind, models);
      },
      kPatience);
  if (text && *text) return json_response(**text);
  if (text) return problem(500, "the rows cannot be scored", text->error());
  Response later = json_response(R"({"schema_version":1,"kind":"pending","retry_after_s":1})"
                                 "\n",
                                 202);
  later.headers.emplace_back("Retry-After", "1");
  return later;
}

Response contract() {
  return {.status = 200, .content_type = "application/yaml", .body = std::string(api_contract())};
}

}  // namespace

std::vector<Route> knowledge_routes(const Console& console) {
  const ConsoleSetting& setting = console.setting();
  const auto of_catalog = [&setting](const Request&, const PathValues& values) {
    return catalog(setting, values);
  };
  return {
      {"GET", "/api/v1/openapi.yaml", [](const Request&, const PathValues&) { return contract(); }},
      {"GET", "/api/v1/session",
       [&console](const Request&, const PathValues&) { return session(console); }},
      {"GET", "/api/v1/schema",
       [&setting](const Request&, const PathValues&) {
         return json_response(design_text::design_schema(setting.catalog()));
       }},
      {"GET", "/api/v1/templates", [](const Request&, const PathValues&) { return templates(); }},
      {"GET", "/api/v1/templates/{name}",
       [](const Request&, const PathValues& values) { return template_named(values[0]); }},
      {"GET", "/api/v1/catalog", of_catalog},
      {"GET", "/api/v1/catalog/{table}", of_catalog},
      {"GET", "/api/v1/catalog/{table}/{id}", of_catalog},
      {"GET", "/api/v1/rules",
       [](const Request&, const PathValues&) {
         return json_response(report::json_of(rules::all_rules()));
       }},
      {"GET", "/api/v1/glossary",
       [&setting](const Request&, const PathValues&) { return glossary(setting); }},
      {"GET", "/api/v1/completions",
       [&setting](const Request&, const PathValues&) {
         return json_response(report::completions_json(setting.catalog()));
       }},
      {"GET", "/api/v1/accuracy",
       [&setting](const Request&, const PathValues&) {
         return json_response(report::accuracy_kinds_json(*setting.models.knowledge));
       }},
      {"GET", "/api/v1/accuracy/{kind}", [&console](const Request&, const PathValues& values) {
         return accuracy(console, values[0]);
       }}};
}

}  // namespace orrery::server
