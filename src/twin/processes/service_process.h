// A service as a process: replicas that are placed, load, answer, die and come back.
//
//   each replica: queue -> start (weights, graphs) -> answers -> (fault: detect -> queue ...)
// Requests are not followed: the traffic of the hour divided by the replicas that stand is the load
// of each, and the windows' results at that load (service_plan.h) are weighted by the requests that
// came. New weights are taken up one replica after the other, so that the rest answers meanwhile; a
// replica that is lost comes back with them. Replicas on slices of one accelerator are placed, lost
// and brought back together. The slots of a replica that stands are productive for
// the share of time in which it computes, and wait for requests in the rest. Traffic that finds too
// few replicas is late.
// If the design says so, replicas follow the load (traffic/autoscaler.h): requests in flight are
// those that stay at the load of the hour, and a backlog of what came and was not carried
//   d backlog / dt = rate - replicas that stand x what one carries
// Called replicas go through the queue and start; those that leave do so at once, the last first.
// If zones take each other's traffic (service_regions.h), a zone is told how much of its own goes
// elsewhere or is refused, and how much comes to it.
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
  double away = 0;     // of its own, answered elsewhere
  double refused = 0;  // of its own, answered nowhere
  double guests = 0;   // of others, answered here

  auto operator<=>(const ZoneTraffic&) const = default;
};

// A load: an hour of the day, the replicas that stand, and the traffic of other zones.
struct ServiceLoad {
  std::size_t hour = 0;
  int standing = 0;
  ZoneTraffic traffic;

  auto operator<=>(const ServiceLoad&) const = default;
};

struct ServiceOutcome {
  std::map<ServiceLoad, std::int64_t> time_ns;
  std::uint64_t faults = 0;  // that hit one of its replicas
  std::uint64_t lost_replicas = 0;
  std::int64_t down_ns = 0;  // replicas that were wanted x time that they did not stand
  std::int64_t standing_ns = 0;
  std::uint64_t called = 0;    // by the autoscaler
  std::uint64_t given_up = 0;  // times that all its users were sent elsewhere
  std::uint64_t never_placed = 0;
};

class ServiceProcess;

// Told when the load or the replicas of a zone have changed.
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
  // `observer` outlives the run.
  void report_to(ZoneObserver& observer) { observer_ = &observer; }
  // As the policy of its zones sees it.
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
  enum class ReplicaState : std::uint8_t { away, waits, starts, stands, hangs };
  struct Replica {
    cluster::JobIndex index = cluster::kNoJob;
    ReplicaState state = ReplicaState::away;
    sim::TimerId timer;
  };

  world::HostUse use(ReplicaState state) const;
  void become(std::uint32_t part, ReplicaState state);
  // Books the time since the last change at the load that was, and takes up the load that is.
  void settle();
  void set_load();
  // Requests a second that are answered here.
  double rate_here() const;
  // From the load and the use that were to those that are.
  void take_up_load(const world::HostUse& before, double busy_before);
  // To the meters of the racks that they are in.
  void tell_draws();
  void submit(std::uint32_t part);
  void start(std::uint32_t part);
  // The next replica takes up new weights, or all have them.
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
  int standing_ = 0;               // replicas
  int placed_ = 0;                 // the placements that they are in
  int wanted_ = 0;
  std::optional<traffic::AutoscalePolicy> scaler_;
  double backlog_ = 0;                    // requests, where an autoscaler looks at them
  std::optional<std::uint32_t> reloads_;  // the replica that does now
  std::size_t hour_ = 0;
  ZoneTraffic traffic_;
  bool is_given_up_ = false;
  double busy_ = 0;  // of a replica that stands
  world::HostUse stands_;
  sim::SimTime since_;
  ServiceOutcome outcome_;
};

}  // namespace orrery::processes
