#include "twin/processes/task_process.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "twin/world/world.h"

namespace orrery::processes {

using cluster::Cause;
using cluster::GpuTime;

namespace {

using figures::assumptions::kBoundedRun;
using figures::assumptions::kDetectTime;
using figures::assumptions::kJobUtilisation;
using figures::assumptions::kJobVariation;
using figures::assumptions::kTraceUsers;
using figures::assumptions::kUsersLimitMost;
// Most waiting jobs that are asked for the reason at the end.
constexpr std::uint64_t kAsked = 200;

}  // namespace

TaskProcess::TaskProcess(world::World& world, world::ProcessIndex index, design::FleetIndex fleet,
                         const design::Workload& workload)
    : world::Process(index, fleet),
      kernel_(world.kernel()),
      workload_(workload),
      fleet_(world.fleet(fleet)),
      slots_(fleet_.slots()) {
  const machine::Machine& m = *world.spec().machine;
  most_ = fleet_.time_limit_of(workload).value_or(world::kStays);
  detect_ = m.design().scheduler.recovery.detect.value_or(kDetectTime);
  const bool on_cores = fleet_.part().accelerators_per_host == 0;
  const double level = on_cores ? 1 : kJobUtilisation;
  runs_ = working(fleet_.part(), level, 1);
  clean_ = machine::clean_work(m, workload);
  if (!clean_) return;
  const auto hours_of_file = static_cast<std::size_t>(clean_->grid.period() / hours(1));
  outcome_.drawn.resize(hours_of_file);
  outcome_.drawn_else.resize(hours_of_file);
}

world::HostUse TaskProcess::use(TaskState state) const {
  return state == TaskState::hangs ? resting(fleet_.part(), Cause::detect) : runs_;
}

void TaskProcess::call_arrival(Seconds wait) {
  kernel_.schedule(kernel_.now().after(wait), sim::EventRank::start, *this, kArrival);
}

bool TaskProcess::submit(const Task& task) {
  ++outcome_.submitted;
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(live_.size()));
    live_.emplace_back();
  }
  const std::uint32_t part = unused_.back();
  unused_.pop_back();
  live_[part] = {.task = task, .submitted = kernel_.now()};
  if (!clean_) return enter(part);
  const Seconds now = kernel_.now().seconds();
  const Seconds start = clean_start(clean_->grid, clean_->rule, now, task.said);
  if (start <= now) return enter(part);
  live_[part].held = start - now;
  live_[part].state = TaskState::held;
  live_[part].timer =
      kernel_.schedule(sim::SimTime::from(start), sim::EventRank::start, *this, kRelease, part);
  ++outcome_.held;
  outcome_.held_s += live_[part].held.base();
  return true;
}

// Puts a job into the queue; returns false if it can never start.
bool TaskProcess::enter(std::uint32_t part) {
  const Task& task = live_[part].task;
  cluster::JobRequest request = fleet_.request_for(index(), workload_, task.user);
  request.ask = task.ask;
  request.limit = sim::SimTime::from(min(task.limit, most_));
  request.tag = tag_of(part);
  const auto queued =
      fleet_.could_admit(workload_, task.ask.gpus) ? fleet_.queue().submit(request) : std::nullopt;
  if (!queued) {
    ++outcome_.rejected;
    live_[part] = {};
    unused_.push_back(part);
    return false;
  }
  live_[part].index = *queued;
  live_[part].state = TaskState::waits;
  slots_.want(task.ask.gpus);
  return true;
}

// Books what its last run drew above idle, at its actual start and at the start without waiting.
void TaskProcess::book_draw(const Live& live) {
  if (!clean_) return;
  const world::FleetPart& part = fleet_.part();
  const Watts rise = (runs_.draw - part.host_power.idle) / part.slots_per_host * live.task.ask.gpus;
  const auto book = [&](std::vector<Joules>& by_hour, Seconds from) {
    for (Seconds at = from; at < from + live.task.run;) {
      const double hour = std::floor(at / hours(1));
      const Seconds next = min(hours(hour + 1), from + live.task.run);
      by_hour[static_cast<std::size_t>(hour) % by_hour.size()] += rise * (next - at);
      at = next;
    }
  };
  book(outcome_.drawn, live.started.seconds());
  book(outcome_.drawn_else, max(Seconds(0), live.started.seconds() - live.held));
}

