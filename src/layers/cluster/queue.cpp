#include "layers/cluster/queue.h"

#include <algorithm>
#include <cassert>

namespace orrery::cluster {
Queue::Queue(sim::Kernel& kernel, NodePool pool, QueueOptions options, QueuePort& port)
    : kernel_(kernel),
      pool_(std::move(pool)),
      options_(std::move(options)),
      port_(port),
      policy_(make_policy(options_.backfill, options_.periodic)) {
  await_window();
}

std::optional<JobIndex> Queue::submit(const JobRequest& request) {
  const auto partition = static_cast<std::size_t>(request.partition);
  const NodeMask* allowed = options_.partitions.empty() ? nullptr : &options_.partitions[partition];
  if (!pool_.could_ever_fit(request.ask, allowed)) return std::nullopt;
  JobIndex index = static_cast<JobIndex>(jobs_.size());
  if (unused_.empty()) {
    jobs_.emplace_back();
    states_.push_back(State::none);
    tags_.push_back(0);
    timers_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  QueuedJob& job = jobs_[index];
  job.ask = request.ask;
  job.limit = request.limit;
  job.submitted = kernel_.now();
  job.priority = request.priority;
  job.partition = static_cast<std::uint16_t>(request.partition);
  job.group = static_cast<std::uint16_t>(request.group);
  job.qos = static_cast<std::uint16_t>(request.qos);
  job.qos_seat = request.qos_seat;
  job.user = request.user;
  job.tier = static_cast<std::uint8_t>(request.tier);
  job.stays = request.stays;
  job.guest_of = request.guest_of;
  tags_[index] = request.tag;
  enqueue(index);
  return index;
}

bool Queue::comes_before(JobIndex a, JobIndex b) const {
  if (jobs_[a].tier != jobs_[b].tier) return jobs_[a].tier > jobs_[b].tier;
  return jobs_[a].priority > jobs_[b].priority;
}

// Jobs of equal rank keep their order of arrival; most jobs go to the end.
void Queue::enqueue(JobIndex job) {
  auto at = waiting_.end();
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
  while (at != begin && comes_before(job, *(at - 1))) --at;
  waiting_.insert(at, job);
  states_[job] = State::waiting;
  decide_later();
}

void Queue::remove_waiting(JobIndex job) {
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
  waiting_.erase(std::find(begin, waiting_.end(), job));
}

void Queue::decide_later() {
  if (is_deciding_later_) return;
  is_deciding_later_ = true;
  kernel_.schedule(kernel_.now(), sim::EventRank::settle, *this, kDecide);
}

void Queue::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  if (kind == kEligible) {
    // Anything promised to the job before its first start no longer holds.
    ++surprises_;
    return enqueue(static_cast<JobIndex>(data));
  }
  if (kind == kAlarm) return decide_later();
  if (kind == kWindow) {
    clear_reserved();
    return await_window();
  }
  is_deciding_later_ = false;
  decide();
}

QueueView Queue::view() const {
  return {.now = kernel_.now(),
          .jobs = jobs_,
          .waiting = std::span(waiting_).subspan(first_),
          .running = running_,
          .partitions = options_.partitions,
          .reservations = options_.reservations.is_empty() ? nullptr : &options_.reservations,
          .gate = options_.gate,
          .surprises = surprises_};
}

void Queue::decide() {
  if (waiting() == 0) return;
  starts_.clear();
  policy_->decide(view(), pool_, starts_);
  if (!starts_.jobs.empty()) apply(starts_);
  if (options_.preemption) preempt_for_waiting();
  set_alarm();
}

// The first jobs of a higher tier that found no room preempt jobs of lower tiers and start at once.
void Queue::preempt_for_waiting() {
  while (waiting() > 0) {
    const auto asks = std::ranges::find_if(waiting_jobs(), [this](JobIndex j) {
      return options_.gate == nullptr || !options_.gate->passes_over(jobs_[j]);
    });
    if (asks == waiting_jobs().end()) return;
    const JobIndex job = *asks;
    if (!options_.preemption->takes(jobs_[job])) return;
    const auto plan = choose_victims(job, view(), pool_, *options_.preemption);
    if (!plan || plan->victims.empty()) return;
    for (const JobIndex victim : plan->victims) {
      if (states_[victim] == State::running) stop(victim, StopCause::preempted);
    }
    starts_.clear();
    if (!pool_.place(jobs_[job].ask, view().mask_of(jobs_[job]), where_)) return;
    starts_.add(job, where_, pool_);
    if (options_.gate != nullptr) options_.gate->started(jobs_[job]);
    apply(starts_);
  }
}

// A policy that promised a time decides again at that time.
void Queue::set_alarm() {
  const sim::SimTime wake = policy_->wake();
  if (wake == alarm_at_ || wake <= kernel_.now()) return;
  kernel_.cancel(alarm_);
  alarm_at_ = wake;
  if (!wake.is_never()) alarm_ = kernel_.schedule(wake, sim::EventRank::control, *this, kAlarm);
}

void Queue::await_window() {
  const sim::SimTime next = options_.reservations.next_change(kernel_.now());
  if (!next.is_never()) kernel_.schedule(next, sim::EventRank::control, *this, kWindow);
}

// A reservation window opens or ends: jobs on its nodes that may not be there are requeued, and the
// waiting jobs are considered again.
void Queue::clear_reserved() {
  ++surprises_;
  std::vector<JobIndex> barred;
  for (const RunningEnd& end : running_) {
    const QueuedJob& job = jobs_[end.job];
    QueuedJob now = {.guest_of = job.guest_of};
    now.stays = true;  // its limit does not matter, because it is already running there
    if (!options_.reservations.is_open(now, job.shares, kernel_.now())) barred.push_back(end.job);
  }
  for (const JobIndex job : barred) {
    if (states_[job] != State::running) continue;
    ++stopped_for_reservations_;
    stop(job, StopCause::reserved);
  }
  decide_later();
}

void Queue::drop_started(const Starts& starts) {
  std::size_t prefix = 0;
  while (prefix < starts.jobs.size() && waiting_[first_ + prefix] == starts.jobs[prefix].job) {
    ++prefix;
  }
  first_ += prefix;
  if (prefix < starts.jobs.size()) {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
    waiting_.erase(std::remove_if(begin, waiting_.end(),
                                  [this](JobIndex j) { return states_[j] == State::running; }),
                   waiting_.end());
  }
  // Started jobs are cut off the front only when they are the larger part, so each entry is moved
  // once on average.
  if (first_ * 2 > waiting_.size()) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

// All records are updated before any port is called, because a port may submit or cancel during its
// call.
void Queue::apply(const Starts& starts) {
  for (const Starts::One& one : starts.jobs) {
    QueuedJob& job = jobs_[one.job];
    job.started = kernel_.now();
    const auto where = starts.of(one);
    job.shares.assign(where.begin(), where.end());
    states_[one.job] = State::running;
    const RunningEnd end{.end = kernel_.now() + job.limit, .job = one.job};
    running_.insert(std::ranges::upper_bound(running_, end.end, {}, &RunningEnd::end), end);
  }
  running_count_ += starts.jobs.size();
  drop_started(starts);
  // A port that is notified of a start may cause further decisions, which rebuild `starts_`.
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (std::size_t i = 0; i < starts_.jobs.size(); ++i) {
    const JobIndex job = starts_.jobs[i].job;
    if (states_[job] == State::running)
      port_.job_started(job, tags_[job], starts_.of(starts_.jobs[i]));
  }
}

bool Queue::is_running(JobIndex job) const { return states_[job] == State::running; }

void Queue::release(JobIndex index) {
  QueuedJob& job = jobs_[index];
  pool_.give(job.shares);
  job.shares.clear();
  if (options_.gate != nullptr) options_.gate->ended(job);
  const sim::SimTime end = job.started + job.limit;
  if (end != kernel_.now()) ++surprises_;
  auto at = std::ranges::lower_bound(running_, end, {}, &RunningEnd::end);
  while (at->job != index) ++at;
  running_.erase(at);
  --running_count_;
  decide_later();
}

void Queue::forget(JobIndex job) {
  states_[job] = State::none;
  unused_.push_back(job);
}

void Queue::finish(JobIndex job) {
  assert(states_[job] == State::running);
  release(job);
  forget(job);
}

void Queue::cancel(JobIndex job) {
  assert(states_[job] != State::none);
  if (states_[job] == State::running) release(job);
  if (states_[job] == State::waiting) {
    remove_waiting(job);
    ++surprises_;
    decide_later();
  }
  if (states_[job] == State::delayed) kernel_.cancel(timers_[job]);
  forget(job);
}

void Queue::stop(JobIndex job, StopCause cause) {
  release(job);
  states_[job] = State::delayed;
  timers_[job] = kernel_.schedule(kernel_.now().after(options_.requeue_delay),
                                  sim::EventRank::start, *this, kEligible, job);
  port_.job_stopped(job, tags_[job], cause);
}

void Queue::keep_only(JobIndex index, std::vector<NodeShare> kept) {
  QueuedJob& job = jobs_[index];
  if (options_.gate != nullptr) options_.gate->ended(job);
  job.ask.gpus = 0;
  for (const NodeShare& share : kept) job.ask.gpus += share.gpus;
  std::erase_if(job.shares, [&kept](const NodeShare& share) {
    return std::ranges::find(kept, share) != kept.end();
  });
  pool_.give(job.shares);
  job.shares = std::move(kept);
  if (options_.gate != nullptr) options_.gate->started(job);
  ++surprises_;
  decide_later();
}

bool Queue::extend(JobIndex index, const GpuAsk& more, std::vector<NodeShare>& where) {
  assert(states_[index] == State::running);
  QueuedJob& job = jobs_[index];
  // To the gate, the job ends and starts again at its new size; it stays one job.
  if (options_.gate != nullptr) options_.gate->ended(job);
  job.ask.gpus += more.gpus;
  const bool is_admitted = options_.gate == nullptr || options_.gate->admits(job);
  const bool fits = is_admitted && pool_.place(more, view().mask_of(job), where);
  if (!fits) job.ask.gpus -= more.gpus;
  if (options_.gate != nullptr) options_.gate->started(job);
  if (!fits) return false;
  pool_.take(where);
  job.shares.insert(job.shares.end(), where.begin(), where.end());
  ++surprises_;
  return true;
}

void Queue::put_back(JobIndex job, StopCause cause) {
  assert(states_[job] == State::running);
  stop(job, cause);
}

void Queue::jobs_on(int node, std::vector<JobIndex>& jobs) const {
  jobs.clear();
  const auto is_here = [node](const NodeShare& s) { return s.node == node; };
  for (const RunningEnd& end : running_) {
    if (std::ranges::any_of(jobs_[end.job].shares, is_here)) jobs.push_back(end.job);
  }
}

void Queue::node_down(int node) {
  if (!pool_.is_up(node)) return;
  pool_.set_up(node, false);
  ++surprises_;
  // A port that is notified of a stop may take another node down before this loop ends.
  std::vector<JobIndex> hit;
  jobs_on(node, hit);
  for (const JobIndex job : hit) {
    if (states_[job] != State::running) continue;
    auto kept = port_.job_lost_node(job, tags_[job], node);
    if (kept.empty()) {
      stop(job, StopCause::node_lost);
    } else {
      keep_only(job, std::move(kept));
    }
  }
  decide_later();
}

void Queue::node_up(int node) {
  pool_.set_up(node, true);
  ++surprises_;
  decide_later();
}

void Queue::set_priorities(const std::function<double(JobIndex)>& priority) {
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
  for (auto job = begin; job != waiting_.end(); ++job) jobs_[*job].priority = priority(*job);
  const auto before = [this](JobIndex a, JobIndex b) { return comes_before(a, b); };
  if (std::is_sorted(begin, waiting_.end(), before)) return;
  std::stable_sort(begin, waiting_.end(), before);
  ++surprises_;
  decide_later();
}

WaitAnswer Queue::why(JobIndex job) const {
  if (states_[job] != State::waiting) return {.reason = WaitReason::not_yet};
  return explain_wait(options_.backfill, view(), pool_, job);
}

}  // namespace orrery::cluster
