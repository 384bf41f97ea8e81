#include "layers/fabric/flow_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery::fabric {
namespace {

constexpr double kNsPerSecond = 1e9;
// A flow whose remaining time is less than this ends with the others: half the clock's resolution.
constexpr double kGrain = 0.5e-9;
// Rates closer than this are equal: the same flows solved in another order differ by less.
constexpr double kSameRate = 1e-9;
// A group is divided again once one in this many of its flows has left.
constexpr std::size_t kLeftToDivide = 4;
constexpr std::uint32_t kUnused = 0xffffffff;

std::uint64_t packed(FlowGroupId id) { return std::uint64_t{id.generation} << 32 | id.slot; }
FlowGroupId unpacked(std::uint64_t data) {
  return {static_cast<std::uint32_t>(data), static_cast<std::uint32_t>(data >> 32)};
}

}  // namespace

FlowEngine::FlowEngine(sim::Kernel& kernel, std::vector<double> capacities, FlowOptions options)
    : kernel_(kernel),
      options_(options),
      capacity_(std::move(capacities)),
      solver_ids_(capacity_.size(), kUnused) {}

std::uint32_t FlowEngine::solver_link(LinkId link) {
  const std::uint32_t id = solver_ids_[static_cast<std::size_t>(link)];
  return id == kUnused ? new_solver_link(link) : id;
}

std::uint32_t FlowEngine::new_solver_link(LinkId link) {
  groups_.add_link();
  return solver_ids_[static_cast<std::size_t>(link)] =
             solver_.add_link(capacity_[static_cast<std::size_t>(link)]);
}

void FlowEngine::reserve(std::size_t flows, std::size_t hops) {
  table_.flows.reserve(flows);
  table_.paths.reserve(hops);
  finished_.reserve(flows);
  tags_.reserve(flows);
}

FlowId FlowEngine::new_flow(std::span<const LinkId> path) {
  const std::size_t hops = path.size();
  if (!keep_finished_ && hops < free_by_hops_.size() && !free_by_hops_[hops].empty()) {
    const FlowId f = free_by_hops_[hops].back();
    free_by_hops_[hops].pop_back();
    std::uint32_t at = table_.flows[f].path_begin;
    for (const LinkId l : path) table_.paths[at++] = solver_link(l);
    return f;
  }
  const auto f = static_cast<FlowId>(table_.flows.size());
  FlowState state;
  state.path_begin = static_cast<std::uint32_t>(table_.paths.size());
  state.hops = static_cast<std::uint16_t>(hops);
  table_.flows.push_back(state);
  for (const LinkId l : path) table_.paths.push_back(solver_link(l));
  finished_.push_back(-1);
  tags_.push_back(0);
  if (!table_.weights.empty()) table_.weights.push_back(1);
  if (!table_.caps.empty()) table_.caps.push_back(kUncapped);
  if (!observers_.empty()) observers_.push_back(nullptr);
  return f;
}

void FlowEngine::set_terms(FlowId f, const FlowRequest& request) {
  const std::size_t flows = table_.flows.size();
  if (request.priority != 0) table_.has_priorities = true;
  if (request.weight != 1 && table_.weights.empty()) table_.weights.assign(flows, 1);
  if (!table_.weights.empty()) table_.weights[f] = request.weight;
  if (request.cap < kUncapped && table_.caps.empty()) table_.caps.assign(flows, kUncapped);
  if (!table_.caps.empty()) table_.caps[f] = request.cap;
  if (request.observer && observers_.empty()) observers_.assign(flows, nullptr);
  if (!observers_.empty()) observers_[f] = request.observer;
}

FlowId FlowEngine::start(const FlowRequest& request) {
  const FlowId f = new_flow(request.path);
  FlowState& state = table_.flows[f];
  // A path without links (a message to oneself) completes at once, unless it has a cap.
  const bool moves = !request.path.empty() || request.cap < kUncapped;
  state.remaining = moves ? std::max(0.0, request.bytes) : 0;
  state.rate = 0;
  state.priority = request.priority;
  state.active = FlowState::kAtRest;
  finished_[f] = -1;
  tags_[f] = request.tag;
  set_terms(f, request);
  wait(f, kernel_.now().after(Seconds(request.latency)));
  return f;
}

void FlowEngine::wait(FlowId flow, sim::SimTime until) {
  ++waiting_;
  if (last_due_at_ != until.ns()) {
    const auto [due, is_new] = due_.try_emplace(until.ns());
    if (is_new) {
      kernel_.schedule(until, sim::EventRank::start, *this, kActivate,
                       static_cast<std::uint64_t>(until.ns()));
    }
    last_due_ = &due->second;
    last_due_at_ = until.ns();
  }
  last_due_->flows.push_back(flow);
  last_due_->started = std::min(last_due_->started, kernel_.now());
}

// Removes flows that were cancelled during their latency.
void FlowEngine::drop_cancelled(std::vector<FlowId>& arrived) {
  if (cancelled_waiting_ == 0) return;
  std::erase_if(arrived, [&](FlowId f) {
    const bool gone = table_.flows[f].active == FlowState::kCancelled;
    if (gone) recycle(f), --cancelled_waiting_;
    return gone;
  });
}