void TaskProcess::placed(std::uint32_t part, std::span<const cluster::NodeShare>) {
  Live& live = live_[part];
  live.state = TaskState::runs;
  live.started = kernel_.now();
  if (live.wait_s < 0) {
    live.wait_s = (live.started - live.submitted).seconds().base();
    outcome_.waits_s.push_back(live.wait_s);
  }
  slots_.want(-live.task.ask.gpus);
  slots_.take(live.task.ask.gpus, runs_);
  fleet_.note_draw(live.index, runs_.draw, runs_.highest);
  slots_.mark_busy(live.task.ask.gpus);
  const bool ends = live.task.run <= most_;
  live.timer = kernel_.schedule(kernel_.now().after(ends ? live.task.run : most_),
                                sim::EventRank::finish, *this, ends ? kDone : kTimeOut, part);
}

// What the job did since its start must be done again.
void TaskProcess::lose_work(Live& live) {
  kernel_.cancel(live.timer);
  const std::int64_t span = (kernel_.now() - live.started).ns();
  slots_.settle(kernel_.now());
  slots_.correct(Cause::productive, Cause::lost, GpuTime{span} * live.task.ask.gpus);
  outcome_.lost_slot_s += static_cast<double>(span) / 1e9 * live.task.ask.gpus;
}

Seconds TaskProcess::struck(std::uint32_t part, std::optional<world::HostIndex>,
                            const failure::FaultCause& cause) {
  Live& live = live_[part];
  ++outcome_.faults;
  if (live.state == TaskState::runs) {
    lose_work(live);
    slots_.mark_busy(-live.task.ask.gpus);
    const world::HostUse hangs = use(TaskState::hangs);
    slots_.shift(live.task.ask.gpus, runs_, hangs);
    fleet_.note_draw(live.index, hangs.draw, hangs.highest);
    live.state = TaskState::hangs;
  }
  if (cause.scope == failure::FaultScope::process) {
    kernel_.cancel(live.timer);
    live.timer =
        kernel_.schedule(kernel_.now().after(detect_), sim::EventRank::finish, *this, kGone, part);
  }
  return detect_;
}

void TaskProcess::evicted(std::uint32_t part, cluster::StopCause) {
  Live& live = live_[part];
  if (live.state == TaskState::runs) {
    lose_work(live);
    slots_.mark_busy(-live.task.ask.gpus);
  }
  kernel_.cancel(live.timer);
  slots_.give(live.task.ask.gpus, use(live.state));
  live.state = TaskState::waits;
  slots_.want(live.task.ask.gpus);
  ++outcome_.stops;
}

void TaskProcess::finish(std::uint32_t part) {
  Live& live = live_[part];
  slots_.mark_busy(-live.task.ask.gpus);
  slots_.give(live.task.ask.gpus, runs_);
  fleet_.leave(live.index);
  ++outcome_.finished;
  book_draw(live);
  const double run = live.task.run.base();
  const double here = (kernel_.now() - live.submitted).seconds().base();
  outcome_.slowdowns.push_back(std::max(1.0, here / std::max(run, kBoundedRun)));
  live = {};
  unused_.push_back(part);
  on_done(true);
}

// The QOS ends the job, and its work is lost.
void TaskProcess::time_out(std::uint32_t part) {
  Live& live = live_[part];
  lose_work(live);
  slots_.mark_busy(-live.task.ask.gpus);
  slots_.give(live.task.ask.gpus, runs_);
  fleet_.leave(live.index);
  ++outcome_.timed_out;
  live = {};
  unused_.push_back(part);
  on_done(false);
}

void TaskProcess::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  const auto part = static_cast<std::uint32_t>(data);
  if (kind == kArrival) return on_arrival();
  if (kind == kDone) return finish(part);
  if (kind == kTimeOut) return time_out(part);
  if (kind == kRelease) {
    if (!enter(part)) on_done(false);
    return;
  }
  fleet_.queue().put_back(live_[part].index, cluster::StopCause::failed);
}

