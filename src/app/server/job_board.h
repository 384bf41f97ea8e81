// The jobs of a server: started, watched, cancelled by requests; run one after the other by a
// thread of their own; kept in a store, so that the next server goes on where this one was stopped.
//
// One thread, because the requests' threads need the cores more than a search needs both. A job
// that was running when a server ended is the first to run in the next, from its last checkpoint.
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

// What a task has while it runs: when to stop, and where to say how far it is.
class JobRun {
 public:
  JobRun(JobBoard& board, Job start) : job(std::move(start)), board_(board) {}

  bool cancelled() const;    // by a person: leave the best so far as the result
  bool should_stop() const;  // cancelled, or the server ends: leave a checkpoint
  // Shows `job` as it is now; its checkpoint reaches the disk a few times a second at most.
  void report();

  Job job;

 private:
  JobBoard& board_;
  std::chrono::steady_clock::time_point kept_{};
};

// Works until it is done or should stop, and leaves what it has in run.job: result, or checkpoint.
using JobTask = std::function<Result<void>(JobRun& run)>;

struct JobLimits {
  std::size_t jobs_max = 100;  // ended ones are forgotten, oldest first, to make room
  std::size_t open_max = 32;   // queued and running
};

class JobBoard {
 public:
  static Result<std::unique_ptr<JobBoard>> open(std::unique_ptr<JobStore> store,
                                                std::map<std::string, JobTask> tasks,
                                                JobLimits limits = {});
  // Stops what runs at its next checkpoint; it stays "running" in the store.
  ~JobBoard();
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // "jobs.full" where open_max are there, else a fault of the store.
  Result<Job> start(Job job);
  std::vector<Job> jobs() const;  // newest first
  std::optional<Job> find(std::int64_t id) const;
  // Cancels a job that has not ended and waits a moment for it to stop; removes one that has.
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

  const std::unique_ptr<JobStore> store_;  // touched under mutex_
  const std::map<std::string, JobTask> tasks_;
  const JobLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Job> jobs_;
  std::int64_t running_ = 0;  // id; 0: none
  bool cancel_running_ = false;
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace orrery::server
