#include "twin/processes/train_process.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/text.h"
#include "model/figures/assumptions.h"
#include "twin/world/site_lives.h"
#include "twin/world/world.h"

namespace orrery::processes {

using cluster::at;
using cluster::Cause;
using cluster::GpuTime;
using cluster::Share;

namespace {

using figures::assumptions::kOperatorTime;
using figures::assumptions::kOwnersLimit;
constexpr std::int64_t kAll = -1;  // share of the run's work kept: all, nothing is lost

std::int64_t ns_of(Seconds s) { return sim::SimTime::from(s).ns(); }

std::int64_t part_of(std::int64_t span, double share) {
  return static_cast<std::int64_t>(static_cast<double>(span) * share);
}

}  // namespace

TrainProcess::TrainProcess(world::World& world, world::ProcessIndex index,
                           const jobs::TrainJob& job, int run)
    : world::Process(index, job.feasible() ? job.fleet->index : design::FleetIndex()),
      job_(job),
      run_(run),
      spec_(world.spec()),
      kernel_(world.kernel()),
      fleet_(world.fleet(fleet_number())),
      slots_(fleet_.slots()),
      faults_(world.faults()),
      recorder_(world.recorder()),
      site_lives_(world.site_lives()) {
  if (!job.feasible()) return;
  whole_ = job.accelerators > 0 ? job.accelerators
                                : std::int64_t{job.hosts} * fleet_.part().slots_per_host;
  held_ = stepped_with_ = whole_;
  goal_ns_ = ns_of(job.raw_time);
}

void TrainProcess::begin() {
  if (job_.feasible() && !is_called()) call();
}

void TrainProcess::after(Seconds wait, Kind kind) {
  kernel_.cancel(timer_);
  timer_ = kernel_.schedule(kernel_.now().after(wait), sim::EventRank::start, *this, kind);
}

world::HostUse TrainProcess::use() const {
  if (phase_ == Phase::steps) return {cause_, steps_draw_, steps_highest_};
  return resting(fleet_.part(), cause_);
}

// Moves all its hosts to another cause; the time in the previous one is booked to the run.
void TrainProcess::enter(Phase phase, Cause cause) {
  const world::HostUse before = use();
  if (phase_ != Phase::away) {
    const std::int64_t span = (kernel_.now() - since_).ns();
    outcome_.time_ns[at(cause_)] += span;
    outcome_.span_ns += span;
    kernel_.trace(sim::TraceKind::end, job_.label, word_of(cause_));
  }
  if (phase_ == Phase::steps) {
    recorder_.mark_steps(level_, -1);
    kernel_.cancel(grow_timer_);
    grows_soon_ = false;
  }
  phase_ = phase;
  cause_ = cause;
  since_ = kernel_.now();
  if (is_placed_) {
    slots_.shift(held_, before, use());
    tell_draw();
  }
  if (phase_ == Phase::steps) recorder_.mark_steps(level_, 1);
  if (phase_ != Phase::away) kernel_.trace(sim::TraceKind::begin, job_.label, word_of(cause_));
}

void TrainProcess::tell_draw() {
  const world::HostUse now = use();
  fleet_.note_draw(job_index_, now.draw, now.highest);
}

void TrainProcess::begin_run() {
  work_ns_ = 0;
  has_copy_ = false;
  sound_work_.clear();
  run_began_ = kernel_.now();
  ++outcome_.runs_started;
  ask_for_hosts();
}

// Asks for whole hosts if the run fills them, so that a gang starts with all of them or not at all.
void TrainProcess::ask_for_hosts() {
  enter(Phase::waits_for_hosts, Cause::no_host);
  const int per_host = fleet_.part().slots_per_host;
  held_ = whole_;
  if (job_.elastic && has_lost_hosts_) {
    held_ = std::int64_t{units_to_ask()} * job_.elastic->unit_hosts * per_host;
  }
  slots_.claim(index(), held_, cause_);
  cluster::JobRequest request = fleet_.request_for(index(), *job_.workload, 0);
  request.ask = {.gpus = static_cast<int>(held_), .per_node = held_ % per_host == 0 ? per_host : 0};
  request.limit = sim::SimTime::from(job_.raw_time > Seconds(0)
                                         ? min(world::kStays, job_.raw_time * kOwnersLimit)
                                         : world::kStays);
  request.stays = true;
  request.tag = tag_of(0);
  const auto queued = fleet_.queue().submit(request);
  job_index_ = queued.value_or(cluster::kNoJob);
  if (queued) return;
  outcome_.never_fits = true;
  slots_.claim(index(), 0, cause_);
}

void TrainProcess::placed(std::uint32_t, std::span<const cluster::NodeShare> where) {
  note_hosts(where);
  slots_.claim(index(), 0, cause_);
  slots_.take(held_, use());
  is_placed_ = true;
  tell_draw();
  restart_in_place();
}

void TrainProcess::note_hosts(std::span<const cluster::NodeShare> where) {
  hosts_.clear();
  slow_hosts_ = 0;
  for (const cluster::NodeShare& share : where) {
    hosts_.push_back(world::host_at(share.node));
    if (fleet_.is_slow(hosts_.back())) ++slow_hosts_;
  }
  placed_slower_ = slower_here();
}

// If the scheduler does not know the leaves, the order of its hosts says nothing about them, and
// the job is timed as scattered already.
double TrainProcess::slower_here() const {
  const machine::Fleet& fleet = *fleet_.part().fleet;
  const machine::Network& network = spec_.machine->networks_of(fleet).compute;
  if (job_.step.by_scatter.empty() || !network.routed || network.is_scattered) return 1;
  const int per_leaf = machine::leaf_set(network, fleet_.part().all_hosts()).hosts;
  std::set<std::size_t> leaves;
  for (const world::HostIndex h : hosts_) {
    leaves.insert(h.value() / static_cast<std::size_t>(per_leaf));
  }
  return job_.step.slower_at(fabric::scatter_of(static_cast<double>(leaves.size()),
                                                static_cast<double>(hosts_.size()), per_leaf,
                                                network.routed->spec().hosts));
}

void TrainProcess::restart_in_place() {
  enter(Phase::starts, Cause::start);
  after(job_.failure.start * job_.failure.attempts, kStarted);
}

void TrainProcess::let_go() {
  slots_.call_for_room(*this, false);
  slots_.give(held_, use());
  is_placed_ = false;
  hosts_.clear();
  slow_hosts_ = 0;
}

// A lost host was detected, or work of a higher priority preempted the run: the scheduler ends the
// run and queues it again.
void TrainProcess::evicted(std::uint32_t, cluster::StopCause cause) {
  kernel_.cancel(timer_);
  // A reservation was known in advance: a run with checkpoints has saved before it.
  const bool has_saved = cause == cluster::StopCause::reserved && job_.checkpoint;
  if (phase_ == Phase::steps) close_steps(has_saved ? kAll : kept_after(progress(), true));
  if (cause == cluster::StopCause::preempted) ++outcome_.preemptions;
  has_dead_host_ = false;
  let_go();
  fleet_.queue().cancel(job_index_);
  enter(Phase::requeues, Cause::requeue);
  slots_.claim(index(), whole_, cause_);
  // Attempts that fail and waits for a person count with their means, as in the closed form.
  after(job_.failure.requeue * job_.failure.attempts + job_.failure.hands, kRequeued);
}

void TrainProcess::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t) {
  switch (kind) {
    case kSubmit:
      return begin_run();
    case kStarted:
      if (!has_copy_ || !job_.checkpoint) return begin_steps();
      ++outcome_.restores;
      enter(Phase::restores, Cause::restore);
      return after(job_.checkpoint->restore.total, kRestored);
    case kRestored:
      return begin_steps();
    case kDetected:
      return on_detected();
    case kRequeued:
      return on_requeued();
    case kReleased:
      return ask_for_hosts();
    case kGrow:
      return grow();
    default:
      return finish();
  }
}

