// Streams of batch jobs as others have written them down: what was asked, when, and how long it
// ran.
//
// Read are the Standard Workload Format (Feitelson's archive, 18 columns; a processor counts as a
// GPU), the reduced Philly trace (timestamp, duration, num_gpus, gpu_time, cluster), `sacct -P`
// output with its header, and any CSV with the columns submit, run and gpus. Jobs are put in the
// order of (submission, run time, GPUs), so that a file's own order does not matter; the clock
// starts at the first submission. A job without GPUs, or that never ran, is left out and counted.
// Wrong where a trace is cut: jobs that were already running when it starts are not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "core/base/words.h"

namespace orrery::workload {

enum class JobFormat { swf, philly, sacct, csv };
inline constexpr Word<JobFormat> kJobFormatWords[] = {{JobFormat::swf, "swf"},
                                                      {JobFormat::philly, "philly"},
                                                      {JobFormat::sacct, "sacct"},
                                                      {JobFormat::csv, "csv"}};
constexpr WordTable<JobFormat> words_of(JobFormat) { return kJobFormatWords; }

struct JobRecord {
  Seconds submit;  // since the first submission
  Seconds run;
  Seconds limit;                // what the user asked for; the run time where the trace has none
  std::optional<Seconds> wait;  // as recorded
  int gpus = 1;
  int nodes = 0;   // 0: not said
  int user = -1;   // into JobTrace::users
  int queue = -1;  // partition or virtual cluster, into JobTrace::queues
};

struct JobTrace {
  JobFormat format = JobFormat::csv;
  std::vector<JobRecord> jobs;
  std::vector<std::string> users;
  std::vector<std::string> queues;
  bool has_limits = false;  // of the users' own
  int left_out = 0;         // rows without GPUs or run time
};

// The format that the text looks like.
JobFormat format_of(std::string_view text);
// `file` is named in messages. All faulty rows are told, up to a bound; none is skipped silently.
Result<JobTrace> read_jobs(std::string_view text, const std::string& file,
                           std::optional<JobFormat> format = std::nullopt);

// Seconds since 1970 of "2017-10-09 07:01:55" or "2017-10-09T07:01:55", without a zone.
std::optional<double> parse_timestamp(std::string_view text);
// Slurm's "1-02:03:04", "02:03:04" or "03:04".
std::optional<Seconds> parse_slurm_time(std::string_view text);

}  // namespace orrery::workload
