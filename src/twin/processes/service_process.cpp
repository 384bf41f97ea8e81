#include "twin/processes/service_process.h"

#include <algorithm>

#include "layers/facility/node_power.h"
#include "model/figures/assumptions.h"
#include "twin/world/world.h"

namespace orrery::processes {

using figures::assumptions::kDetectTime;

using cluster::Cause;
using cluster::GpuTime;

ServiceProcess::ServiceProcess(world::World& world, world::ProcessIndex index,
                               const ServicePlan& plan)
    : world::Process(index, plan.fleet),
      kernel_(world.kernel()),
      plan_(plan),
      fleet_(world.fleet(plan.fleet)),
      slots_(fleet_.slots()),
      recorder_(world.recorder()) {
  const machine::Machine& m = *world.spec().machine;
  detect_ = m.design().scheduler.recovery.detect.value_or(kDetectTime);
  if (plan.feasible()) {
    replicas_.resize(static_cast<std::size_t>(plan.placements(plan.replicas)));
  }
  wanted_ = plan.replicas;
  if (!plan.job.serve->autoscale || replicas_.empty()) return;
  const design::Autoscale& scale = *plan.job.serve->autoscale;
  wanted_ = plan.called_at(0);
  scaler_.emplace(traffic::Autoscaler{.target = scale.target,
                                      .period = scale.period.base(),
                                      .lag = scale.lag.base(),
                                      .hold = scale.hold.base(),
                                      .least = plan.least,
                                      .most = plan.replicas},
                  wanted_);
}

void ServiceProcess::begin() {
  if (replicas_.empty()) return;
  since_ = kernel_.now();
  set_load();
  const auto first = static_cast<std::uint32_t>(plan_.placements(wanted_));
  for (std::uint32_t part = 0; part < first; ++part) submit(part);
  kernel_.schedule(kernel_.now().after(hours(1)), sim::EventRank::control, *this, kHour);
  if (scaler_) {
    kernel_.schedule(kernel_.now().after(plan_.job.serve->autoscale->period),
                     sim::EventRank::control, *this, kLook);
  }
}

void ServiceProcess::submit(std::uint32_t part) {
  cluster::JobRequest request = fleet_.request_for(index(), *plan_.job.workload, 0);
  request.ask = {.gpus = plan_.slots};
  request.limit = sim::SimTime::from(world::kStays);
  request.stays = true;
  request.tag = tag_of(part);
  const auto queued = fleet_.could_admit(*plan_.job.workload, plan_.slots)
                          ? fleet_.queue().submit(request)
                          : std::nullopt;
  if (!queued) {
    ++outcome_.never_placed;
    return;
  }
  replicas_[part].index = *queued;
  replicas_[part].state = ReplicaState::waits;
  slots_.want(plan_.slots);
}

world::HostUse ServiceProcess::use(ReplicaState state) const {
  switch (state) {
    case ReplicaState::runs:
      return stands_;
    case ReplicaState::hangs:
      return resting(fleet_.part(), Cause::detect);
    default:
      return resting(fleet_.part(), Cause::start);
  }
}

void ServiceProcess::settle() {
  const sim::SimTime now = kernel_.now();
  const std::int64_t span = (now - since_).ns();
  since_ = now;
  if (span == 0) return;
  outcome_.time_ns[{.hour = hour_, .standing = standing_, .traffic = traffic_}] += span;
  outcome_.down_ns += span * std::max(0, wanted_ - standing_);
  outcome_.standing_ns += span * standing_;
  if (scaler_) {
    const double more = rate_here() - standing_ * plan_.most;
    backlog_ = std::max(0.0, backlog_ + more * static_cast<double>(span) / 1e9);
  }
  const GpuTime held = GpuTime{span} * placed_ * plan_.slots;
  const auto waiting = static_cast<GpuTime>(static_cast<double>(held) * (1 - busy_));
  slots_.settle(now);
  slots_.correct(Cause::productive, Cause::standby, std::min(held, waiting));
}

double ServiceProcess::rate_here() const {
  return plan_.job.day[hour_] - traffic_.away - traffic_.refused + traffic_.guests;
}

traffic::RegionNow ServiceProcess::region_now() const {
  if (replicas_.empty()) return {};
  return {.load = plan_.job.day[hour_], .capacity = standing_ * plan_.capacity};
}

void ServiceProcess::take_traffic(const ZoneTraffic& traffic) {
  if (traffic == traffic_) return;
  settle();
  const bool gives_up = traffic.away > 0 && standing_ == 0;
  if (gives_up && !is_given_up_) ++outcome_.given_up;
  is_given_up_ = gives_up;
  const world::HostUse before = stands_;
  const double busy_before = busy_;
  traffic_ = traffic;
  set_load();
  take_up_load(before, busy_before);
}

void ServiceProcess::take_up_load(const world::HostUse& before, double busy_before) {
  const std::int64_t slots = std::int64_t{placed_} * plan_.slots;
  slots_.shift(slots, before, stands_);
  slots_.mark_busy(-static_cast<double>(slots), busy_before);
  slots_.mark_busy(static_cast<double>(slots), busy_);
  tell_draws();
}

// Sets the load after settle(): from now on for the replicas that run and for this hour.
void ServiceProcess::set_load() {
  const double rate = standing_ > 0 ? rate_here() / standing_ : 0;
  busy_ = plan_.busy_at(rate);
  // An engine decodes most of the time, which is memory work; its highest draw is the matrix work
  // of prompts.
  stands_ = working(fleet_.part(), busy_ * facility::kMemoryLevel, facility::kMatrixLevel);
}

void ServiceProcess::become(std::uint32_t part, ReplicaState state) {
  settle();
  Replica& replica = replicas_[part];
  const world::HostUse before = use(replica.state);
  const bool ran = replica.state == ReplicaState::runs;
  const std::int64_t slots = plan_.slots;
  // When the number of running replicas changes, the load of each changes: all get their new use.
  const std::int64_t others = std::int64_t{placed_ - (ran ? 1 : 0)} * slots;
  const world::HostUse old_use = stands_;
  const double old_busy = busy_;
  const int more = (state == ReplicaState::runs ? 1 : 0) - (ran ? 1 : 0);
  placed_ += more;
  standing_ += more * plan_.replicas_at(static_cast<int>(part));
  set_load();
  replica.state = state;
  slots_.shift(others, old_use, stands_);
  slots_.shift(slots, before, use(state));
  slots_.mark_busy(-static_cast<double>(others + (ran ? slots : 0)), old_busy);
  slots_.mark_busy(static_cast<double>(placed_) * plan_.slots, busy_);
  tell_draws();
  tell_observer();
}

void ServiceProcess::tell_observer() {
  if (observer_ != nullptr) observer_->zone_changed(*this);
}

void ServiceProcess::tell_draws() {
  if (!recorder_.is_on()) return;
  for (const Replica& r : replicas_) {
    if (r.state == ReplicaState::waits || r.state == ReplicaState::away) continue;
    const world::HostUse now = use(r.state);
    fleet_.note_draw(r.index, now.draw, now.highest);
  }
}

void ServiceProcess::placed(std::uint32_t part, std::span<const cluster::NodeShare>) {
  Replica& replica = replicas_[part];
  slots_.want(-plan_.slots);
  const world::HostUse starts = use(ReplicaState::starts);
  slots_.take(plan_.slots, starts);
  fleet_.note_draw(replica.index, starts.draw, starts.highest);
  replica.state = ReplicaState::starts;
  start(part);
}

void ServiceProcess::start(std::uint32_t part) {
  replicas_[part].timer = kernel_.schedule(kernel_.now().after(plan_.job.start),
                                           sim::EventRank::start, *this, kReady, part);
}

void ServiceProcess::call() {
  reloads_.reset();
  reload_next();
}

// Replicas that are queued or hang load the newest weights when they come back.
void ServiceProcess::reload_next() {
  for (std::uint32_t part = reloads_ ? *reloads_ + 1 : 0; part < replicas_.size(); ++part) {
    Replica& replica = replicas_[part];
    const bool starts = replica.state == ReplicaState::starts;
    if (!starts && replica.state != ReplicaState::runs) continue;
    reloads_ = part;
    kernel_.cancel(replica.timer);
    if (!starts) become(part, ReplicaState::starts);
    return start(part);
  }
  reloads_.reset();
  tell_caller();
}

Seconds ServiceProcess::struck(std::uint32_t part, std::optional<world::HostIndex>,
                               const failure::FaultCause& cause) {
  Replica& replica = replicas_[part];
  ++outcome_.faults;
  if (replica.state != ReplicaState::hangs) {
    outcome_.lost_replicas += static_cast<std::uint64_t>(plan_.replicas_at(static_cast<int>(part)));
    kernel_.cancel(replica.timer);
    become(part, ReplicaState::hangs);
    if (reloads_ == part) reload_next();
  }
  if (cause.scope == failure::FaultScope::process) {
    kernel_.cancel(replica.timer);
    replica.timer =
        kernel_.schedule(kernel_.now().after(detect_), sim::EventRank::finish, *this, kGone, part);
  }
  return detect_;
}

void ServiceProcess::evicted(std::uint32_t part, cluster::StopCause) {
  Replica& replica = replicas_[part];
  kernel_.cancel(replica.timer);
  if (replica.state == ReplicaState::runs) become(part, ReplicaState::hangs);
  slots_.give(plan_.slots, use(replica.state));
  replica.state = ReplicaState::waits;
  slots_.want(plan_.slots);
  if (reloads_ == part) reload_next();
}

double ServiceProcess::in_flight() const {
  const double carried = std::min(rate_here(), standing_ * plan_.most);
  const double each = standing_ > 0 ? carried / standing_ : 0;
  return carried * plan_.stay_at(each).base() + backlog_;
}

void ServiceProcess::follow(int wanted) {
  settle();
  wanted_ = wanted;
  int there = static_cast<int>(std::ranges::count_if(
      replicas_, [](const Replica& r) { return r.state != ReplicaState::away; }));
  const int placements = plan_.placements(wanted_);
  for (std::uint32_t part = 0; part < replicas_.size() && there < placements; ++part) {
    if (replicas_[part].state != ReplicaState::away) continue;
    submit(part);
    if (replicas_[part].state == ReplicaState::away) return;  // none can be placed
    ++there;
    outcome_.called += static_cast<std::uint64_t>(plan_.replicas_at(static_cast<int>(part)));
  }
  for (auto part = static_cast<std::uint32_t>(replicas_.size());
       part-- > 0 && there > placements;) {
    const ReplicaState state = replicas_[part].state;
    if (state == ReplicaState::away || state == ReplicaState::hangs) continue;
    retire(part);
    --there;
  }
}

void ServiceProcess::retire(std::uint32_t part) {
  Replica& replica = replicas_[part];
  kernel_.cancel(replica.timer);
  if (replica.state == ReplicaState::waits) {
    slots_.want(-plan_.slots);
    fleet_.queue().cancel(replica.index);
  } else {
    if (replica.state == ReplicaState::runs) become(part, ReplicaState::starts);
    slots_.give(plan_.slots, use(replica.state));
    fleet_.leave(replica.index);
  }
  replica = {};
  if (reloads_ == part) reload_next();
}

void ServiceProcess::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  if (kind == kLook) {
    settle();
    const int wanted =
        scaler_->look((kernel_.now() - sim::SimTime()).seconds().base(), in_flight());
    if (wanted != wanted_) follow(wanted);
    kernel_.schedule(kernel_.now().after(plan_.job.serve->autoscale->period),
                     sim::EventRank::control, *this, kLook);
    return;
  }
  if (kind == kHour) {
    settle();
    const world::HostUse before = stands_;
    const double old_busy = busy_;
    hour_ = (hour_ + 1) % plan_.job.day.size();
    set_load();
    take_up_load(before, old_busy);
    tell_observer();
    kernel_.schedule(kernel_.now().after(hours(1)), sim::EventRank::control, *this, kHour);
    return;
  }
  const auto part = static_cast<std::uint32_t>(data);
  if (kind == kReady) {
    become(part, ReplicaState::runs);
    if (reloads_ == part) reload_next();
    return;
  }
  // The launcher starts the processes again in the same place.
  become(part, ReplicaState::starts);
  start(part);
}

void ServiceProcess::close() {
  if (!replicas_.empty()) settle();
}

}  // namespace orrery::processes
