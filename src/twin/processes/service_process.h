// A service as a process: replicas that are placed, load weights, answer, fail and come back.
//
//   each replica: queue -> start (weights, graphs) -> answers -> (fault: detect -> queue ...)
// Single requests are not simulated: the traffic of the hour divided by the running replicas is the
// load of each, and the windows' results at that load (service_plan.h) are weighted by the requests
// that arrived. New weights are loaded by one replica after the other, while the rest answers; a
// replica that was lost comes back with them. Replicas on slices of one accelerator are placed,
// lost and brought back together. The slots of a running replica are productive for the
// share of time in which it computes, and wait for requests in the rest. Traffic that finds too few
// replicas is late.
// If the design says so, replicas follow the load (traffic/autoscaler.h): requests in flight are
// those that stay at the load of the hour, plus a backlog of arrivals that were not carried
//   d backlog / dt = rate - running replicas x what one carries
// Replicas that are added go through the queue and start; those that are removed stop at once, the
// newest first. If zones take each other's traffic (service_regions.h), a zone learns how much of
// its own traffic goes elsewhere or is refused, and how much it takes from others.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "twin/processes/service_plan.h"
#include "twin/world/world.h"

namespace orrery::processes {

// Requests per second that zones exchange.
struct ZoneTraffic {
  double away = 0;     // own traffic, answered elsewhere
  double refused = 0;  // own traffic, answered nowhere
  double guests = 0;   // other zones' traffic, answered here

  auto operator<=>(const ZoneTraffic&) const = default;
};

// A load: an hour of the day, the replicas that run, and the traffic of other zones.
struct ServiceLoad {
  std::size_t hour = 0;
  int standing = 0;
  ZoneTraffic traffic;

  auto operator<=>(const ServiceLoad&) const = default;
};

struct ServiceOutcome {
  std::map<ServiceLoad, std::int64_t> time_ns;
  std::uint64_t faults = 0;  // faults that hit one of its replicas
  std::uint64_t lost_replicas = 0;
  std::int64_t down_ns = 0;  // replicas that were wanted x time that they did not run
  std::int64_t standing_ns = 0;
  std::uint64_t called = 0;    // replicas started by the autoscaler
  std::uint64_t given_up = 0;  // times that all its users were sent elsewhere
  std::uint64_t never_placed = 0;
};

class ServiceProcess;

// Called when the load or the replicas of a zone have changed.
class ZoneObserver {
 public:
  virtual void zone_changed(const ServiceProcess& zone) = 0;

 protected:
  ~ZoneObserver() = default;
};

class ServiceProcess final : public world::Process, public sim::EventHandler {
 public:
  ServiceProcess(world::World& world, world::ProcessIndex index, const ServicePlan& plan);
  ~ServiceProcess() override { kernel_.forget(*this); }
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  const ServiceOutcome& outcome() const { return outcome_; }
  const ServicePlan& plan() const { return plan_; }
  // `observer` must outlive the run.
  void report_to(ZoneObserver& observer) { observer_ = &observer; }
  // Returns the zone as the failover policy sees it.
  traffic::RegionNow region_now() const;
  void take_traffic(const ZoneTraffic& traffic);

  void begin() override;
  void close() override;
  void call() override;
  void placed(std::uint32_t part, std::span<const cluster::NodeShare> where) override;
  void evicted(std::uint32_t part, cluster::StopCause cause) override;
  Seconds struck(std::uint32_t part, std::optional<world::HostIndex> host,
                 const failure::FaultCause& cause) override;
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kReady, kGone, kHour, kLook };
  enum class ReplicaState : std::uint8_t { away, waits, starts, runs, hangs };
  struct Replica {
    cluster::JobIndex index = cluster::kNoJob;
    ReplicaState state = ReplicaState::away;
    sim::TimerId timer;
  };

  world::HostUse use(ReplicaState state) const;
  void become(std::uint32_t part, ReplicaState state);
  // Books the time since the last change at the previous load, then takes the present load.
  void settle();
  void set_load();
  // Returns the requests per second that are answered here.
  double rate_here() const;
  // Moves slots from the previous load and use to the present ones.
  void take_up_load(const world::HostUse& before, double busy_before);
  // Reports the draws to the meters of the replicas' racks.
  void tell_draws();
  void submit(std::uint32_t part);
  void start(std::uint32_t part);
  // Lets the next replica load new weights, or reports that all have them.
  void reload_next();
  void tell_observer();
  double in_flight() const;
  void follow(int wanted);
  void retire(std::uint32_t part);

  sim::Kernel& kernel_;
  const ServicePlan& plan_;
  world::FleetState& fleet_;
  world::SlotBook& slots_;
  world::RunRecorder& recorder_;
  ZoneObserver* observer_ = nullptr;
  Seconds detect_;
  std::vector<Replica> replicas_;  // by placement
  int standing_ = 0;               // running replicas
  int placed_ = 0;                 // placements with running replicas
  int wanted_ = 0;
  std::optional<traffic::AutoscalePolicy> scaler_;
  // requests that were not carried, if there is an autoscaler
  double backlog_ = 0;
  std::optional<std::uint32_t> reloads_;  // the replica that loads new weights
  std::size_t hour_ = 0;
  ZoneTraffic traffic_;
  bool is_given_up_ = false;
  double busy_ = 0;  // share of time that a running replica computes
  world::HostUse stands_;
  sim::SimTime since_;
  ServiceOutcome outcome_;
};

}  // namespace orrery::processes
