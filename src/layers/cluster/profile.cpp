#include "layers/cluster/profile.h"

#include <algorithm>
#include <numeric>

namespace orrery::cluster {

using sim::SimTime;

void FreeProfile::reset(SimTime now, const NodePool& pool, const StartGate* gate) {
  probe_ = pool;
  nodes_ = static_cast<std::size_t>(pool.nodes());
  times_.assign(1, now);
  free_.resize(nodes_);
  for (std::size_t n = 0; n < nodes_; ++n) {
    const int node = static_cast<int>(n);
    free_[n] = pool.is_up(node) ? pool.free_on(node) : 0;
  }
  left_.clear();
  if (gate != nullptr) gate->add_left(left_);
  limits_ = left_.size();
}

void FreeProfile::advance(SimTime now) {
  std::size_t past = 0;
  while (past + 1 < times_.size() && times_[past + 1] <= now) ++past;
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(past));
  free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(past * nodes_));
  left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(past * limits_));
  times_.front() = now;
}

std::size_t FreeProfile::step_at(SimTime t) {
  const auto after = std::ranges::upper_bound(times_, t);
  const auto step = static_cast<std::size_t>(after - times_.begin());
  if (step == 0) return 0;
  if (times_[step - 1] == t) return step - 1;
  times_.insert(after, t);
  // The new step starts as a copy of the step that it was split from.
  const auto split = [step](auto& values, std::size_t each) {
    const auto from = static_cast<std::ptrdiff_t>((step - 1) * each);
    values.insert(values.begin() + from, each, 0);
    std::copy_n(values.begin() + from + static_cast<std::ptrdiff_t>(each), each,
                values.begin() + from);
  };
  split(free_, nodes_);
  split(left_, limits_);
  return step;
}

void FreeProfile::add(SimTime from, SimTime until, std::span<const NodeShare> shares,
                      const LimitUses& uses, int sign) {
  if (until <= from) return;
  const std::size_t first = step_at(from);
  const std::size_t last = until.is_never() ? times_.size() : step_at(until);
  for (std::size_t step = first; step < last; ++step) {
    for (const NodeShare& s : shares) {
      free_[step * nodes_ + static_cast<std::size_t>(s.node)] += sign * s.gpus;
    }
    for (const LimitUse& u : uses) left_[step * limits_ + u.limit] += sign * u.amount;
  }
}

void FreeProfile::give_from(SimTime from, std::span<const NodeShare> shares,
                            const LimitUses& uses) {
  add(from, SimTime::never(), shares, uses, +1);
}

void FreeProfile::take_between(SimTime from, SimTime until, std::span<const NodeShare> shares,
                               const LimitUses& uses) {
  add(from, until, shares, uses, -1);
}

void FreeProfile::give_between(SimTime from, SimTime until, std::span<const NodeShare> shares,
                               const LimitUses& uses) {
  add(from, until, shares, uses, +1);
}

bool FreeProfile::admits(std::size_t step, const LimitUses& uses) const {
  return std::ranges::all_of(
      uses, [&](const LimitUse& u) { return u.amount <= left_[step * limits_ + u.limit]; });
}

std::size_t FreeProfile::first_closed(std::size_t first, SimTime until,
                                      const LimitUses& uses) const {
  std::size_t step = first;
  while (step < times_.size() && (step == first || times_[step] < until)) {
    if (!admits(step, uses)) return step;
    ++step;
  }
  return times_.size();
}

void FreeProfile::close_between(sim::SimTime from, sim::SimTime until, const NodeMask& nodes) {
  shift_nodes(from, until, nodes, -1);
}

void FreeProfile::open_between(sim::SimTime from, sim::SimTime until, const NodeMask& nodes) {
  shift_nodes(from, until, nodes, +1);
}

// Subtracts more than a node has, so that nothing on it is free even if GPUs are given back during
// that time.
void FreeProfile::shift_nodes(sim::SimTime from, sim::SimTime until, const NodeMask& nodes,
                              int sign) {
  constexpr int kMoreThanANode = 1 << 20;
  const std::size_t first = step_at(from);
  const std::size_t last = step_at(until);
  for (std::size_t step = first; step < last; ++step) {
    for (std::size_t n = 0; n < nodes_; ++n) {
      if ((nodes[n / 64] >> (n % 64) & 1) != 0) free_[step * nodes_ + n] += sign * kMoreThanANode;
    }
  }
}

bool FreeProfile::holds(SimTime from, SimTime length, std::span<const NodeShare> shares,
                        const LimitUses& uses) const {
  const SimTime until = from + length;
  for (std::size_t step = 0; step < times_.size() && times_[step] < until; ++step) {
    if (step + 1 < times_.size() && times_[step + 1] <= from) continue;
    for (const NodeShare& s : shares) {
      if (free_of(step)[s.node] < s.gpus) return false;
    }
    if (!admits(step, uses)) return false;
  }
  return true;
}

// A window cannot contain a step with too little, so the next candidate start is after that step.
SimTime FreeProfile::find_counted(int gpus, SimTime length, SimTime latest,
                                  const LimitUses& uses) const {
  const auto has = [&](std::size_t step) { return free_[step] >= gpus && admits(step, uses); };
  for (std::size_t first = 0; first < times_.size() && times_[first] <= latest;) {
    const SimTime until = times_[first] + length;
    std::size_t step = first;
    while (step < times_.size() && times_[step] < until && has(step)) ++step;
    if (step == times_.size() || times_[step] >= until) {
      // A job of zero length still needs its GPUs at its start.
      if (step > first) return times_[first];
      if (has(first)) return times_[first];
    }
    first = step + 1;
  }
  return SimTime::never();
}

SimTime FreeProfile::find(const GpuAsk& ask, SimTime length, const NodeMask* allowed,
                          SimTime latest, std::vector<NodeShare>& where, const LimitUses& uses) {
  where.clear();
  if (probe_.is_plain()) {
    const SimTime at = find_counted(ask.gpus, length, latest, uses);
    if (!at.is_never()) where.push_back({.node = 0, .gpus = ask.gpus});
    return at;
  }
  for (std::size_t first = 0; first < times_.size() && times_[first] <= latest; ++first) {
    // The total count rules out most starts.
    const int free = std::accumulate(free_of(first), free_of(first) + nodes_, 0,
                                     [](int sum, int f) { return sum + std::max(0, f); });
    if (free < ask.gpus) continue;
    const SimTime until = times_[first] + length;
    const std::size_t closed = first_closed(first, until, uses);
    if (closed < times_.size()) {
      first = closed;
      continue;
    }
    least_.assign(free_of(first), free_of(first) + nodes_);
    for (std::size_t step = first + 1; step < times_.size() && times_[step] < until; ++step) {
      for (std::size_t n = 0; n < nodes_; ++n) least_[n] = std::min(least_[n], free_of(step)[n]);
    }
    for (int& f : least_) f = std::max(f, 0);  // closed nodes count as 0
    probe_.assign_free(least_);
    if (probe_.place(ask, allowed, where)) return times_[first];
  }
  return SimTime::never();
}

}  // namespace orrery::cluster
