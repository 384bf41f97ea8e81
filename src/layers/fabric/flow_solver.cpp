#include "layers/fabric/flow_solver.h"

#include <algorithm>
#include <cmath>

namespace orrery::fabric {
namespace {

// Levels closer than this are equal: sums of the same rates in another order differ by less.
constexpr double kSameLevel = 1e-12;
// If less than this share of the indexed flows is still active, the index is rebuilt.
constexpr double kWorthKeeping = 0.7;
// If a round freezes fewer than one flow in this many, the heap handles the rest.
constexpr std::size_t kLeastShare = 8;
// If the first round froze few flows, rounds are skipped for this many solves.
constexpr int kSkippedSolves = 32;
// Flows between prefetching a record and using it.
constexpr std::uint32_t kAhead = 8;

}  // namespace

std::uint32_t MaxMinSolver::add_link(double capacity) {
  capacity_.push_back(capacity);
  links_.emplace_back();
  level_.push_back(0);
  agree_.push_back(0);
  index_begin_.push_back(0);
  index_count_.push_back(0);
  return static_cast<std::uint32_t>(capacity_.size() - 1);
}

void MaxMinSolver::push(Candidate c) {
  heap_.push_back(c);
  std::push_heap(heap_.begin(), heap_.end(),
                 [](const Candidate& a, const Candidate& b) { return a.after(b); });
}

MaxMinSolver::Candidate MaxMinSolver::pop() {
  std::pop_heap(heap_.begin(), heap_.end(),
                [](const Candidate& a, const Candidate& b) { return a.after(b); });
  const Candidate top = heap_.back();
  heap_.pop_back();
  return top;
}

void MaxMinSolver::count_flows(const FlowTable& table, std::span<const std::uint32_t> flows) {
  touched_.clear();
  capped_.clear();
  const bool weighted = !table.weights.empty(), has_caps = !table.caps.empty();
  for (const std::uint32_t f : flows) {
    const double w = weighted ? table.weights[f] : 1;
    const bool is_capped = has_caps && table.caps[f] < kUncapped;
    frozen_[f] = table.flows[f].hops == 0 && !is_capped;  // limited by nothing, so left alone
    for (const std::uint32_t l : table.path(f)) {
      LinkState& link = links_[l];
      if (link.count == 0) {
        touched_.push_back(l);
        link.weight = 0;
        if (link.stamp != epoch_) {
          link.stamp = epoch_;
          link.residual = capacity_[l];
        }
      }
      ++link.count;
      link.weight += w;
    }
    if (is_capped) capped_.emplace_back(table.caps[f] / w, f);
  }
  std::sort(capped_.begin(), capped_.end(), std::greater<>());
}

// Indexes the flows of each link, one run per link; frozen ones too, because the index outlives
// this solve.
void MaxMinSolver::index_flows(const FlowTable& table, std::span<const std::uint32_t> flows) {
  for (const std::uint32_t l : touched_) index_count_[l] = 0;
  for (const std::uint32_t f : flows) {
    for (const std::uint32_t l : table.path(f)) ++index_count_[l];
  }
  std::uint32_t total = 0;
  for (const std::uint32_t l : touched_) {
    index_begin_[l] = total;
    total += index_count_[l];
    index_count_[l] = 0;
  }
  index_.resize(total);
  for (const std::uint32_t f : flows) {
    for (const std::uint32_t l : table.path(f)) index_[index_begin_[l] + index_count_[l]++] = f;
  }
  indexed_flows_ = flows.size();
}

void MaxMinSolver::freeze(FlowTable& table, std::uint32_t flow, double rate) {
  frozen_[flow] = 1;
  table.flows[flow].rate = rate;
  const double w = table.weight(flow);
  for (const std::uint32_t l : table.path(flow)) {
    LinkState& link = links_[l];
    link.residual -= rate;
    link.weight -= w;
    --link.count;
  }
}

// Freezes, at its cap, each flow whose cap is at or below the level.
void MaxMinSolver::freeze_capped(FlowTable& table, double level) {
  while (!capped_.empty() && capped_.back().first <= level) {
    const std::uint32_t f = capped_.back().second;
    capped_.pop_back();
    if (!frozen_[f]) freeze(table, f, table.cap(f));
  }
}

// Each pending flow votes for the links of its path that have its lowest level.
void MaxMinSolver::vote(const FlowTable& table) {
  for (const std::uint32_t l : open_) {
    level_[l] = links_[l].current();
    agree_[l] = 0;
  }
  for (const std::uint32_t f : pending_) {
    const auto path = table.path(f);
    double lowest = kUncapped;
    for (const std::uint32_t l : path) lowest = std::min(lowest, level_[l]);
    lowest *= 1 + kSameLevel;
    for (const std::uint32_t l : path) agree_[l] += level_[l] <= lowest;
  }
}

// Freezes the flows of every link that is the lowest for all of its flows. Returns true if that
// froze enough flows to justify another round.
bool MaxMinSolver::freeze_round(FlowTable& table) {
  vote(table);
  // Links are marked before any flow freezes, because counts change as flows freeze. The remaining
  // flows use only open links.
  for (const std::uint32_t l : open_) {
    if (agree_[l] != links_[l].count) level_[l] = -1;
  }
  std::size_t kept = 0;
  for (const std::uint32_t f : pending_) {
    double level = -1;
    for (const std::uint32_t l : table.path(f)) level = std::max(level, level_[l]);
    if (level < 0) {
      pending_[kept++] = f;
    } else {
      freeze(table, f, level * table.weight(f));
    }
  }
  const std::size_t frozen = pending_.size() - kept;
  pending_.resize(kept);
  std::erase_if(open_, [&](std::uint32_t l) { return links_[l].count == 0; });
  return frozen > 0 && frozen >= kept / kLeastShare;
}

void MaxMinSolver::freeze_link(FlowTable& table, std::uint32_t l, double level) {
  LinkState& link = links_[l];
  const std::uint32_t end = index_begin_[l] + index_count_[l];
  for (std::uint32_t at = index_begin_[l]; at < end && link.count > 0; ++at) {
    // The flows of one receiver are far apart in memory: prefetch the record, and later its path.
    if (at + 2 * kAhead < end) __builtin_prefetch(&table.flows[index_[at + 2 * kAhead]]);
    if (at + kAhead < end) {
      __builtin_prefetch(&table.paths[table.flows[index_[at + kAhead]].path_begin]);
    }
    const std::uint32_t f = index_[at];
    if (!frozen_[f]) freeze(table, f, level * table.weight(f));
  }
  link.count = 0;
}

// Freezes link by link in order of their levels. A heap entry may be stale if the level has risen
// since.
void MaxMinSolver::drain_heap(FlowTable& table) {
  const auto later = [](const Candidate& a, const Candidate& b) { return a.after(b); };
  heap_.clear();
  for (const std::uint32_t l : touched_) {
    const LinkState& link = links_[l];
    if (link.count > 0) heap_.push_back({link.current(), l});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    const Candidate top = pop();
    LinkState& link = links_[top.link];
    if (link.count == 0) continue;
    const double level = link.current();
    if (level > top.level * (1 + kSameLevel)) {
      push({level, top.link});
    } else if (!capped_.empty() && capped_.back().first <= level) {
      freeze_capped(table, level);
      if (link.count > 0) push({link.current(), top.link});
    } else {
      freeze_link(table, top.link, level);
    }
  }
}

void MaxMinSolver::solve_class(FlowTable& table, std::span<const std::uint32_t> flows) {
  count_flows(table, flows);
  pending_.assign(flows.begin(), flows.end());
  // The rounds do not handle caps; the heap does.
  if (capped_.empty() && --skip_rounds_ < 0) {
    open_.assign(touched_.begin(), touched_.end());
    bool first = true;
    while (!pending_.empty() && freeze_round(table)) first = false;
    if (first && !pending_.empty()) skip_rounds_ = kSkippedSolves;
  }
  if (!pending_.empty()) {
    if (indexed_flows_ == 0) index_flows(table, flows);
    drain_heap(table);
  }
  freeze_capped(table, kUncapped);  // flows without a link
}

void MaxMinSolver::solve(FlowTable& table, std::span<const std::uint32_t> active, bool grown) {
  ++epoch_;
  // Between solves all are marked as frozen, so flows of the index that are no longer listed are
  // skipped.
  frozen_.resize(table.flows.size(), 1);
  if (!table.has_priorities) {
    const auto indexed = static_cast<double>(indexed_flows_);
    if (grown) skip_rounds_ = 0;
    if (grown || static_cast<double>(active.size()) < kWorthKeeping * indexed) indexed_flows_ = 0;
    solve_class(table, active);
    return;
  }
  std::vector<std::uint32_t> sorted(active.begin(), active.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return table.flows[a].priority > table.flows[b].priority;
  });
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    const std::uint8_t priority = table.flows[sorted[begin]].priority;
    while (end < sorted.size() && table.flows[sorted[end]].priority == priority) ++end;
    indexed_flows_ = 0;
    solve_class(table, std::span(sorted).subspan(begin, end - begin));
    begin = end;
  }
}

