// Flows over links in simulated time: a message of some bytes takes its path's latency, then shares
// the links max-min fairly with all others until it is done.
//
// A flow takes bandwidth only after its latency (as SimGrid's CM02 has it, without cross traffic).
// At every instant at which flows arrive, end or a capacity changes, the rates are solved once,
// after all changes of that instant (EventRank::settle). A flow ends within a picosecond of the
// exact fluid time. With `tolerance` > 0 completions are gathered: a flow still ends at its own
// fluid time, but those that share its links learn of it up to tolerance * (time span of the run)
// later; then the last completion is at most a few tolerances late. Where it is wrong: queues, loss
// and congestion control are not modelled; see hazards.h for bounds.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "fabric/flow_solver.h"
#include "fabric/graph.h"
#include "sim/kernel.h"

namespace orrery {

using FlowId = std::uint32_t;

class FlowObserver {
 public:
  virtual void on_flow_done(Kernel& kernel, FlowId flow, std::uint64_t tag) = 0;

 protected:
  ~FlowObserver() = default;
};

struct FlowRequest {
  std::span<const LinkId> path;
  double bytes = 0;
  double latency = 0;  // seconds before it takes bandwidth
  double weight = 1;
  double cap = kUncapped;  // bytes per second
  std::uint8_t priority = 0;
  std::uint64_t tag = 0;  // comes back to the observer
};

struct FlowOptions {
  double tolerance = 0;
};

class FlowEngine final : public EventHandler {
 public:
  FlowEngine(Kernel& kernel, std::vector<double> capacities, FlowOptions options = {});

  void observe(FlowObserver* observer) { observer_ = observer; }
  void reserve(std::size_t flows, std::size_t hops);

  // From now on. Numbers of finished flows are used again.
  FlowId start(const FlowRequest& request);
  void set_capacity(LinkId link, BytesPerSecond capacity);  // 0: lost; flows over it stand still

  bool is_done(FlowId flow) const { return finished_[flow] >= 0; }
  SimTime finish_time(FlowId flow) const { return SimTime::picoseconds(finished_[flow]); }
  BytesPerSecond rate(FlowId flow) const { return BytesPerSecond(table_.flows[flow].rate); }
  std::size_t active() const { return active_.size(); }
  std::size_t waiting() const { return waiting_; }
  SimTime last_finish() const { return last_finish_; }
  std::uint64_t solves() const { return solves_; }
  // 0 within rounding where the present rates are max-min fair (flow_solver.h).
  double violation() const { return max_min_violation(table_, active_, solver_.capacities()); }

  void on_event(Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

  // Keep the records of finished flows, for callers that ask for finish times at the end.
  void keep_finished(bool keep) { keep_finished_ = keep; }

 private:
  enum Kind : std::uint32_t { kActivate, kFinish, kSettle };

  FlowId new_flow(std::span<const LinkId> path);
  void wait(FlowId flow, SimTime until);
  void activate(SimTime at);
  void advance_to(SimTime now);
  void end_finished(Kernel& kernel);
  void finish(FlowId flow, std::int64_t at_ps);
  void changed();
  void settle();
  void schedule_next();

  std::uint32_t solver_link(LinkId link);

  Kernel& kernel_;
  FlowOptions options_;
  std::vector<double> capacity_;           // by link
  std::vector<std::uint32_t> solver_ids_;  // links in the order flows first used them: flows that
                                           // start together have their links together in memory
  MaxMinSolver solver_;
  FlowTable table_;
  FlowObserver* observer_ = nullptr;
  std::vector<std::uint32_t> active_;
  std::vector<std::int64_t> finished_;  // picoseconds; -1 while it runs
  std::vector<std::uint64_t> tags_;
  std::map<std::int64_t, std::vector<FlowId>> due_;  // flows in their latency, by its end
  std::vector<FlowId>* last_bucket_ = nullptr;
  std::int64_t last_bucket_at_ = -1;
  std::vector<std::vector<FlowId>> free_by_hops_;
  std::vector<FlowId> ended_;
  std::size_t waiting_ = 0;
  SimTime advanced_to_;
  SimTime first_start_ = SimTime::never();
  SimTime last_finish_;
  TimerId next_finish_;
  TimerId settle_timer_;
  std::uint64_t solves_ = 0;
  bool grown_ = false;
  bool keep_finished_ = true;
};

}  // namespace orrery