// If only processes died, the launcher starts them again on the same hosts.
void TrainProcess::on_detected() {
  enter(Phase::requeues, Cause::requeue);
  after(job_.failure.requeue * job_.failure.attempts + job_.failure.hands, kRequeued);
}

void TrainProcess::on_requeued() {
  if (is_placed_) return restart_in_place();
  if (!has_lost_hosts_ || faults_.may_start(fleet_number(), job_.label)) return ask_for_hosts();
  ++outcome_.holds;
  after(spec_.machine->design().scheduler.recovery.operator_response.value_or(kOperatorTime),
        kReleased);
}

// Returns the slowdown by the slowest host, which sets the pace of all.
double TrainProcess::straggler() const {
  return slow_hosts_ > 0 ? fleet_.part().straggler_slowdown : 0;
}

failure::SaveCycle TrainProcess::cycle_of() const {
  const double fed = job_.feed.known ? job_.feed.loader.utilisation : 1;
  const double pace = fed / (1 + straggler()) / placed_slower_;
  failure::SaveCycle c{.speed = pace / (1 + job_.contended.feeding),
                       .drain_speed = pace / (1 + job_.contended.draining)};
  if (!job_.checkpoint || job_.checkpoint->interval <= Seconds(0)) return c;
  const jobs::SavePlan& save = *job_.checkpoint;
  c.interval_ns = ns_of(save.interval);
  c.stall_ns = ns_of(save.stall.total);
  const bool drains = save.async || (save.safe != nullptr && save.safe != save.first);
  c.drain_ns = drains ? ns_of(save.drain.total) : 0;
  c.local_ns = save.async && save.first->per_node ? ns_of(save.write.total)
               : save.first->per_node             ? 0
                                                  : c.drain_ns;
  return c;
}

