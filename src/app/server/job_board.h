// The jobs of a server. Requests start, watch and cancel them; one thread runs them one after the
// other; a store keeps them, so that the next server continues where this one stopped.
//
// There is one thread, because the threads of the requests need the cores more. A job that was
// running when a server ended is the first to run in the next, from its last checkpoint.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/server/job.h"
#include "app/server/job_store.h"
#include "core/base/diagnostic.h"

namespace orrery::server {

class JobBoard;

// The interface of a running task: when to stop, and where to report progress.
class JobRun {
 public:
  JobRun(JobBoard& board, Job start) : job(std::move(start)), board_(board) {}

  bool cancelled() const;    // by a user: leave the best result so far
  bool should_stop() const;  // cancelled, or the server ends: leave a checkpoint
  // Publishes `job` as it is now. Its checkpoint is written to disk a few times per second at most.
  void report();

  Job job;

 private:
  JobBoard& board_;
  std::chrono::steady_clock::time_point kept_{};
};

// Works until done or until it should stop, and leaves its result or its checkpoint in run.job.
using JobTask = std::function<Result<void>(JobRun& run)>;

struct JobLimits {
  std::size_t jobs_max = 100;  // ended jobs are forgotten, oldest first, to make room
  std::size_t open_max = 32;   // limit of queued and running jobs
};

class JobBoard {
 public:
  static Result<std::unique_ptr<JobBoard>> open(std::unique_ptr<JobStore> store,
                                                std::map<std::string, JobTask> tasks,
                                                JobLimits limits = {});
  // Stops the running job at its next checkpoint; the job stays "running" in the store.
  ~JobBoard();
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // Queues a job. Fails with "jobs.full" if open_max are open, or with a fault of the store.
  Result<Job> start(Job job);
  std::vector<Job> jobs() const;  // newest first
  std::optional<Job> find(std::int64_t id) const;
  // Cancels a job that has not ended and waits briefly for it to stop; removes a job that has
  // ended.
  std::optional<Job> cancel_or_remove(std::int64_t id);
  std::array<int, 5> count_by_state() const;

 private:
  friend class JobRun;
  JobBoard(std::unique_ptr<JobStore> store, std::map<std::string, JobTask> tasks, JobLimits limits);
  void work();
  void run_one(std::unique_lock<std::mutex>& lock, std::int64_t id);
  std::optional<std::int64_t> next_job() const;
  void forget_old();
  void show(const Job& job, bool keep);

  const std::unique_ptr<JobStore> store_;  // guarded by mutex_
  const std::map<std::string, JobTask> tasks_;
  const JobLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Job> jobs_;
  std::int64_t running_ = 0;  // id of the running job; 0: none
  bool cancel_running_ = false;
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace orrery::server