void FlowEngine::activate(sim::SimTime at) {
  const auto due = due_.find(at.ns());
  if (due == due_.end()) return;
  Arrival arrival = std::move(due->second);
  due_.erase(due);
  last_due_at_ = -1;
  drop_cancelled(arrival.flows);
  if (arrival.flows.empty()) return;
  waiting_ -= arrival.flows.size();
  active_ += arrival.flows.size();
  std::vector<FlowGroupId> met, all;
  if (options_.whole) all = groups_.all();
  const FlowGroupId begun = groups_.begin(table_, std::move(arrival.flows), met);
  groups_[begun].advanced_to = kernel_.now();
  groups_[begun].began = arrival.started;
  if (options_.whole) met = std::move(all);
  for (const FlowGroupId id : met) {
    advance(groups_[id]);
    kernel_.cancel(groups_[id].next_finish);
  }
  touch(groups_.join(table_, begun, met));
}

void FlowEngine::set_capacity(LinkId link, BytesPerSecond capacity) {
  capacity_[static_cast<std::size_t>(link)] = capacity.base();
  const std::uint32_t id = solver_link(link);
  solver_.set_capacity(id, capacity.base());
  if (options_.whole) {
    for (const FlowGroupId group : groups_.all()) touch(group);
  } else {
    touch(groups_.of_link(id));
  }
}

// A flow without links is found by searching all groups; such flows are rare.
FlowGroupId FlowEngine::group_of(FlowId flow) {
  const auto path = table_.path(flow);
  if (!path.empty()) return groups_.of_link(path.front());
  for (const FlowGroupId id : groups_.all()) {
    const auto& flows = groups_[id].flows;
    if (std::ranges::find(flows, flow) != flows.end()) return id;
  }
  return {};
}

Bytes FlowEngine::cancel(FlowId flow) {
  FlowState& state = table_.flows[flow];
  if (is_done(flow) || state.active == FlowState::kCancelled) return {};
  double left = state.remaining;
  if (state.active == FlowState::kActive) {
    const FlowGroupId id = group_of(flow);
    FlowGroup& group = groups_[id];
    left -= state.rate * (kernel_.now() - group.advanced_to).seconds().base();
    group.has_cancelled = true;
    ++group.left;
    --active_;
    cancelled_.push_back(flow);
    touch(id);
  } else {
    --waiting_;
    ++cancelled_waiting_;
  }
  state.active = FlowState::kCancelled;
  state.rate = 0;
  return Bytes(std::max(0.0, left));
}

void FlowEngine::recycle(FlowId flow) {
  if (keep_finished_) return;
  const std::size_t hops = table_.flows[flow].hops;
  if (free_by_hops_.size() <= hops) free_by_hops_.resize(hops + 1);
  free_by_hops_[hops].push_back(flow);
}

// Marks the group to be solved at the end of this instant.
void FlowEngine::touch(FlowGroupId id) {
  if (!groups_.is_living(id) || groups_[id].is_touched) return;
  groups_[id].is_touched = true;
  touched_.push_back(id);
  if (!kernel_.is_pending(settle_timer_)) {
    settle_timer_ = kernel_.schedule(kernel_.now(), sim::EventRank::settle, *this, kSettle);
  }
}

void FlowEngine::advance(FlowGroup& group) {
  const double dt = (kernel_.now() - group.advanced_to).seconds().base();
  group.advanced_to = kernel_.now();
  if (dt <= 0) return;
  visits_ += group.flows.size();
  for (const std::uint32_t f : group.flows) {
    FlowState& state = table_.flows[f];
    state.remaining -= state.rate * dt;
  }
}

void FlowEngine::finish(FlowId flow, std::int64_t at_ns) {
  FlowState& state = table_.flows[flow];
  state.active = FlowState::kAtRest;
  state.rate = 0;
  finished_[flow] = at_ns;
  last_finish_ = std::max(last_finish_, sim::SimTime::nanoseconds(at_ns));
}

// Advances the flows and ends those with nothing left; a flow that finished earlier within a batch
// gets its own end time. Removes the group if it is empty. Returns the number of flows that ended.
std::size_t FlowEngine::end_finished(FlowGroupId id) {
  FlowGroup& group = groups_[id];
  const std::int64_t now = kernel_.now().ns();
  const double dt = (kernel_.now() - group.advanced_to).seconds().base();
  group.advanced_to = kernel_.now();
  visits_ += group.flows.size();
  std::vector<FlowId> ended = std::exchange(ended_, {});
  ended.clear();
  std::size_t kept = 0;
  for (const std::uint32_t f : group.flows) {
    FlowState& state = table_.flows[f];
    state.remaining -= state.rate * dt;
    if (state.remaining > state.rate * kGrain) {
      group.flows[kept++] = f;
      continue;
    }
    if (state.active != FlowState::kActive) continue;
    const double over = state.rate > 0 ? -state.remaining / state.rate * kNsPerSecond : 0;
    finish(f, now - (over >= 1 ? std::llround(over) : 0));
    ended.push_back(f);
  }
  group.flows.resize(kept);
  group.left += static_cast<std::uint32_t>(ended.size());
  active_ -= ended.size();
  if (group.flows.empty()) {
    kernel_.cancel(group.next_finish);
    groups_.remove(id);
  }
  tell_ended(ended);
  const std::size_t count = ended.size();
  ended_ = std::move(ended);
  return count;
}