void TrainProcess::begin_steps() {
  if (held_ < stepped_with_) ++outcome_.shrinks;
  if (held_ > stepped_with_) ++outcome_.grows;
  stepped_with_ = held_;
  cycle_ = cycle_of();
  const double saving = cycle_.interval_ns > 0 ? static_cast<double>(cycle_.stall_ns) /
                                                     static_cast<double>(cycle_.length())
                                               : 0;
  const double busy = 1 - saving;
  const auto gpus = static_cast<double>(held_);
  level_ = {};
  level_[static_cast<std::size_t>(Share::productive)] = gpus * busy * cycle_.speed;
  level_[static_cast<std::size_t>(Share::stall)] = gpus * busy * (1 - cycle_.speed);
  level_[static_cast<std::size_t>(Share::checkpoint)] = gpus * saving;
  const jobs::StepPlan& step = job_.step;
  const auto phases = facility::power_phases(
      fleet_.part().host_power, {.matrix = busy * cycle_.speed * step.matrix_share,
                                 .memory = busy * cycle_.speed * step.memory_share,
                                 .communication = busy * cycle_.speed * step.exposed_share,
                                 .checkpoint = saving});
  steps_draw_ = facility::mean_power(phases);
  steps_highest_ = facility::peak_power(phases);
  outcome_.host_draw = steps_draw_;
  enter(Phase::steps, Cause::productive);
  if (cycle_.interval_ns > 0) {
    const double cycle_s = static_cast<double>(cycle_.length()) / 1e9;
    kernel_.trace(sim::TraceKind::value, job_.label, world::kSavesEvery, cycle_s);
  }
  if (has_lost_hosts_ || !is_down_) faults_.job_runs(fleet_number(), job_.label);
  has_lost_hosts_ = false;
  if (is_down_) {
    is_down_ = false;
    outcome_.outage_ns += (kernel_.now() - struck_).ns();
    ++outcome_.outages;
  }
  await_end();
  if (const double lost = site_lives_.lost_to_heat(fleet_number()); lost > 0) {
    set_back(Cause::heat, world::kStays, lost);
  }
  if (held_ < whole_) {
    slots_.call_for_room(*this, true);
    room_came();
  }
}

// Sets a timer for the end of the run, if it ends within the simulated time.
void TrainProcess::await_end() {
  if (goal_ns_ <= 0) return;
  const std::int64_t wall = wall_for(cycle_, unscaled(goal_ns_ - work_ns_));
  const auto then = sim::SimTime::nanoseconds(
      setbacks_.time_after(kernel_.now().ns(), std::max<std::int64_t>(0, wall - stepped_ns())));
  if (then > sim::SimTime::from(spec_.horizon)) return;
  timer_ = kernel_.schedule(then, sim::EventRank::finish, *this, kFinished);
}

