// The search for layouts as a job: a request in, its title and its run.
//
// The checkpoint is one line for each number of GPUs that was searched or begun,
// "GPUS CHUNKS CANDIDATES REFUSED TOO_LARGE BOUNDED EVALUATED INDEX ...": a search taken up from it
// gives the same result as one that was never stopped.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plan/models.h"
#include "server/job_board.h"
#include "server/json_body.h"

namespace orrery {

inline constexpr const char* kLayoutTask = "search-layout";

// The run a design describes, where the request brings one: (design text, workload) -> query.
using DesignQuery =
    std::function<Result<TrainingQuery>(const std::string& design, const std::string& workload)>;

struct LayoutJobs {
  const Catalog& catalog;
  const Models& models;
  DesignQuery query_of_design;
};

// Everything that can be wrong with a request is found here, before there is a job.
Result<Job> layout_job(const LayoutJobs& jobs, const std::string& request);
Result<void> run_layout_job(const LayoutJobs& jobs, JobRun& run);

}  // namespace orrery
