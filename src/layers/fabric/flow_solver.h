// Max-min fair rates of flows over links (weighted, capped, by priority): progressive filling.
//
// Links have capacity C_l; flows have weight w_f and possibly a cap. One level x rises for all
// flows; a flow's rate is w_f x until a link of its path is full or its cap is reached, and then
// stays.
//   level of a link = (C_l - rates frozen on it) / sum of weights not yet frozen
// The link with the lowest level is full next: its flows freeze, and their rates are subtracted
// from their other links, whose levels can only rise. So a heap with stale entries suffices: each
// flow is frozen once, and the work is O(F h + B log L) for F flows of h hops, B bottlenecks and L
// links. Strict priorities: a class is solved on what higher classes leave. The result is unique:
// every flow has either its cap or a full link on which no flow has a higher rate per weight
// (`max_min_violation` checks this certificate).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace orrery::fabric {

inline constexpr double kUncapped = std::numeric_limits<double>::infinity();

// One record per flow, kept small, because a change may visit a million of them.
struct FlowState {
  // At rest: waiting for its latency, ended, or never used.
  static constexpr std::uint8_t kAtRest = 0, kActive = 1, kCancelled = 2;

  double remaining = 0;  // bytes
  double rate = 0;       // bytes per second
  std::uint32_t path_begin = 0;
  std::uint16_t hops = 0;
  std::uint8_t priority = 0;  // higher is served first
  std::uint8_t active = kAtRest;
};

// Flows by number; weights and caps exist only if some flow has its own. Paths use the solver's
// link numbers.
struct FlowTable {
  std::vector<FlowState> flows;
  std::vector<std::uint32_t> paths;
  std::vector<double> weights;  // empty: all 1
  std::vector<double> caps;     // empty: none
  bool has_priorities = false;

  std::span<const std::uint32_t> path(std::uint32_t f) const {
    return {paths.data() + flows[f].path_begin, flows[f].hops};
  }
  double weight(std::uint32_t f) const { return weights.empty() ? 1 : weights[f]; }
  double cap(std::uint32_t f) const { return caps.empty() ? kUncapped : caps[f]; }
};

class MaxMinSolver {
 public:
  // Links are numbered in the order they are added.
  std::uint32_t add_link(double capacity);
  void set_capacity(std::uint32_t link, double capacity) { capacity_[link] = capacity; }
  const std::vector<double>& capacities() const { return capacity_; }

  // Sets FlowState::rate of the listed flows. `grown` means that some were not in the list of the
  // last call (or paths changed); otherwise the list has only shrunk, and the index of links to
  // flows is kept.
  void solve(FlowTable& table, std::span<const std::uint32_t> active, bool grown);

 private:
  static constexpr std::uint32_t kNoLink = 0xffffffff;
  struct LinkState {
    double residual = 0;
    double weight = 0;
    std::uint32_t count = 0;  // flows not yet frozen
    std::uint32_t stamp = 0;  // number of the solve that last used it
    double current() const { return residual > 0 ? residual / weight : 0; }
  };
  struct Candidate {
    double level;
    std::uint32_t link;
    bool after(const Candidate& o) const {
      return level != o.level ? level > o.level : link > o.link;
    }
  };

  void solve_class(FlowTable& table, std::span<const std::uint32_t> flows);
  void count_flows(const FlowTable& table, std::span<const std::uint32_t> flows);
  void index_flows(const FlowTable& table, std::span<const std::uint32_t> flows);
  bool freeze_round(FlowTable& table);
  void vote(const FlowTable& table);
  void drain_heap(FlowTable& table);
  void freeze_link(FlowTable& table, std::uint32_t link, double level);
  void freeze_capped(FlowTable& table, double level);
  void freeze(FlowTable& table, std::uint32_t flow, double rate);
  void push(Candidate c);
  Candidate pop();

  std::vector<double> capacity_;
  std::vector<LinkState> links_;
  std::vector<double> level_;         // level in this round
  std::vector<std::uint32_t> agree_;  // flows of the link for which no other link has a lower level
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> open_;         // touched links with flows not yet frozen
  std::vector<std::uint8_t> frozen_;        // indexed by flow
  std::vector<std::uint32_t> index_begin_;  // start of a link's flows in index_, for touched links
  std::vector<std::uint32_t> index_count_;
  std::vector<std::uint32_t> index_;
  std::size_t indexed_flows_ = 0;       // 0: there is no index of the present flows
  std::vector<std::uint32_t> pending_;  // flows not yet frozen
  std::vector<Candidate> heap_;
  std::vector<std::pair<double, std::uint32_t>> capped_;  // (cap / weight, flow), lowest last
  std::uint32_t epoch_ = 0;
  int skip_rounds_ = 0;  // solves until rounds are tried again
};

// Returns how far the rates are from max-min fair: 0 (within rounding) if every flow has its cap or
// a full link on which its rate per weight is the highest; otherwise the largest relative gain
// possible for a flow, or the relative overload of a link. For tests and for engines that
// approximate.
double max_min_violation(const FlowTable& table, std::span<const std::uint32_t> active,
                         std::span<const double> capacities);

}  // namespace orrery::fabric
