// Routes of jobs: start, list, watch, cancel.
#include <algorithm>

#include "app/server/console.h"
#include "app/server/problem.h"
#include "core/base/text.h"

namespace orrery::server {
namespace {

Response no_such_job() { return problem(404, "there is no job with this number"); }

std::optional<std::int64_t> id_of(const std::string& text) {
  const auto id = parse_integer(text);
  return id && *id > 0 ? id : std::nullopt;
}

Response list_jobs(const Console& console) {
  std::string body = R"({"schema_version":1,"kind":"jobs","jobs":[)";
  bool first = true;
  for (const Job& job : console.jobs().jobs()) {
    body += (first ? "" : ",") + job_json(job, JobDetail::brief);
    first = false;
  }
  return json_response(body + "]}\n");
}

Response show_job(const std::optional<Job>& job) {
  return job ? json_response(job_json(*job, JobDetail::full) + '\n') : no_such_job();
}

// Formats an event. An event is made of lines, so line breaks between JSON tokens become blanks;
// those inside texts are escaped and stay.
std::string event_text(std::string_view name, const Job& job) {
  std::string data = job_json(job, job.has_ended() ? JobDetail::full : JobDetail::brief);
  std::ranges::replace(data, '\n', ' ');
  return "event: " + std::string(name) + "\ndata: " + data + "\n\n";
}

// Returns the changes of a job since the last call; ends after the job does.
class JobEvents {
 public:
  JobEvents(const JobBoard& board, std::int64_t id) : board_(board), id_(id) {}

  std::optional<std::string> operator()() {
    if (told_end_) return std::nullopt;
    const auto job = board_.find(id_);
    if (!job) return std::nullopt;  // removed in the meantime
    if (job->has_ended()) {
      told_end_ = true;
      return event_text("done", *job);
    }
    if (job->done == told_ && job->state == told_state_) return std::string();
    told_ = job->done;
    told_state_ = job->state;
    return event_text("progress", *job);
  }

 private:
  const JobBoard& board_;
  std::int64_t id_;
  std::int64_t told_ = -1;
  JobState told_state_ = JobState::queued;
  bool told_end_ = false;
};

Response watch_job(const Console& console, const std::string& text) {
  const auto id = id_of(text);
  if (!id || !console.jobs().find(*id)) return no_such_job();
  return {.status = 200,
          .content_type = "text/event-stream",
          .headers = {{"X-Accel-Buffering", "no"}},
          .events = JobEvents(console.jobs(), *id)};
}

}  // namespace

Response start_job(const Console& console, Result<Job> job) {
  if (!job) return refused_body(job.error(), "the job cannot be started");
  Result<Job> started = console.jobs().start(std::move(*job));
  if (!started) {
    const bool full = started.error().front().code == "jobs.full";
    return problem(full ? 429 : 503, "the job cannot be started", started.error());
  }
  Response response = json_response(job_json(*started, JobDetail::full) + '\n', 202);
  response.headers.emplace_back("Location", "/api/v1/jobs/" + std::to_string(started->id));
  return response;
}

std::vector<Route> job_routes(const Console& console) {
  return {{"GET", "/api/v1/jobs",
           [&console](const Request&, const PathValues&) { return list_jobs(console); }},
          {"POST", "/api/v1/jobs",
           [&console](const Request& request, const PathValues&) {
             return start_job(console, layout_job(console.layout_jobs(), request.body));
           }},
          {"GET", "/api/v1/jobs/{id}",
           [&console](const Request&, const PathValues& values) {
             const auto id = id_of(values[0]);
             return show_job(id ? console.jobs().find(*id) : std::nullopt);
           }},
          {"DELETE", "/api/v1/jobs/{id}",
           [&console](const Request&, const PathValues& values) {
             const auto id = id_of(values[0]);
             return show_job(id ? console.jobs().cancel_or_remove(*id) : std::nullopt);
           }},
          {"GET", "/api/v1/jobs/{id}/events", [&console](const Request&, const PathValues& values) {
             return watch_job(console, values[0]);
           }}};
}

}  // namespace orrery::server
