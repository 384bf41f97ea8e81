#include "fabric/flow_engine.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr double kPsPerSecond = 1e12;
// A flow whose rest takes less than this ends with the others: half the clock's grain.
constexpr double kGrain = 0.5e-12;
constexpr std::uint32_t kUnused = 0xffffffff;

}  // namespace

FlowEngine::FlowEngine(Kernel& kernel, std::vector<double> capacities, FlowOptions options)
    : kernel_(kernel),
      options_(options),
      capacity_(std::move(capacities)),
      solver_ids_(capacity_.size(), kUnused) {}

std::uint32_t FlowEngine::solver_link(LinkId link) {
  std::uint32_t& id = solver_ids_[static_cast<std::size_t>(link)];
  if (id == kUnused) id = solver_.add_link(capacity_[static_cast<std::size_t>(link)]);
  return id;
}

void FlowEngine::reserve(std::size_t flows, std::size_t hops) {
  table_.flows.reserve(flows);
  table_.paths.reserve(hops);
  finished_.reserve(flows);
  tags_.reserve(flows);
  active_.reserve(flows);
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
  return f;
}

FlowId FlowEngine::start(const FlowRequest& request) {
  const FlowId f = new_flow(request.path);
  FlowState& state = table_.flows[f];
  // A path without links (a message to oneself) moves at once; with a cap it takes its time.
  const bool moves = !request.path.empty() || request.cap < kUncapped;
  state.remaining = moves ? std::max(0.0, request.bytes) : 0;
  state.rate = 0;
  state.priority = request.priority;
  state.active = 0;
  finished_[f] = -1;
  tags_[f] = request.tag;
  if (request.priority != 0) table_.has_priorities = true;
  if (request.weight != 1 && table_.weights.empty()) table_.weights.assign(table_.flows.size(), 1);
  if (!table_.weights.empty()) table_.weights[f] = request.weight;
  if (request.cap < kUncapped && table_.caps.empty()) {
    table_.caps.assign(table_.flows.size(), kUncapped);
  }
  if (!table_.caps.empty()) table_.caps[f] = request.cap;
  first_start_ = std::min(first_start_, kernel_.now());
  wait(f, kernel_.now() + SimTime::from(Seconds(request.latency)));
  return f;
}

void FlowEngine::wait(FlowId flow, SimTime until) {
  ++waiting_;
  if (last_bucket_at_ != until.ps()) {
    const auto [bucket, is_new] = due_.try_emplace(until.ps());
    if (is_new) {
      kernel_.schedule(until, EventRank::start, *this, kActivate,
                       static_cast<std::uint64_t>(until.ps()));
    }
    last_bucket_ = &bucket->second;
    last_bucket_at_ = until.ps();
  }
  last_bucket_->push_back(flow);
}

void FlowEngine::activate(SimTime at) {
  const auto bucket = due_.find(at.ps());
  if (bucket == due_.end()) return;
  advance_to(kernel_.now());
  for (const FlowId f : bucket->second) {
    FlowState& state = table_.flows[f];
    state.active = 1;
    active_.push_back(f);
  }
  waiting_ -= bucket->second.size();
  due_.erase(bucket);
  last_bucket_at_ = -1;
  grown_ = true;
  changed();
}

void FlowEngine::set_capacity(LinkId link, BytesPerSecond capacity) {
  advance_to(kernel_.now());
  capacity_[static_cast<std::size_t>(link)] = capacity.base();
  solver_.set_capacity(solver_link(link), capacity.base());
  changed();
}

void FlowEngine::changed() {
  if (!kernel_.is_pending(settle_timer_)) {
    settle_timer_ = kernel_.schedule(kernel_.now(), EventRank::settle, *this, kSettle);
  }
}

void FlowEngine::advance_to(SimTime now) {
  const double dt = (now - advanced_to_).seconds().base();
  if (dt > 0) {
    for (const std::uint32_t f : active_) {
      FlowState& state = table_.flows[f];
      state.remaining -= state.rate * dt;
    }
  }
  advanced_to_ = now;
}

void FlowEngine::finish(FlowId flow, std::int64_t at_ps) {
  FlowState& state = table_.flows[flow];
  state.active = 0;
  state.rate = 0;
  finished_[flow] = at_ps;
  last_finish_ = std::max(last_finish_, SimTime::picoseconds(at_ps));
  ended_.push_back(flow);
}

// Ends every flow with nothing left; a flow that ran dry within a batch ended at its own time.
void FlowEngine::end_finished(Kernel& kernel) {
  const std::int64_t now = kernel.now().ps();
  ended_.clear();
  std::size_t kept = 0;
  for (const std::uint32_t f : active_) {
    FlowState& state = table_.flows[f];
    if (state.remaining > state.rate * kGrain) {
      active_[kept++] = f;
      continue;
    }
    const double over = state.rate > 0 ? -state.remaining / state.rate * kPsPerSecond : 0;
    finish(f, now - (over >= 1 ? std::llround(over) : 0));
  }
  active_.resize(kept);
  if (ended_.empty()) return;
  // The observer may start flows: walk a copy of what ended, records are recycled afterwards.
  const std::vector<FlowId> ended = ended_;
  for (const FlowId f : ended) {
    if (observer_) observer_->on_flow_done(kernel, f, tags_[f]);
  }
  if (keep_finished_) return;
  for (const FlowId f : ended) {
    const std::size_t hops = table_.flows[f].hops;
    if (free_by_hops_.size() <= hops) free_by_hops_.resize(hops + 1);
    free_by_hops_[hops].push_back(f);
  }
}

void FlowEngine::settle() {
  // Within a batch some may have run dry before an arrival brought the clock here.
  if (options_.tolerance > 0) end_finished(kernel_);
  ++solves_;
  solver_.solve(table_, active_, grown_);
  grown_ = false;
  schedule_next();
}

void FlowEngine::schedule_next() {
  kernel_.cancel(next_finish_);
  double soonest = kUncapped, latest = 0;
  for (const std::uint32_t f : active_) {
    const FlowState& state = table_.flows[f];
    const double left = state.remaining > 0 ? state.remaining : 0;
    const double at = state.rate > 0 ? left / state.rate : (left > 0 ? kUncapped : 0);
    soonest = std::min(soonest, at);
    if (at < kUncapped) latest = std::max(latest, at);
  }
  if (soonest == kUncapped) return;  // nothing runs: idle, or every flow stands on a lost link
  double ahead = soonest;
  if (options_.tolerance > 0) {
    const double span = (kernel_.now() - first_start_).seconds().base() + latest;
    ahead = std::min(latest, soonest + options_.tolerance * span);
  }
  const SimTime at = kernel_.now() + SimTime::from(Seconds(ahead));
  next_finish_ = kernel_.schedule(at, EventRank::finish, *this, kFinish);
}

void FlowEngine::on_event(Kernel& kernel, std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kActivate:
      activate(SimTime::picoseconds(static_cast<std::int64_t>(data)));
      break;
    case kFinish:
      advance_to(kernel.now());
      end_finished(kernel);
      if (!ended_.empty()) {
        changed();
        break;
      }
      // The clock's grain ended just before the flow did: look again a grain later.
      next_finish_ = kernel.schedule(kernel.now() + SimTime::picoseconds(1), EventRank::finish,
                                     *this, kFinish);
      break;
    default:
      settle();
  }
}

}  // namespace orrery