FlowObserver* FlowEngine::observer_of(FlowId flow) const {
  return observers_.empty() || !observers_[flow] ? observer_ : observers_[flow];
}

// The observers may start flows, so records are reused only afterwards.
void FlowEngine::tell_ended(const std::vector<FlowId>& ended) {
  for (const FlowId f : ended) {
    if (FlowObserver* observer = observer_of(f)) observer->on_flow_done(kernel_, f, tags_[f]);
  }
  for (const FlowId f : ended) recycle(f);
}

void FlowEngine::settle() {
  const std::vector<FlowGroupId> touched = std::exchange(touched_, {});
  const std::vector<FlowId> cancelled = std::exchange(cancelled_, {});
  for (const FlowGroupId id : touched) {
    if (groups_.is_living(id)) settle_group(id);
  }
  for (const FlowId f : cancelled) recycle(f);
  tell_rates();
}

void FlowEngine::settle_group(FlowGroupId id) {
  FlowGroup& group = groups_[id];
  group.is_touched = false;
  if (std::exchange(group.has_cancelled, false)) {
    visits_ += group.flows.size();
    std::erase_if(group.flows,
                  [&](FlowId f) { return table_.flows[f].active == FlowState::kCancelled; });
  }
  kernel_.cancel(group.next_finish);
  if (group.flows.empty()) return groups_.remove(id);
  advance(group);
  // Within a batch some flows may have finished before an arrival brought the clock here.
  if (options_.tolerance > 0) end_finished(id);
  if (!groups_.is_living(id)) return;
  const bool is_fresh = std::exchange(group.is_fresh, false);
  const bool may_fall_apart =
      !group.is_component || group.left * kLeftToDivide >= group.flows.size();
  if (options_.whole || is_fresh || !may_fall_apart) return solve(id);
  for (const FlowGroupId part : groups_.divide(table_, id)) solve(part);
}

void FlowEngine::solve(FlowGroupId id) {
  FlowGroup& group = groups_[id];
  if (!observers_.empty()) {
    for (const FlowId f : group.flows) {
      if (observers_[f]) rates_before_.push_back({f, table_.flows[f].rate});
    }
  }
  ++solves_;
  visits_ += group.flows.size();
  solver_.solve(table_, group.flows, group.has_grown || id != last_solved_);
  group.has_grown = false;
  last_solved_ = id;
  schedule_next(id);
}

void FlowEngine::tell_rates() {
  const std::vector<RateBefore> before = std::exchange(rates_before_, {});
  for (const auto& [f, rate] : before) {
    const FlowState& state = table_.flows[f];
    const bool same = std::abs(state.rate - rate) <= kSameRate * std::max(state.rate, rate);
    if (state.active != FlowState::kActive || same) continue;
    observers_[f]->on_flow_rate(kernel_, f, tags_[f], BytesPerSecond(state.rate));
  }
}

void FlowEngine::schedule_next(FlowGroupId id) {
  FlowGroup& group = groups_[id];
  visits_ += group.flows.size();
  double soonest = kUncapped, latest = 0;
  for (const std::uint32_t f : group.flows) {
    const FlowState& state = table_.flows[f];
    const double left = state.remaining > 0 ? state.remaining : 0;
    const double at = state.rate > 0 ? left / state.rate : (left > 0 ? kUncapped : 0);
    soonest = std::min(soonest, at);
    if (at < kUncapped) latest = std::max(latest, at);
  }
  if (soonest == kUncapped) return;  // every flow in the group crosses a lost link
  double ahead = soonest;
  if (options_.tolerance > 0) {
    const double span = (kernel_.now() - group.began).seconds().base() + latest;
    ahead = std::min(latest, soonest + options_.tolerance * span);
  }
  group.next_finish = kernel_.schedule(kernel_.now().after(Seconds(ahead)), sim::EventRank::finish,
                                       *this, kFinish, packed(id));
}

void FlowEngine::on_finish(FlowGroupId id) {
  if (end_finished(id) > 0) return touch(id);
  // The clock rounded down to just before the end of the flow: check again one nanosecond later.
  groups_[id].next_finish = kernel_.schedule(kernel_.now() + sim::SimTime::nanoseconds(1),
                                             sim::EventRank::finish, *this, kFinish, packed(id));
}

double FlowEngine::violation() const {
  std::vector<std::uint32_t> flows;
  for (std::uint32_t f = 0; f < table_.flows.size(); ++f) {
    if (table_.flows[f].active == FlowState::kActive) flows.push_back(f);
  }
  return max_min_violation(table_, flows, solver_.capacities());
}

void FlowEngine::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kActivate:
      return activate(sim::SimTime::nanoseconds(static_cast<std::int64_t>(data)));
    case kFinish:
      return on_finish(unpacked(data));
    default:
      settle();
  }
}

}  // namespace orrery::fabric