void TaskProcess::close() {
  const cluster::Queue& queue = fleet_.queue();
  for (const Live& live : live_) {
    if (live.state == TaskState::held && ++outcome_.waiting <= kAsked) {
      WaitCount& count = outcome_.why[cluster::WaitReason::not_yet];
      const Seconds left = live.submitted.seconds() + live.held - kernel_.now().seconds();
      if (count.jobs++ == 0) {
        count.first = "It is held for a clean hour, which begins in " + brief(left) + ".";
      }
    }
    if (live.state == TaskState::waits && ++outcome_.waiting <= kAsked) {
      const cluster::WaitAnswer why = queue.why(live.index);
      WaitCount& count = outcome_.why[why.reason];
      if (count.jobs++ == 0) count.first = to_text(why, kernel_.now());
    }
    if (live.state == TaskState::runs || live.state == TaskState::hangs) ++outcome_.running;
  }
}

StreamProcess::StreamProcess(world::World& world, world::ProcessIndex index, const StreamPlan& plan)
    : TaskProcess(world, index, plan.fleet, *plan.job.workload),
      plan_(plan),
      random_(world.kernel().stream("jobs/" + plan.job.label)) {}

void StreamProcess::begin() {
  if (plan_.feasible()) call_next();
}

void StreamProcess::call_next() {
  if (plan_.trace.empty())
    return call_arrival(Seconds(random_.exponential(1 / plan_.job.rate.base())));
  if (next_ == plan_.trace.size()) return;
  call_arrival(max(Seconds(0), plan_.trace[next_].submit - kernel_.now().seconds()));
}

TaskProcess::Task StreamProcess::drawn() {
  const double width = random_.uniform();
  const auto at = std::ranges::upper_bound(plan_.job.shares, width) - plan_.job.shares.begin();
  const auto last = static_cast<std::ptrdiff_t>(plan_.job.sizes.size()) - 1;
  // Log-normal with the wanted mean: exp(mu + s^2 / 2), s^2 = ln(1 + cv^2).
  const double s2 = math::log(1 + kJobVariation * kJobVariation);
  const double run =
      plan_.job.mean_run.base() * math::exp(std::sqrt(s2) * random_.normal() - s2 / 2);
  const double factor = math::exp(random_.uniform() * math::log(kUsersLimitMost));
  return {.ask = {.gpus = plan_.job.sizes[static_cast<std::size_t>(std::min(at, last))]},
          .run = Seconds(std::max(1.0, run)),
          .limit = Seconds(std::max(1.0, run) * factor),
          .said = Seconds(std::max(1.0, run) * factor),
          .user = static_cast<std::uint32_t>(random_.below(kTraceUsers))};
}

void StreamProcess::on_arrival() {
  if (plan_.trace.empty()) {
    submit(drawn());
  } else {
    const workload::JobRecord& job = plan_.trace[next_++];
    const int per_node = job.nodes > 1 && job.gpus % job.nodes == 0 ? job.gpus / job.nodes : 0;
    submit({.ask = {.gpus = job.gpus, .per_node = per_node},
            .run = job.run,
            .limit = max(job.limit, job.run),
            .said = max(job.limit, job.run),
            .user = static_cast<std::uint32_t>(std::max(job.user, 0))});
  }
  call_next();
}

BatchProcess::BatchProcess(world::World& world, world::ProcessIndex index, const BatchPlan& plan)
    : TaskProcess(world, index, plan.fleet, *plan.job.workload), plan_(plan) {}

void BatchProcess::begin() {
  if (plan_.feasible() && !is_called()) call();
}

void BatchProcess::on_arrival() {
  began_ = kernel_.now();
  left_ = 0;
  is_whole_ = true;
  for (int e = 0; e < plan_.job.elements; ++e) {
    left_ += submit({.ask = {.gpus = plan_.job.slots},
                     .run = plan_.element,
                     .limit = plan_.element * kUsersLimitMost,
                     .said = plan_.element})
                 ? 1
                 : 0;
  }
}

void BatchProcess::on_done(bool has_ended) {
  is_whole_ = is_whole_ && has_ended;
  if (--left_ > 0) return;
  const Seconds took = (kernel_.now() - began_).seconds();
  if (is_whole_) {
    ++outcome_.runs_finished;
    outcome_.run_times_s.push_back(took.base());
  }
  if (plan_.job.bound && took > *plan_.job.bound) ++outcome_.windows_missed;
  if (is_called()) {
    if (is_whole_) tell_caller();
  } else if (plan_.job.batch->repeat) {
    call_arrival(max(Seconds(0), plan_.job.batch->repeat->every - took));
  }
}

}  // namespace orrery::processes
