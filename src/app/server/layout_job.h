// The layout search as a job: its request, its title and its run.
//
// The checkpoint is one line per GPU count that was searched or begun, "GPUS CHUNKS CANDIDATES
// REFUSED TOO_LARGE BOUNDED EVALUATED INDEX ...". A search that continues from it gives the same
// result as one that was never stopped.
#pragma once

#include <string>

#include "app/server/job_board.h"
#include "model/machine/models.h"

namespace orrery::server {

inline constexpr const char* kLayoutTask = "search-layout";

struct LayoutJobs {
  const machine::Models& models;
  catalog::ReadFile files = nullptr;  // files that a design in a request may name
};

// Checks a request completely and returns the job for it, or all faults.
Result<Job> layout_job(const LayoutJobs& jobs, const std::string& request);
Result<void> run_layout_job(const LayoutJobs& jobs, JobRun& run);

}  // namespace orrery::server
