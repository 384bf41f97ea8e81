#include "fabric/flow_solver.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Levels this close are one level: sums of the same rates in another order differ by less.
constexpr double kSameLevel = 1e-12;
// Below this share of the indexed flows the index holds too many finished ones.
constexpr double kWorthKeeping = 0.7;

}  // namespace

// Ties go to the up direction (even links) first: a sender's flows lie together in memory.
bool MaxMinSolver::Candidate::after(const Candidate& o) const {
  if (level != o.level) return level > o.level;
  if ((link & 1) != (o.link & 1)) return (link & 1) > (o.link & 1);
  return link > o.link;
}

MaxMinSolver::MaxMinSolver(std::vector<double> capacities)
    : capacity_(std::move(capacities)),
      links_(capacity_.size()),
      index_begin_(capacity_.size()),
      index_count_(capacity_.size()) {}

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
  const bool weighted = !table.weights.empty();
  for (const std::uint32_t f : flows) {
    const double w = weighted ? table.weights[f] : 1;
    for (const LinkId l : table.path(f)) {
      LinkState& link = links_[static_cast<std::size_t>(l)];
      if (link.count == 0) {
        touched_.push_back(l);
        link.weight = 0;
        if (link.stamp != epoch_) {
          link.stamp = epoch_;
          link.residual = capacity_[static_cast<std::size_t>(l)];
        }
      }
      ++link.count;
      link.weight += w;
    }
    if (table.cap(f) < kUncapped) capped_.emplace_back(table.cap(f) / w, f);
  }
  std::sort(capped_.begin(), capped_.end(), std::greater<>());
}

// Flows of each link, one run a link.
void MaxMinSolver::index_flows(const FlowTable& table, std::span<const std::uint32_t> flows) {
  std::uint32_t total = 0;
  for (const LinkId l : touched_) {
    const auto i = static_cast<std::size_t>(l);
    index_begin_[i] = total;
    index_count_[i] = 0;
    total += links_[i].count;
  }
  index_.resize(total);
  for (const std::uint32_t f : flows) {
    for (const LinkId l : table.path(f)) {
      const auto i = static_cast<std::size_t>(l);
      index_[index_begin_[i] + index_count_[i]++] = f;
    }
  }
  indexed_flows_ = flows.size();
}

void MaxMinSolver::freeze(FlowTable& table, std::uint32_t flow, double rate, LinkId by) {
  FlowState& f = table.flows[flow];
  f.frozen = epoch_;
  f.rate = rate;
  if (keep_bottlenecks_) bottleneck_[flow] = by;
  const double w = table.weight(flow);
  for (const LinkId l : table.path(flow)) {
    LinkState& link = links_[static_cast<std::size_t>(l)];
    link.residual -= rate;
    link.weight -= w;
    --link.count;
  }
}

// Flows whose cap lies at or below the level; each freezes at its cap.
void MaxMinSolver::freeze_capped(FlowTable& table, double level) {
  while (!capped_.empty() && capped_.back().first <= level) {
    const std::uint32_t f = capped_.back().second;
    capped_.pop_back();
    if (table.flows[f].frozen != epoch_) freeze(table, f, table.cap(f), -1);
  }
}

void MaxMinSolver::solve_class(FlowTable& table, std::span<const std::uint32_t> flows,
                               bool reuse_index) {
  count_flows(table, flows);
  if (!reuse_index) index_flows(table, flows);
  heap_.clear();
  for (const LinkId l : touched_) {
    const LinkState& link = links_[static_cast<std::size_t>(l)];
    heap_.push_back({std::max(0.0, link.residual) / link.weight, l});
  }
  std::make_heap(heap_.begin(), heap_.end(),
                 [](const Candidate& a, const Candidate& b) { return a.after(b); });
  while (!heap_.empty()) {
    const Candidate top = pop();
    LinkState& link = links_[static_cast<std::size_t>(top.link)];
    if (link.count == 0) continue;
    const double level = std::max(0.0, link.residual) / link.weight;
    if (level > top.level * (1 + kSameLevel)) {
      push({level, top.link});
      continue;
    }
    if (!capped_.empty() && capped_.back().first <= level) {
      freeze_capped(table, level);
      if (link.count > 0) push({std::max(0.0, link.residual) / link.weight, top.link});
      continue;
    }
    const auto i = static_cast<std::size_t>(top.link);
    for (std::uint32_t at = index_begin_[i]; at < index_begin_[i] + index_count_[i]; ++at) {
      const std::uint32_t f = index_[at];
      const FlowState& state = table.flows[f];
      if (state.frozen == epoch_ || !state.active) continue;
      freeze(table, f, level * table.weight(f), top.link);
      if (link.count == 0) break;
    }
    link.count = 0;
  }
  freeze_capped(table, kUncapped);  // flows without a link
}

void MaxMinSolver::solve(FlowTable& table, std::span<const std::uint32_t> active, bool grown) {
  ++epoch_;
  if (keep_bottlenecks_) bottleneck_.resize(table.flows.size(), -1);
  if (!table.has_priorities) {
    const bool reuse = !grown && static_cast<double>(active.size()) >
                                     kWorthKeeping * static_cast<double>(indexed_flows_);
    solve_class(table, active, reuse);
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
    solve_class(table, std::span(sorted).subspan(begin, end - begin), false);
    begin = end;
  }
}

double max_min_violation(const FlowTable& table, std::span<const std::uint32_t> active,
                         std::span<const double> capacities) {
  std::vector<double> used(capacities.size(), 0), highest(capacities.size(), 0);
  for (const std::uint32_t f : active) {
    for (const LinkId l : table.path(f)) {
      const auto i = static_cast<std::size_t>(l);
      used[i] += table.flows[f].rate;
      highest[i] = std::max(highest[i], table.flows[f].rate / table.weight(f));
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
    for (const LinkId l : table.path(f)) {
      const auto i = static_cast<std::size_t>(l);
      const double spare = (capacities[i] - used[i]) / std::max(1.0, capacities[i]);
      // On a full link it could gain only from a flow with more per weight.
      const double unfair = highest[i] > 0 ? 1 - per_weight / highest[i] : 0;
      gain = std::min(gain, std::max(spare, unfair));
    }
    worst = std::max(worst, gain);
  }
  return worst;
}

}  // namespace orrery
