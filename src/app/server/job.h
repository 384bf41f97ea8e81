// A job: work that outlives the request, and the server, that started it.
//
// What a job is (task, request) never changes; its progress (state, progress, result) does. Both
// are plain values: job_store.h keeps them, job_board.h runs them, and job_json() writes them for
// the routes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::server {

enum class JobState { queued, running, done, failed, cancelled };
std::string_view to_text(JobState state);
std::optional<JobState> job_state_from(std::string_view text);

struct Job {
  std::int64_t id = 0;  // counted from 1, never reused
  std::string task;     // "search-layout"
  std::string title;    // "llama-3-70b on 256 x h100-sxm"
  std::string request;  // JSON as received
  JobState state = JobState::queued;
  std::int64_t created_ms = 0;  // since 1970, UTC
  std::int64_t updated_ms = 0;
  std::int64_t candidates = 0;
  std::int64_t done = 0;
  std::int64_t evaluated = 0;
  std::optional<double> remaining_s;  // estimate of this run of the server; not stored
  std::string checkpoint;             // where to continue, in a form of the task's own; not shown
  std::string best;                   // JSON of the best result so far; empty: none
  std::string result;                 // JSON; empty until there is one
  std::string problem;                // JSON of problem+json; empty unless it failed

  bool has_ended() const { return state != JobState::queued && state != JobState::running; }
};

enum class JobDetail { brief, full };
// Returns the job as the object of docs/api/openapi.yaml. `brief` omits the result, as lists do.
std::string job_json(const Job& job, JobDetail detail);

// Formats a time: "2026-11-15T05:22:53Z".
std::string utc_text(std::int64_t ms);

}  // namespace orrery::server
