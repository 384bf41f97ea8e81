// A fleet in one replication: the queue of its hosts, what became of each, and the book of its
// slots.
//
// A slot is an accelerator, or a whole host where the fleet has none. Slots that nobody holds still
// have one cause each: as many as a run that was requeued or waits for hosts could use are booked
// to its wait, run by run; then as many as other waiting jobs could use are stranded (free, but not
// so that a job fits); the rest is idle.
//   free = claimed + stranded + idle
// What the design gives a workload by `nodes` is its own cohort's guarantee and nobody else's; what
// a tenant's quota gives may be borrowed while it is idle (cluster/quota_gate.h). With fair share a
// user's place in the queue follows what the user and the account have used (cluster/fair_use.h).
// A QOS moves it too, and holds its users to what they may have at once (cluster/qos_gate.h). Jobs
// lie on the hosts of their partition, and off those that are reserved for others
// (cluster/reservation.h).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "layers/cluster/fair_use.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/rack_meters.h"
#include "model/machine/partitions.h"
#include "twin/twin/cause.h"
#include "twin/twin/power_gate.h"
#include "twin/twin/process.h"
#include "twin/twin/scenario.h"

namespace orrery::twin {

class World;

enum class HostState : std::uint8_t {
  in_service,
  struck,  // it failed, and whoever has it has not seen it yet
  reserve,
  repair
};

class FleetState final : public cluster::QueuePort {
 public:
  FleetState(World& world, std::size_t number, const Scenario& scenario);
  FleetState(const FleetState&) = delete;
  FleetState& operator=(const FleetState&) = delete;

  const FleetPart& part() const { return part_; }
  cluster::Queue& queue() { return *queue_; }
  const cluster::Queue& queue() const { return *queue_; }
  // How a user's job of a workload stands in the queue, with the rest of the request left to its
  // process.
  cluster::JobRequest request_for(std::size_t process, const design::Workload& workload,
                                  std::uint32_t user);
  // Of the workload's QOS and partition; none: it is never ended.
  std::optional<Seconds> time_limit_of(const design::Workload& workload) const;
  // Whether a quota and its QOS leave the workload so many slots at all.
  bool could_admit(const design::Workload& workload, int slots) const;

  // A running job is about to end or has lost its place.
  void note_use(cluster::JobIndex job);
  // What runs has used its part by now, and who waits is ranked anew.
  void rank_users();

  HostState state(int host) const { return states_[static_cast<std::size_t>(host)]; }
  void set_state(int host, HostState state) { states_[static_cast<std::size_t>(host)] = state; }
  // Nothing can strike it: it is in repair, or has failed already.
  bool is_away(int host) const {
    return state(host) == HostState::repair || state(host) == HostState::struck;
  }
  // What its slots are booked under while it is in repair.
  Cause away_as(int host) const { return away_as_[static_cast<std::size_t>(host)]; }
  void set_away_as(int host, Cause cause) { away_as_[static_cast<std::size_t>(host)] = cause; }
  bool is_spare(int host) const { return is_spare_[static_cast<std::size_t>(host)]; }
  void call_spare(int host) { is_spare_[static_cast<std::size_t>(host)] = false; }
  // The first declared spare that waits; -1: none does.
  int first_in_reserve() const;

  void job_started(cluster::JobIndex job, std::uint64_t tag,
                   std::span<const cluster::NodeShare> where) override;
  void job_stopped(cluster::JobIndex job, std::uint64_t tag, cluster::StopCause cause) override;
  std::vector<cluster::NodeShare> job_lost_node(cluster::JobIndex job, std::uint64_t tag,
                                                int node) override;

  // The hosts of a job are written down while it has them.
  void note_placed(cluster::JobIndex job, std::uint64_t tag,
                   std::span<const cluster::NodeShare> where);
  void note_left(cluster::JobIndex job);
  // What each of its slots draws from now on.
  void note_draw(cluster::JobIndex job, Watts mean_of_host, Watts highest_of_host);
  const cluster::RackMeters& racks() const { return racks_; }

  GpuLedger gpus;
  std::vector<bool> slow;  // hosts that are stragglers
  std::int64_t free = 0;   // slots that nobody holds
  struct Claim {
    std::int64_t slots = 0;
    Cause cause = Cause::requeue;
  };
  std::map<std::size_t, Claim> claims;  // of runs that wait, by process
  std::vector<std::size_t> growers;     // processes that could use more than they hold
  std::int64_t wanted = 0;              // by other jobs that wait
  ByCause<std::int64_t> of_free{};      // of the free slots, those not booked as idle
  std::vector<int> unseen;              // hosts that are struck

 private:
  void add_groups(const Scenario& scenario);
  void add_qos(const design::Scheduler& scheduler);
  // By the QOS, and by what a user of a process has used so far where shares are fair. Both count
  // the same, from 0 to 1.
  double priority_of(std::size_t process, const design::Workload& workload, std::uint32_t user);

  World& world_;
  std::size_t number_;
  const FleetPart& part_;
  struct UserKey {
    std::size_t process = 0;
    std::uint32_t user = 0;

    auto operator<=>(const UserKey&) const = default;
  };

  std::vector<machine::FleetPartition> partitions_;
  bool is_fair_;
  cluster::FairUse fair_;
  std::map<UserKey, std::size_t> users_;
  sim::SimTime ranked_;  // when running jobs' use was counted last
  std::map<const design::Workload*, int> groups_;
  std::map<int, int> tiers_;  // by the design's priority
  cluster::QuotaGate quotas_;
  cluster::QosGate qos_gate_;
  std::map<std::string, int> qos_;  // by name
  std::vector<double> qos_priority_{0};
  PowerGate gate_;
  std::unique_ptr<cluster::Queue> queue_;
  std::vector<HostState> states_;
  std::vector<Cause> away_as_;
  std::vector<bool> is_spare_;
  std::map<cluster::JobIndex, std::vector<int>> placed_;  // of a run that is recorded
  cluster::RackMeters racks_;                             // likewise
};

}  // namespace orrery::twin
