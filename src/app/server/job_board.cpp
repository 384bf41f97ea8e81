#include "app/server/job_board.h"

#include <algorithm>
#include <ranges>

#include "app/server/problem.h"

namespace orrery::server {
namespace {

constexpr std::chrono::milliseconds kKeepPeriod{200};
constexpr std::chrono::seconds kCancelWait{2};

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool JobRun::cancelled() const {
  const std::lock_guard lock(board_.mutex_);
  return board_.cancel_running_;
}

bool JobRun::should_stop() const {
  const std::lock_guard lock(board_.mutex_);
  return board_.ending_ || board_.cancel_running_;
}

void JobRun::report() {
  const auto now = std::chrono::steady_clock::now();
  const bool keep = now - kept_ >= kKeepPeriod;
  if (keep) kept_ = now;
  board_.show(job, keep);
}

JobBoard::JobBoard(std::unique_ptr<JobStore> store, std::map<std::string, JobTask> tasks,
                   JobLimits limits)
    : store_(std::move(store)), tasks_(std::move(tasks)), limits_(limits) {}

Result<std::unique_ptr<JobBoard>> JobBoard::open(std::unique_ptr<JobStore> store,
                                                 std::map<std::string, JobTask> tasks,
                                                 JobLimits limits) {
  auto kept = store->load();
  if (!kept) return std::unexpected(std::move(kept.error()));
  std::unique_ptr<JobBoard> board(new JobBoard(std::move(store), std::move(tasks), limits));
  for (Job& job : *kept) board->jobs_[job.id] = std::move(job);
  board->worker_ = std::thread([b = board.get()] { b->work(); });
  return board;
}

JobBoard::~JobBoard() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

Result<Job> JobBoard::start(Job job) {
  {
    const std::lock_guard lock(mutex_);
    const auto open = std::ranges::count_if(jobs_ | std::views::values,
                                            [](const Job& other) { return !other.has_ended(); });
    if (static_cast<std::size_t>(open) >= limits_.open_max) {
      return fail({.code = "jobs.full",
                   .what = "the queue of jobs is full",
                   .fix = "wait for one to end, or cancel one"});
    }
    job.state = JobState::queued;
    job.created_ms = job.updated_ms = now_ms();
    const auto id = store_->add(job);
    if (!id) return std::unexpected(id.error());
    job.id = *id;
    jobs_[job.id] = job;
    forget_old();
  }
  changed_.notify_all();
  return job;
}

// Forgets old jobs. A job that the store cannot remove is forgotten here anyway; the next start
// tries again.
void JobBoard::forget_old() {
  for (auto it = jobs_.begin(); it != jobs_.end() && jobs_.size() > limits_.jobs_max;) {
    if (!it->second.has_ended()) {
      ++it;
      continue;
    }
    (void)store_->remove(it->first);
    it = jobs_.erase(it);
  }
}

std::vector<Job> JobBoard::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<Job> all;
  for (const Job& job : jobs_ | std::views::values | std::views::reverse) all.push_back(job);
  return all;
}

std::optional<Job> JobBoard::find(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto it = jobs_.find(id);
  return it != jobs_.end() ? std::optional(it->second) : std::nullopt;
}

std::optional<Job> JobBoard::cancel_or_remove(std::int64_t id) {
  std::unique_lock lock(mutex_);
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return std::nullopt;
  if (it->second.has_ended()) {
    (void)store_->remove(id);
    Job gone = std::move(it->second);
    jobs_.erase(it);
    return gone;
  }
  if (running_ == id) {
    cancel_running_ = true;
    changed_.wait_for(lock, kCancelWait, [&] { return running_ != id; });
    const auto now = jobs_.find(id);
    return now != jobs_.end() ? std::optional(now->second) : std::nullopt;
  }
  it->second.state = JobState::cancelled;
  it->second.updated_ms = now_ms();
  (void)store_->update(it->second);
  return it->second;
}

std::array<int, 5> JobBoard::count_by_state() const {
  std::array<int, 5> counts{};
  const std::lock_guard lock(mutex_);
  for (const Job& job : jobs_ | std::views::values) ++counts[static_cast<std::size_t>(job.state)];
  return counts;
}

// Returns the job that an earlier server left running, or the oldest that waits.
std::optional<std::int64_t> JobBoard::next_job() const {
  for (const JobState state : {JobState::running, JobState::queued}) {
    for (const auto& [id, job] : jobs_) {
      if (job.state == state) return id;
    }
  }
  return std::nullopt;
}

void JobBoard::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const auto id = next_job();
    if (id) {
      run_one(lock, *id);
    } else {
      changed_.wait(lock, [this] { return ending_ || next_job(); });
    }
  }
}

void JobBoard::run_one(std::unique_lock<std::mutex>& lock, std::int64_t id) {
  running_ = id;
  cancel_running_ = false;
  jobs_[id].state = JobState::running;
  JobRun run(*this, jobs_[id]);
  const auto task = tasks_.find(run.job.task);
  lock.unlock();
  Result<void> outcome = fail({.code = "jobs.task", .what = "there is no task " + run.job.task});
  try {
    if (task != tasks_.end()) outcome = task->second(run);
  } catch (const std::exception& e) {
    outcome = fail({.code = "jobs.internal", .what = "the task failed", .why = e.what()});
  }
  lock.lock();
  if (!outcome) {
    run.job.state = JobState::failed;
    run.job.problem = problem(422, "the job failed", outcome.error()).body;
  } else if (cancel_running_) {
    run.job.state = JobState::cancelled;
  } else if (!run.job.result.empty()) {
    run.job.state = JobState::done;
  }  // otherwise the server ended first: the job stays as it is, running
  run.job.updated_ms = now_ms();
  jobs_[id] = run.job;
  (void)store_->update(run.job);
  running_ = 0;
  changed_.notify_all();
}

void JobBoard::show(const Job& job, bool keep) {
  const std::lock_guard lock(mutex_);
  Job& shown = jobs_[job.id];
  shown = job;
  shown.updated_ms = now_ms();
  if (keep) (void)store_->update(shown);
}

}  // namespace orrery::server
