#include "app/server/job.h"

#include <fmt/core.h>

#include <array>
#include <chrono>

#include "core/base/json_writer.h"

namespace orrery::server {
namespace {

constexpr std::array<std::string_view, 5> kStates = {"queued", "running", "done", "failed",
                                                     "cancelled"};

double share_done(const Job& job) {
  if (job.state == JobState::done) return 1;
  if (job.candidates <= 0) return 0;
  return static_cast<double>(job.done) / static_cast<double>(job.candidates);
}

// Adds a member whose value is JSON text that was written elsewhere.
void append_member(std::string& object, std::string_view name, const std::string& json) {
  object += fmt::format(",\"{}\":{}", name, json.empty() ? "null" : json);
}

}  // namespace

std::string_view to_text(JobState state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<JobState> job_state_from(std::string_view text) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == text) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

std::string utc_text(std::int64_t ms) {
  namespace chrono = std::chrono;
  const chrono::sys_time<chrono::milliseconds> time{chrono::milliseconds(ms)};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(chrono::floor<chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string job_json(const Job& job, JobDetail detail) {
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "job");
  w.field("id", std::to_string(job.id)).field("task", job.task).field("title", job.title);
  w.field("state", to_text(job.state)).field("created", utc_text(job.created_ms));
  w.field("updated", utc_text(job.updated_ms)).field("progress_ratio", share_done(job));
  w.field("candidates", job.candidates).field("done", job.done).field("evaluated", job.evaluated);
  w.key("remaining_s");
  if (job.remaining_s && job.state == JobState::running) {
    w.value(*job.remaining_s);
  } else {
    w.null();
  }
  w.end_object();
  std::string object = w.text();
  object.pop_back();  // remove the closing brace
  append_member(object, "best", job.best);
  append_member(object, "result", detail == JobDetail::full ? job.result : std::string());
  append_member(object, "problem", job.problem);
  return object + "}";
}

}  // namespace orrery::server
