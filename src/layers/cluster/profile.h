// What is free when: steps in time, node by node, from now on.
//
// A running job's GPUs come back at its end; a reservation takes some for a while. The earliest
// place of a request is the first step from which the least that is free over its whole time holds
// it. What is left of a gate's limits (start_gate.h) is counted beside the nodes. Steps are few
// (ends and reservations), so a list is faster than a tree; for n steps and m nodes a search costs
// O(n^2 m) at worst and O(n) in a plain pool.
#pragma once

#include <span>
#include <vector>

#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

class FreeProfile {
 public:
  // What is free now stays free, as far as is known yet. Keeps a copy of the pool to place on.
  void reset(sim::SimTime now, const NodePool& pool, const StartGate* gate = nullptr);
  // Forgets what lies before.
  void advance(sim::SimTime now);

  // Positive counts come back at `from` for good.
  void give_from(sim::SimTime from, std::span<const NodeShare> shares, const LimitUses& uses = {});
  void take_between(sim::SimTime from, sim::SimTime until, std::span<const NodeShare> shares,
                    const LimitUses& uses = {});
  void give_between(sim::SimTime from, sim::SimTime until, std::span<const NodeShare> shares,
                    const LimitUses& uses = {});

  // The earliest start from which the request has its place for `length`; never() where there is
  // none up to `latest`. Starts are tried now and where a step begins.
  sim::SimTime find(const GpuAsk& ask, sim::SimTime length, const NodeMask* allowed,
                    sim::SimTime latest, std::vector<NodeShare>& where, const LimitUses& uses = {});
  // All GPUs of the nodes of a mask are gone for a while, and are back.
  void close_between(sim::SimTime from, sim::SimTime until, const NodeMask& nodes);
  void open_between(sim::SimTime from, sim::SimTime until, const NodeMask& nodes);
  bool holds(sim::SimTime from, sim::SimTime length, std::span<const NodeShare> shares,
             const LimitUses& uses = {}) const;

  std::size_t steps() const { return times_.size(); }
  sim::SimTime start() const { return times_.front(); }

 private:
  std::size_t step_at(sim::SimTime t);  // splits where t lies within a step
  void add(sim::SimTime from, sim::SimTime until, std::span<const NodeShare> shares,
           const LimitUses& uses, int sign);
  void shift_nodes(sim::SimTime from, sim::SimTime until, const NodeMask& nodes, int sign);
  bool admits(std::size_t step, const LimitUses& uses) const;
  // The first step in a window from `first` on that does not admit; none: the window's end.
  std::size_t first_closed(std::size_t first, sim::SimTime until, const LimitUses& uses) const;
  sim::SimTime find_counted(int gpus, sim::SimTime length, sim::SimTime latest,
                            const LimitUses& uses) const;
  const int* free_of(std::size_t step) const { return &free_[step * nodes_]; }

  std::size_t nodes_ = 0;
  std::vector<sim::SimTime> times_;
  std::vector<int> free_;  // nodes_ a step
  std::size_t limits_ = 0;
  std::vector<double> left_;  // limits_ a step
  std::vector<int> least_;
  NodePool probe_;
};

}  // namespace orrery::cluster