std::int64_t TrainProcess::stepped_ns() const {
  const sim::SimTime now = kernel_.now();
  return std::max<std::int64_t>(0, (now - since_).ns() - setbacks_.lost_ns(now.ns()));
}

failure::Progress TrainProcess::progress() const { return progress_after(cycle_, stepped_ns()); }

std::size_t TrainProcess::hosts_beside(design::FleetIndex fleet, world::HostIndex host) const {
  if (phase_ != Phase::steps) return 0;
  const bool is_its = fleet == fleet_number() && std::ranges::find(hosts_, host) != hosts_.end();
  return is_its ? 0 : hosts_.size();
}

void TrainProcess::set_back(Cause cause, Seconds span, double share) {
  if (phase_ != Phase::steps) return;
  const sim::SimTime now = kernel_.now();
  setbacks_.end(static_cast<int>(at(cause)), now.ns());
  setbacks_.add({.from_ns = now.ns(),
                 .to_ns = now.after(span).ns(),
                 .share = share,
                 .cause = static_cast<int>(at(cause))});
  kernel_.cancel(timer_);
  await_end();
}

// Returns the part of the run's work that the newest usable copy holds.
std::int64_t TrainProcess::kept_after(const failure::Progress& p, bool keeps_disk) const {
  if (!job_.checkpoint || cycle_.interval_ns <= 0) return 0;
  const jobs::SavePlan& save = *job_.checkpoint;
  const bool has_peer = job_.train->checkpoint->replicas.value_or(1) > 1;
  if (keeps_disk || (save.first->per_node && has_peer)) return work_ns_ + scaled(p.local_work_ns);
  if (save.safe != nullptr) return work_ns_ + scaled(p.safe_work_ns);
  return 0;
}

std::int64_t TrainProcess::kept_after(const failure::FaultCause& cause) const {
  const std::int64_t kept = kept_after(progress(), cause.keeps_disk);
  if (cause.notice <= Seconds(0) || !job_.checkpoint || job_.checkpoint->safe == nullptr) {
    return kept;
  }
  if (job_.checkpoint->stall.safe > cause.notice) return kept;
  const std::int64_t elapsed = stepped_ns() - ns_of(cause.notice);
  if (elapsed <= 0) return kept;
  return std::max(kept, work_ns_ + scaled(progress_after(cycle_, elapsed).work_ns));
}

void TrainProcess::book_steps(const failure::Progress& p, std::int64_t lost) {
  const double fed = job_.feed.known ? job_.feed.loader.utilisation : 1;
  const std::int64_t slow = p.steps_ns - p.work_ns;
  const std::int64_t feed = std::min(slow, part_of(p.steps_ns, 1 - fed));
  const double kept_pace = straggler() / (1 + straggler());
  const std::int64_t straggling = std::min(slow - feed, part_of(p.steps_ns, fed * kept_pace));
  const auto book = [&](Cause to, std::int64_t span) {
    outcome_.time_ns[at(Cause::productive)] -= span;
    outcome_.time_ns[at(to)] += span;
    slots_.correct(Cause::productive, to, GpuTime{span} * held_);
  };
  std::int64_t lost_time = (kernel_.now() - since_).ns() - stepped_ns();
  for (const failure::Setback& s : setbacks_.all()) {
    const std::int64_t own = std::min(lost_time, s.lost_ns(kernel_.now().ns()));
    book(static_cast<Cause>(s.cause), own);
    lost_time -= own;
  }
  setbacks_.clear();
  book(Cause::save, p.stall_ns);
  book(Cause::feed, feed);
  book(Cause::straggler, straggling);
  book(Cause::contention, slow - feed - straggling);
  // Missing slots are not booked to the run; its time is, and what it lost is the whole run's.
  const std::int64_t missing = p.work_ns - scaled(p.work_ns);
  outcome_.time_ns[at(Cause::productive)] -= missing;
  outcome_.time_ns[at(Cause::shrunk)] += missing;
  book_lost(lost);
}

