// How many GPUs are free when: steps in time, per node, from now on.
//
// A running job's GPUs come back at its end; a reservation takes some for a while. A request can
// start at the first step for which the minimum of what is free over its whole length holds it.
// What is left of a gate's limits (start_gate.h) is tracked beside the nodes. There are few steps
// (ends and reservations), so a list is faster than a tree. With n steps and m nodes a search costs
// at most O(n^2 m), and O(n) in a plain pool.
#pragma once

#include <span>
#include <vector>

#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

class FreeProfile {
 public:
  // Starts from what is free now, assuming that it stays free. Keeps a copy of the pool for
  // placement.
  void reset(sim::SimTime now, const NodePool& pool, const StartGate* gate = nullptr);
  // Removes the steps before `now`.
  void advance(sim::SimTime now);

  // Adds the shares as free from `from` on, permanently.
  void give_from(sim::SimTime from, std::span<const NodeShare> shares, const LimitUses& uses = {});
  void take_between(sim::SimTime from, sim::SimTime until, std::span<const NodeShare> shares,
                    const LimitUses& uses = {});
  void give_between(sim::SimTime from, sim::SimTime until, std::span<const NodeShare> shares,
                    const LimitUses& uses = {});

  // Returns the earliest start at which the request has a place for `length`; never() if there is
  // none up to `latest`. The candidates are now and the beginning of each step.
  sim::SimTime find(const GpuAsk& ask, sim::SimTime length, const NodeMask* allowed,
                    sim::SimTime latest, std::vector<NodeShare>& where, const LimitUses& uses = {});
  // Makes all GPUs of the masked nodes unavailable from `from` to `until`.
  void close_between(sim::SimTime from, sim::SimTime until, const NodeMask& nodes);
  void open_between(sim::SimTime from, sim::SimTime until, const NodeMask& nodes);
  bool holds(sim::SimTime from, sim::SimTime length, std::span<const NodeShare> shares,
             const LimitUses& uses = {}) const;

  std::size_t steps() const { return times_.size(); }
  sim::SimTime start() const { return times_.front(); }

 private:
  std::size_t step_at(sim::SimTime t);  // splits the step that contains t
  void add(sim::SimTime from, sim::SimTime until, std::span<const NodeShare> shares,
           const LimitUses& uses, int sign);
  void shift_nodes(sim::SimTime from, sim::SimTime until, const NodeMask& nodes, int sign);
  bool admits(std::size_t step, const LimitUses& uses) const;
  // Returns the first step of the window, from `first` on, that does not admit the uses; the
  // window's end if all do.
  std::size_t first_closed(std::size_t first, sim::SimTime until, const LimitUses& uses) const;
  sim::SimTime find_counted(int gpus, sim::SimTime length, sim::SimTime latest,
                            const LimitUses& uses) const;
  const int* free_of(std::size_t step) const { return &free_[step * nodes_]; }

  std::size_t nodes_ = 0;
  std::vector<sim::SimTime> times_;
  std::vector<int> free_;  // nodes_ values per step
  std::size_t limits_ = 0;
  std::vector<double> left_;  // limits_ values per step
  std::vector<int> least_;
  NodePool probe_;
};

}  // namespace orrery::cluster
