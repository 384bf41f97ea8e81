// A simulated run as a job: its request, its title, and its replications one after the other.
//
// The job keeps what `orrery simulate --format json` prints. Its timeline is not kept: the same
// seed gives the same bytes, so the first replication runs again when a user views it, and the last
// few viewed stay in memory. A run that was interrupted by the end of a server starts from the
// beginning in the next one.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "app/server/job_board.h"
#include "model/design/design.h"
#include "model/machine/models.h"
#include "twin/run/run.h"

namespace orrery::server {

inline constexpr const char* kRunTask = "simulate";

class RunJobs {
 public:
  // `files` reads the files that a design in a request may name.
  explicit RunJobs(const machine::Models& models, catalog::ReadFile files = nullptr)
      : models_(models), files_(std::move(files)) {}

  // Checks a request completely and returns the job for it, or all faults.
  Result<Job> job_of(const std::string& request) const;
  Result<void> work(JobRun& run) const;

  // Returns the first replication of a job's run with its full record.
  Result<std::shared_ptr<const run::Run>> first_replication(const Job& job) const;
  Result<design::Design> design_of(const Job& job) const;

 private:
  void keep(std::int64_t id, std::shared_ptr<const run::Run> run) const;

  const machine::Models& models_;
  const catalog::ReadFile files_;
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<std::int64_t, std::shared_ptr<const run::Run>>> kept_;
};

}  // namespace orrery::server