void TrainProcess::book_lost(std::int64_t lost) {
  outcome_.time_ns[at(Cause::productive)] -= lost;
  outcome_.time_ns[at(Cause::lost)] += lost;
  slots_.correct(Cause::productive, Cause::lost, GpuTime{lost} * whole_);
}

void TrainProcess::close_steps(std::int64_t kept_work) {
  const failure::Progress p = progress();
  const std::int64_t done = work_ns_ + scaled(p.work_ns);
  if (kept_work == kAll) kept_work = done;
  slots_.settle(kernel_.now());
  book_steps(p, done - kept_work);
  outcome_.saves += static_cast<std::uint64_t>(p.saves);
  outcome_.units += static_cast<double>(kept_work - work_ns_) / 1e9 * job_.raw_rate();
  work_ns_ = kept_work;
  has_copy_ = kept_work > 0;
}

void TrainProcess::corrupted(std::uint32_t, world::HostIndex host) {
  if (phase_ != Phase::steps) return;
  sound_work_[host] = kept_after(progress(), true);
}

std::int64_t TrainProcess::sound_work(world::HostIndex host) {
  const auto found = sound_work_.find(host);
  if (found == sound_work_.end()) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t sound = found->second;
  sound_work_.erase(found);
  return sound;
}

void TrainProcess::roll_back(std::int64_t sound) {
  if (sound >= work_ns_) return;
  const std::int64_t lost = work_ns_ - sound;
  book_lost(lost);
  outcome_.units -= static_cast<double>(lost) / 1e9 * job_.raw_rate();
  work_ns_ = sound;
  has_copy_ = sound > 0;
}

Seconds TrainProcess::struck(std::uint32_t, std::optional<world::HostIndex> host,
                             const failure::FaultCause& cause) {
  ++outcome_.interruptions;
  const std::int64_t sound = host ? sound_work(*host) : std::numeric_limits<std::int64_t>::max();
  if (phase_ == Phase::steps) {
    close_steps(std::min(kept_after(cause), sound));
  } else {
    roll_back(sound);
  }
  if (!is_down_) struck_ = kernel_.now();
  is_down_ = true;
  enter(Phase::detects, Cause::detect);
  kernel_.cancel(timer_);
  const Seconds seen =
      cause.sight == failure::FaultSight::timeout ? job_.failure.hang : job_.failure.noticed;
  if (cause.scope == failure::FaultScope::host) has_lost_hosts_ = has_dead_host_ = true;
  // A host that is lost ends the run when this is detected; until then nothing can be started.
  if (!has_dead_host_) after(seen, kDetected);
  return seen;
}

std::int64_t TrainProcess::scaled(std::int64_t work) const {
  return held_ == whole_ ? work : static_cast<std::int64_t>(GpuTime{work} * held_ / whole_);
}

std::int64_t TrainProcess::unscaled(std::int64_t work) const {
  return held_ == whole_ ? work
                         : static_cast<std::int64_t>((GpuTime{work} * whole_ + held_ - 1) / held_);
}

int TrainProcess::units_held() const {
  return static_cast<int>(hosts_.size()) / job_.elastic->unit_hosts;
}

int TrainProcess::hosts_at_hand() const {
  return fleet_.queue().pool().nodes_with(fleet_.part().slots_per_host, nullptr);
}

// Returns as many units as there are, but not fewer than the run can continue with.
int TrainProcess::units_to_ask() const {
  const jobs::ElasticPlan& e = *job_.elastic;
  return std::clamp(hosts_at_hand() / e.unit_hosts, e.least, e.units);
}

