#include "app/server/problem.h"

#include "core/base/json_writer.h"

namespace orrery::server {
namespace {

void write(JsonWriter& json, const Diagnostic& d) {
  json.begin_object()
      .field("severity", to_text(d.severity))
      .field("code", d.code)
      .field("file", d.place.file)
      .field("line", d.place.line)
      .field("column", d.place.column)
      .field("what", d.what)
      .field("why", d.why)
      .field("fix", d.fix)
      .end_object();
}

}  // namespace

Response problem(int status, std::string_view title, const Diagnostics& diagnostics) {
  JsonWriter json;
  json.begin_object().field("title", title).field("status", status);
  json.key("diagnostics").begin_array();
  for (const Diagnostic& d : diagnostics) write(json, d);
  json.end_array().end_object();
  return {.status = status, .content_type = "application/problem+json", .body = json.text() + '\n'};
}

Response refused_body(const Diagnostics& diagnostics, std::string_view title) {
  const bool shape = !diagnostics.empty() && diagnostics.front().code.starts_with("body.");
  return shape
             ? problem(400, "the body does not have the form that this address takes", diagnostics)
             : problem(422, title, diagnostics);
}

}  // namespace orrery::server
