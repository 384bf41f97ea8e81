// The search for layouts as a job: a request in, its title and its run.
//
// The checkpoint is one line for each number of GPUs that was searched or begun,
// "GPUS CHUNKS CANDIDATES REFUSED TOO_LARGE BOUNDED EVALUATED INDEX ...": a search taken up from it
// gives the same result as one that was never stopped.
#pragma once

#include <string>

#include "app/server/job_board.h"
#include "model/machine/models.h"

namespace orrery::server {

inline constexpr const char* kLayoutTask = "search-layout";

struct LayoutJobs {
  const machine::Models& models;
  catalog::ReadFile files = nullptr;  // that a design in a request may name
};

// Everything that can be wrong with a request is found here, before there is a job.
Result<Job> layout_job(const LayoutJobs& jobs, const std::string& request);
Result<void> run_layout_job(const LayoutJobs& jobs, JobRun& run);

}  // namespace orrery::server