double max_min_violation(const FlowTable& table, std::span<const std::uint32_t> active,
                         std::span<const double> capacities) {
  std::vector<double> used(capacities.size(), 0), highest(capacities.size(), 0);
  for (const std::uint32_t f : active) {
    for (const std::uint32_t l : table.path(f)) {
      used[l] += table.flows[f].rate;
      highest[l] = std::max(highest[l], table.flows[f].rate / table.weight(f));
    }
  }
  double worst = 0;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (used[l] > capacities[l]) {
      worst = std::max(worst, (used[l] - capacities[l]) / std::max(1.0, capacities[l]));
    }
  }
  for (const std::uint32_t f : active) {
    const double per_weight = table.flows[f].rate / table.weight(f);
    if (table.flows[f].rate >= table.cap(f) * (1 - 1e-9) || table.flows[f].hops == 0) continue;
    double gain = std::numeric_limits<double>::infinity();
    for (const std::uint32_t l : table.path(f)) {
      const double spare = (capacities[l] - used[l]) / std::max(1.0, capacities[l]);
      // On a full link a flow could gain only from flows with a higher rate per weight.
      const double unfair = highest[l] > 0 ? 1 - per_weight / highest[l] : 0;
      gain = std::min(gain, std::max(spare, unfair));
    }
    worst = std::max(worst, gain);
  }
  return worst;
}

}  // namespace orrery::fabric