// Takes a replacement host, or continues on those that are left; with too few, the whole run goes
// back into the queue.
std::vector<cluster::NodeShare> TrainProcess::lost_host(std::uint32_t, world::HostIndex host) {
  if (!job_.elastic || !is_placed_) return {};
  const jobs::ElasticPlan& e = *job_.elastic;
  const int left = static_cast<int>(hosts_.size()) - 1;
  const int in_reserve = fleet_.first_in_reserve() ? 1 : 0;
  const bool is_replaced = hosts_at_hand() + in_reserve >= e.units * e.unit_hosts - left;
  const int units = left / e.unit_hosts;
  if (is_replaced || units < e.least) return {};
  if (phase_ == Phase::steps) close_steps(kept_after(progress(), true));
  std::vector<cluster::NodeShare> kept = fleet_.queue().job(job_index_).shares;
  std::erase_if(kept,
                [host](const cluster::NodeShare& s) { return world::host_at(s.node) == host; });
  kept.resize(static_cast<std::size_t>(units) * static_cast<std::size_t>(e.unit_hosts));
  restart_in_place();
  const std::int64_t held = std::int64_t{units} * e.unit_hosts * fleet_.part().slots_per_host;
  slots_.give(held_ - held, use());
  held_ = held;
  note_hosts(kept);
  // Another host may have failed without being detected yet: nothing starts with it.
  has_dead_host_ = std::ranges::any_of(
      hosts_, [&](world::HostIndex h) { return fleet_.state(h) == world::HostState::struck; });
  if (has_dead_host_) {
    kernel_.cancel(timer_);
    enter(Phase::detects, Cause::detect);
  }
  return kept;
}

// Takes more hosts after the next save, so that nothing is lost; waiting jobs have been served by
// then.
void TrainProcess::room_came() {
  if (phase_ != Phase::steps || grows_soon_ || cycle_.interval_ns <= 0) return;
  const std::int64_t elapsed = stepped_ns();
  const std::int64_t left = cycle_.length() - elapsed % cycle_.length();
  grows_soon_ = true;
  grow_timer_ =
      kernel_.schedule(sim::SimTime::nanoseconds(setbacks_.time_after(kernel_.now().ns(), left)),
                       sim::EventRank::start, *this, kGrow);
}

void TrainProcess::grow() {
  grows_soon_ = false;
  cluster::Queue& queue = fleet_.queue();
  const auto waiting = queue.waiting_jobs();
  const int tier = queue.job(job_index_).tier;
  const jobs::ElasticPlan& e = *job_.elastic;
  if (hosts_at_hand() < e.unit_hosts) return;
  // Waiting jobs may get other hosts: the run looks again after the next save.
  if (!waiting.empty() && queue.job(waiting.front()).tier >= tier) return room_came();
  const int per_host = fleet_.part().slots_per_host;
  const int more = std::min(hosts_at_hand() / e.unit_hosts, e.units - units_held());
  const std::int64_t slots = std::int64_t{more} * e.unit_hosts * per_host;
  std::vector<cluster::NodeShare> where;
  if (!queue.extend(job_index_, {.gpus = static_cast<int>(slots), .per_node = per_host}, where)) {
    return room_came();
  }
  close_steps(kAll);
  restart_in_place();
  slots_.take(slots, use());
  held_ += slots;
  note_hosts(queue.job(job_index_).shares);
  fleet_.note_placed(job_index_, {index(), 0}, where);
  if (held_ == whole_) slots_.call_for_room(*this, false);
}

void TrainProcess::finish() {
  close_steps(kAll);
  const std::int64_t took = (kernel_.now() - run_began_).ns();
  if (outcome_.runs_finished++ == 0) {
    outcome_.finished_ns = took;
    learnt_from_ = run_began_;
  }
  outcome_.age_ns = std::max(outcome_.age_ns, (kernel_.now() - learnt_from_).ns());
  learnt_from_ = run_began_;
  const auto& repeat = job_.train->repeat;
  if (repeat && took > ns_of(repeat->window.value_or(repeat->every))) ++outcome_.windows_missed;
  enter(Phase::waits_for_hosts, Cause::no_host);
  let_go();
  enter(Phase::away, Cause::idle);
  fleet_.leave(job_index_);
  faults_.job_ends(fleet_number(), job_.label);
  const Seconds took_s = kernel_.now().seconds() - run_began_.seconds();
  if (is_called()) {
    tell_caller();
  } else if (repeat) {
    after(max(Seconds(0), repeat->every - took_s), kSubmit);
  } else if (const int runs = job_.train->runs.value_or(1); runs > 1) {
    after(max(Seconds(0), years(1) / runs - took_s), kSubmit);
  }
}

void TrainProcess::close() {
  if (phase_ == Phase::steps) close_steps(kAll);
  if (phase_ != Phase::away) enter(Phase::away, Cause::idle);
}

}  // namespace orrery::processes
