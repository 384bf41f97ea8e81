// Recorded streams of batch jobs: what was requested, when, and how long it ran.
//
// Readable formats are the Standard Workload Format (Feitelson's archive, 18 columns; a processor
// counts as a GPU), the reduced Philly trace (timestamp, duration, num_gpus, gpu_time, cluster),
// `sacct -P` output with its header, and any CSV with the columns submit, run and gpus. Jobs are
// sorted by (submission, run time, GPUs), so the order in the file does not matter; the clock
// starts at the first submission. A job without GPUs, or that never ran, is left out and counted.
// Wrong at the start of a trace: jobs that were already running then are missing.
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
  Seconds limit;                // requested by the user; the run time if the trace has none
  std::optional<Seconds> wait;  // as recorded; nullopt if the trace does not say
  int gpus = 1;
  int nodes = 0;   // 0: not stated
  int user = -1;   // index into JobTrace::users
  int queue = -1;  // partition or virtual cluster; index into JobTrace::queues
};

struct JobTrace {
  JobFormat format = JobFormat::csv;
  std::vector<JobRecord> jobs;
  std::vector<std::string> users;
  std::vector<std::string> queues;
  bool has_limits = false;  // the limits are the users' own
  int left_out = 0;         // rows without GPUs or run time
};

// Guesses the format from the text.
JobFormat format_of(std::string_view text);
// `file` is named in messages. Faulty rows are reported, up to a limit; none is skipped silently.
Result<JobTrace> read_jobs(std::string_view text, const std::string& file,
                           std::optional<JobFormat> format = std::nullopt);

// Returns seconds since 1970 for "2017-10-09 07:01:55" or "2017-10-09T07:01:55", without a time
// zone.
std::optional<double> parse_timestamp(std::string_view text);
// Parses Slurm's "1-02:03:04", "02:03:04" or "03:04".
std::optional<Seconds> parse_slurm_time(std::string_view text);

}  // namespace orrery::workload
