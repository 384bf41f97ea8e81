// A fleet in one replication: the queue of its hosts, the state of each host, and the book of its
// slots (slot_book.h).
//
// A workload that names `nodes` has them guaranteed in a cohort of its own; others cannot borrow
// them. A tenant's quota may be borrowed while it is idle (cluster/quota_gate.h). With fair share,
// a user's rank in the queue depends on what the user and the account have used
// (cluster/fair_use.h). A QOS changes the rank too, and limits what its users have at once
// (cluster/qos_gate.h). Jobs run on the hosts of their partition and not on those reserved for
// others (cluster/reservation.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/cluster/fair_use.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/rack_meters.h"
#include "model/machine/partitions.h"
#include "twin/world/cause.h"
#include "twin/world/power_gate.h"
#include "twin/world/process.h"
#include "twin/world/slot_book.h"
#include "twin/world/world_spec.h"

namespace orrery::world {

class World;

enum class HostState : std::uint8_t {
  in_service,
  struck,  // failed, but not detected yet
  reserve,
  repair
};

class FleetState final : public cluster::QueuePort {
 public:
  FleetState(World& world, design::FleetIndex number);
  FleetState(const FleetState&) = delete;
  FleetState& operator=(const FleetState&) = delete;

  const FleetPart& part() const { return part_; }
  design::FleetIndex number() const { return number_; }
  SlotBook& slots() { return slots_; }
  const SlotBook& slots() const { return slots_; }
  cluster::Queue& queue() { return *queue_; }
  const cluster::Queue& queue() const { return *queue_; }
  // Returns the queue's request for a user's job of a workload; the process fills in the rest.
  cluster::JobRequest request_for(ProcessIndex process, const design::Workload& workload,
                                  std::uint32_t user);
  // Returns the limit of the workload's QOS and partition; none: jobs are never ended.
  std::optional<Seconds> time_limit_of(const design::Workload& workload) const;
  // Returns true if the quota and the QOS allow the workload that many slots at all.
  bool could_admit(const design::Workload& workload, int slots) const;

  // Call when a running job is about to end or has lost its place.
  void note_use(cluster::JobIndex job);
  // Counts the use of running jobs up to now, and ranks waiting ones again.
  void rank_users();

  HostState state(HostIndex host) const { return states_[host]; }
  void set_state(HostIndex host, HostState state) { states_[host] = state; }
  // Returns true if the host cannot fail now: it is in repair, or has failed already.
  bool is_away(HostIndex host) const {
    return state(host) == HostState::repair || state(host) == HostState::struck;
  }
  // Returns the cause under which its slots are booked while it is in repair.
  Cause away_as(HostIndex host) const { return away_as_[host]; }
  void set_away_as(HostIndex host, Cause cause) { away_as_[host] = cause; }
  bool is_spare(HostIndex host) const { return is_spare_[host]; }
  void call_spare(HostIndex host) { is_spare_[host] = false; }
  // Returns the first declared spare that is not in use.
  std::optional<HostIndex> first_in_reserve() const;
  // Returns true for a straggler.
  bool is_slow(HostIndex host) const { return is_slow_[host]; }
  void set_slow(HostIndex host, bool is_slow) { is_slow_[host] = is_slow; }
  // A host that was away or in reserve may hold jobs from now on.
  void put_in_service(HostIndex host, const HostUse& from);

  // The job has returned its slots and ends.
  void leave(cluster::JobIndex job);

  void job_started(cluster::JobIndex job, std::uint64_t tag,
                   std::span<const cluster::NodeShare> where) override;
  void job_stopped(cluster::JobIndex job, std::uint64_t tag, cluster::StopCause cause) override;
  std::vector<cluster::NodeShare> job_lost_node(cluster::JobIndex job, std::uint64_t tag,
                                                int node) override;

  // Records the hosts of a job while it has them.
  void note_placed(cluster::JobIndex job, const JobTag& tag,
                   std::span<const cluster::NodeShare> where);
  void note_left(cluster::JobIndex job);
  // Sets what each of the job's slots draws from now on.
  void note_draw(cluster::JobIndex job, Watts mean_of_host, Watts highest_of_host);
  const cluster::RackMeters& racks() const { return racks_; }

 private:
  void add_groups();
  void add_qos(const design::Scheduler& scheduler);
  // Returns the priority by QOS and, with fair share, by what the user of the process has used so
  // far. Both count equally, from 0 to 1.
  double priority_of(ProcessIndex process, const design::Workload& workload, std::uint32_t user);

  World& world_;
  design::FleetIndex number_;
  const FleetPart& part_;
  SlotBook slots_;
  struct UserKey {
    ProcessIndex process;
    std::uint32_t user = 0;

    auto operator<=>(const UserKey&) const = default;
  };

  std::vector<machine::FleetPartition> partitions_;
  bool is_fair_;
  cluster::FairUse fair_;
  std::map<UserKey, std::size_t> users_;
  sim::SimTime ranked_;  // when the use of running jobs was last counted
  std::map<const design::Workload*, int> groups_;
  std::map<int, int> tiers_;  // by the design's priority
  cluster::QuotaGate quotas_;
  cluster::QosGate qos_gate_;
  std::map<std::string, int> qos_;  // by name
  std::vector<double> qos_priority_{0};
  PowerGate gate_;
  std::unique_ptr<cluster::Queue> queue_;
  IndexedVector<HostIndex, HostState> states_;
  IndexedVector<HostIndex, Cause> away_as_;
  IndexedVector<HostIndex, bool> is_spare_;
  IndexedVector<HostIndex, bool> is_slow_;
  std::map<cluster::JobIndex, std::vector<int>> placed_;  // only for a run that is recorded
  cluster::RackMeters racks_;                             // only for a run that is recorded
};

}  // namespace orrery::world
