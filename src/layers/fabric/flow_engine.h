// Flows over links in simulated time: a message first waits for its path's latency, then shares the
// links max-min fairly with all other flows until it is done.
//
// A flow uses bandwidth only after its latency (as in SimGrid's CM02, without cross traffic). At
// every instant at which flows arrive, end, are cancelled or a capacity changes, rates are solved
// once, after all changes of that instant (EventRank::settle), and only for the flows that the
// change can affect: those that share a link with it, directly or through others (flow_groups.h).
// All other rates would come out unchanged. A flow ends within a nanosecond of the exact fluid
// time. With `tolerance` > 0 completions are batched: a flow still ends at its own fluid time, but
// the rates of flows that share its links change up to tolerance * (time span of its group) later;
// the last completion is then at most a few tolerances late. Not modelled: queues, loss and
// congestion control; hazards.h has bounds for them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/sim/kernel.h"
#include "layers/fabric/flow_groups.h"
#include "layers/fabric/flow_solver.h"
#include "layers/fabric/graph.h"

namespace orrery::fabric {

using FlowId = std::uint32_t;

// Notified of flows inside an event of the engine. It may start and cancel flows and change
// capacities, which take effect at the same instant. It must outlive the flows that name it.
//
// on_flow_done: called once for every flow that ends, when the engine notices it (with a tolerance,
// that may be after finish_time). The flow no longer uses bandwidth. All flows that end at one
// instant are ended before the first call. It is not called for a cancelled flow.
//
// on_flow_rate: called only for flows with an observer of their own, after the rates of an instant
// are solved, for every flow whose rate changed; first when it begins to use bandwidth. Rates that
// differ by less than a relative 1e-9 are equal. A rate of 0 means that a link of its path is lost
// or that flows of higher priority take everything. It may be called more than once within an
// instant; the last call holds. It is not called at a flow's end, nor for a flow that an earlier
// call cancelled.
class FlowObserver {
 public:
  virtual void on_flow_done(sim::Kernel& kernel, FlowId flow, std::uint64_t tag) = 0;
  virtual void on_flow_rate(sim::Kernel&, FlowId, std::uint64_t /*tag*/, BytesPerSecond) {}

 protected:
  ~FlowObserver() = default;
};

struct FlowRequest {
  std::span<const LinkId> path;
  double bytes = 0;
  double latency = 0;  // seconds before it uses bandwidth
  double weight = 1;
  double cap = kUncapped;  // bytes per second
  std::uint8_t priority = 0;
  std::uint64_t tag = 0;             // passed back to the observer
  FlowObserver* observer = nullptr;  // this flow's observer; null: the engine's
};

struct FlowOptions {
  double tolerance = 0;
  bool whole = false;  // every event solves all flows; slow, the reference in tests
};

class FlowEngine final : public sim::EventHandler {
 public:
  FlowEngine(sim::Kernel& kernel, std::vector<double> capacities, FlowOptions options = {});
  ~FlowEngine() { kernel_.forget(*this); }
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;

  // Sets the observer of all flows that have none of their own.
  void observe(FlowObserver* observer) { observer_ = observer; }
  void reserve(std::size_t flows, std::size_t hops);

  // Starts a flow now. Numbers of finished and cancelled flows are reused, unless they are kept.
  FlowId start(const FlowRequest& request);
  // Stops the flow's use of bandwidth at this instant; its observer is not called. Returns the
  // bytes that had not arrived. If it had ended or been cancelled before, returns 0 and changes
  // nothing.
  Bytes cancel(FlowId flow);
  void set_capacity(LinkId link, BytesPerSecond capacity);  // 0: lost; flows over it stop

  bool is_done(FlowId flow) const { return finished_[flow] >= 0; }
  sim::SimTime finish_time(FlowId flow) const { return sim::SimTime::nanoseconds(finished_[flow]); }
  BytesPerSecond rate(FlowId flow) const { return BytesPerSecond(table_.flows[flow].rate); }
  std::size_t active() const { return active_; }
  std::size_t waiting() const { return waiting_; }
  sim::SimTime last_finish() const { return last_finish_; }
  std::uint64_t solves() const { return solves_; }
  // Number of flow records visited so far, for advancing, ending, solving (once per solve), timing,
  // and finding which flows share links.
  std::uint64_t visits() const { return visits_ + groups_.visits(); }
  // Returns 0 (within rounding) if the present rates are max-min fair (flow_solver.h).
  double violation() const;

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

  // Whether to keep the records of finished flows, for callers that ask for finish times at the
  // end.
  void keep_finished(bool keep) { keep_finished_ = keep; }

 private:
  enum Kind : std::uint32_t { kActivate, kFinish, kSettle };
  // Flows whose latency ends at the same instant.
  struct Arrival {
    std::vector<FlowId> flows;
    sim::SimTime started = sim::SimTime::never();  // earliest start among them
  };
  struct RateBefore {
    FlowId flow;
    double rate;
  };

  FlowId new_flow(std::span<const LinkId> path);
  void set_terms(FlowId flow, const FlowRequest& request);
  void wait(FlowId flow, sim::SimTime until);
  void activate(sim::SimTime at);
  void drop_cancelled(std::vector<FlowId>& arrived);
  void recycle(FlowId flow);
  FlowGroupId group_of(FlowId flow);
  FlowObserver* observer_of(FlowId flow) const;
  void advance(FlowGroup& group);
  void on_finish(FlowGroupId id);
  std::size_t end_finished(FlowGroupId id);
  void finish(FlowId flow, std::int64_t at_ns);
  void tell_ended(const std::vector<FlowId>& ended);
  void touch(FlowGroupId id);
  void settle();
  void settle_group(FlowGroupId id);
  void solve(FlowGroupId id);
  void tell_rates();
  void schedule_next(FlowGroupId id);
  std::uint32_t solver_link(LinkId link);
  std::uint32_t new_solver_link(LinkId link);

  sim::Kernel& kernel_;
  FlowOptions options_;
  std::vector<double> capacity_;  // indexed by link
  // Link numbers in order of first use, so that flows which start together have their links close
  // together in memory.
  std::vector<std::uint32_t> solver_ids_;
  MaxMinSolver solver_;
  FlowTable table_;
  FlowGroups groups_;
  FlowGroupId last_solved_;
  std::vector<FlowGroupId> touched_;  // groups to solve at this instant
  FlowObserver* observer_ = nullptr;
  std::vector<FlowObserver*> observers_;  // indexed by flow; empty: no flow has its own observer
  std::vector<std::int64_t> finished_;    // nanoseconds; -1 while it runs
  std::vector<std::uint64_t> tags_;
  std::map<std::int64_t, Arrival> due_;  // keyed by the end of the latency
  Arrival* last_due_ = nullptr;
  std::int64_t last_due_at_ = -1;
  std::vector<std::vector<FlowId>> free_by_hops_;
  std::vector<FlowId> cancelled_;  // cancelled at this instant: still in their groups' lists
  std::vector<FlowId> ended_;      // reused buffer for one instant's flows
  std::vector<RateBefore> rates_before_;
  std::size_t active_ = 0;
  std::size_t waiting_ = 0;
  std::size_t cancelled_waiting_ = 0;  // cancelled flows in due_, until their latency has passed
  sim::SimTime last_finish_;
  sim::TimerId settle_timer_;
  std::uint64_t solves_ = 0;
  std::uint64_t visits_ = 0;
  bool keep_finished_ = true;
};

}  // namespace orrery::fabric
