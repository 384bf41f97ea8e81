// Routes to the console's page and files, and to the server's health and metrics.
#include <fmt/core.h>

#include "app/server/assets.h"
#include "app/server/console.h"
#include "app/server/problem.h"
#include "model/design_text/read_design.h"
#include "output/report/verdict_report.h"
#include "plan/verdict/verdict.h"

namespace orrery::server {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";

// Returns the faults as a page, because users open this address.
Response fault_page(const Diagnostics& diagnostics) {
  report::Document page;
  page.heading(1, "The design has errors");
  page.verbatim(to_text(diagnostics));
  return {.status = 422, .content_type = kHtml, .body = to_html(page)};
}

// Returns the review of the served design, for a binary without the console.
Response plain_page(const Console& console) {
  const ConsoleSetting& setting = console.setting();
  const Result<ServedDesign> served = setting.served();
  if (!served) return fault_page(served.error());
  const Result<design::Design> design =
      design_text::read_design(served->text, setting.catalog(),
                               {.file = served->file, .read_file = console.files().reader()});
  if (!design) return fault_page(design.error());
  const verdict::Verdict verdict = verdict::verdict_of(*design, setting.models);
  return {.status = 200, .content_type = kHtml, .body = to_html(report::document_of(verdict))};
}

std::vector<Gauge> gauges_of(const Console& console) {
  const ServerLoad& load = *console.setting().load;
  const auto number = [](auto v) { return static_cast<double>(v); };
  std::vector<Gauge> gauges = {{.name = "orrery_build_info",
                                .labels = {{"version", console.setting().version}},
                                .value = 1,
                                .help = "Version of the running server."},
                               {.name = "orrery_http_abandoned_total",
                                .value = number(load.abandoned.load()),
                                .help = "Requests dropped because the client had disconnected.",
                                .type = "counter"},
                               {.name = "orrery_http_connections",
                                .value = number(load.connections.load()),
                                .help = "Open connections."},
                               {.name = "orrery_http_malformed_total",
                                .value = number(load.malformed.load()),
                                .help = "Input that was too large or was not HTTP.",
                                .type = "counter"},
                               {.name = "orrery_http_requests_in_flight",
                                .value = number(load.requests.load()),
                                .help = "Requests that wait for a handler or are in one."},
                               {.name = "orrery_http_streams",
                                .value = number(load.streams.load()),
                                .help = "Open event streams."}};
  const auto counts = console.jobs().count_by_state();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    gauges.push_back({.name = "orrery_jobs",
                      .labels = {{"state", std::string(to_text(static_cast<JobState>(i)))}},
                      .value = number(counts[i]),
                      .help = "Jobs by state."});
  }
  gauges.push_back({.name = "orrery_process_resident_bytes",
                    .value = resident_bytes(),
                    .help = "Memory in use by the server."});
  return gauges;
}

Response asset(const Request& request, const std::string& name) {
  std::optional<Response> found = console_asset(request, name);
  return found ? std::move(*found) : problem(404, "the console has no file with this name");
}

}  // namespace

std::vector<Route> page_routes(const Console& console) {
  return {
      {"GET", "/",
       [&console](const Request& request, const PathValues&) {
         return has_console() ? console_page(request) : plain_page(console);
       }},
      {"GET", "/assets/{name}",
       [](const Request& request, const PathValues& values) { return asset(request, values[0]); }},
      {"GET", "/healthz",
       [](const Request&, const PathValues&) { return json_response("{\"status\":\"ok\"}\n"); }},
      {"GET", "/metrics", [&console](const Request&, const PathValues&) {
         return Response{.status = 200,
                         .content_type = "text/plain; version=0.0.4; charset=utf-8",
                         .body = console.metrics().text(gauges_of(console))};
       }}};
}

}  // namespace orrery::server
