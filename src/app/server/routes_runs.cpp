// Routes of simulated runs: started as jobs, viewed over time, downloaded as files.
#include "app/server/console.h"
#include "app/server/problem.h"
#include "core/base/text.h"
#include "output/report/run_report.h"
#include "output/report/view_hall.h"
#include "output/report/view_run.h"

namespace orrery::server {
namespace {

// Returns a simulation job that has results.
std::optional<Job> run_of(const Console& console, const std::string& text) {
  const auto id = parse_integer(text);
  auto job = id && *id > 0 ? console.jobs().find(*id) : std::nullopt;
  return job && job->task == kRunTask && !job->result.empty() ? job : std::nullopt;
}

Response no_such_run() { return problem(404, "there is no finished run with this number"); }

using RunText = std::string (*)(const run::Run& run);

// Returns the record of the first replication in one of its formats.
Response in_time(const Console& console, const std::string& id, RunText text,
                 const std::string& type) {
  const auto job = run_of(console, id);
  if (!job) return no_such_run();
  const auto run = console.run_jobs().first_replication(*job);
  if (!run) return problem(404, "the design of this run can no longer be read", run.error());
  return {.content_type = type, .body = text(**run)};
}

Response hall_of(const Console& console, const std::string& id) {
  const auto job = run_of(console, id);
  if (!job) return no_such_run();
  auto design = console.run_jobs().design_of(*job);
  if (!design) return problem(404, "the design of this run can no longer be read", design.error());
  return json_response(report::hall_view_json(*console.reviews().stages(std::move(*design))));
}

}  // namespace

std::vector<Route> run_routes(const Console& console) {
  const auto file = [&console](const char* pattern, RunText text, const char* type) -> Route {
    return {"GET", pattern, [&console, text, type](const Request&, const PathValues& values) {
              return in_time(console, values[0], text, type);
            }};
  };
  return {{"POST", "/api/v1/runs",
           [&console](const Request& request, const PathValues&) {
             return start_job(console, console.run_jobs().job_of(request.body));
           }},
          {"GET", "/api/v1/runs/{id}",
           [&console](const Request&, const PathValues& values) {
             const auto job = run_of(console, values[0]);
             return job ? json_response(job->result) : no_such_run();
           }},
          {"GET", "/api/v1/runs/{id}/hall",
           [&console](const Request&, const PathValues& values) {
             return hall_of(console, values[0]);
           }},
          file("/api/v1/runs/{id}/timeline", report::run_timeline_json, "application/json"),
          file("/api/v1/runs/{id}/trace", report::trace_json, "application/json"),
          file("/api/v1/runs/{id}/series", report::series_csv, "text/csv; charset=utf-8")};
}

}  // namespace orrery::server
