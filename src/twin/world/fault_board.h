// What happens when hosts fail: processes on them are notified, the recovery policy learns which
// host is gone, and the host goes to repair and comes back.
//
//   strike -> Process::struck returns how long detection takes -> see: the policy is notified, the
//   host's jobs go back into the queue, it goes to repair -> mend: it is back, or a lemon
// The policy (failure/recovery_desk.h, one desk per fleet) may call a spare into service and may
// hold a run that breaks hosts. A host without a job is detected at once, by its health check.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "layers/cluster/queue.h"
#include "layers/failure/causes.h"
#include "layers/failure/recovery_desk.h"
#include "twin/world/host_index.h"

namespace orrery::world {

class FleetState;
class World;

class FaultBoard final : public sim::EventHandler {
 public:
  explicit FaultBoard(World& world);
  ~FaultBoard();
  FaultBoard(const FaultBoard&) = delete;
  FaultBoard& operator=(const FaultBoard&) = delete;

  // Stops a host, or a process on it. The host goes to repair once the fault is detected, if the
  // cause takes it. `where` in [0, 1) picks the slot of a process.
  void strike(design::FleetIndex fleet, HostIndex host, const failure::FaultCause& cause, double where);
  // Stops all of these hosts at once. A process on several of them is notified once.
  void strike_group(design::FleetIndex fleet, HostIndex first, int hosts,
                    const failure::FaultCause& cause);
  // The host's NIC pauses the network for good: runs on hosts that it reaches stop until the
  // watchdog acts or their collectives time out.
  void pause_network(design::FleetIndex fleet, HostIndex host, RandomStream& random);
  // From now on the host computes wrong results, undetected.
  void corrupt(design::FleetIndex fleet, HostIndex host);
  // Takes a host back from repair; returns false if the policy classes it as a lemon and it goes to
  // a person.
  bool mend(design::FleetIndex fleet, HostIndex host);
  // Detects at once failed hosts that no longer have a job.
  void see_released(design::FleetIndex fleet);

  // What a run reports to the recovery policy, and asks it.
  void job_runs(design::FleetIndex fleet, const std::string& job);
  void job_ends(design::FleetIndex fleet, const std::string& job) { desks_[fleet].job_ends(job); }
  bool may_start(design::FleetIndex fleet, const std::string& job);

  std::uint64_t lemons_found() const { return lemons_found_; }
  // Returns the faults that occurred, and how often a process was notified of one.
  std::uint64_t faults() const { return faults_; }
  std::uint64_t faults_told() const { return faults_told_; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  void see(design::FleetIndex fleet, HostIndex host);
  void see_after(Seconds wait, design::FleetIndex fleet, HostIndex host);
  void mark_struck(design::FleetIndex fleet, HostIndex host);
  // Returns the jobs that a fault of this cause hits; for a process fault, the one on the slot that
  // `where` picks.
  std::vector<JobTag> tags_hit(FleetState& fleet, HostIndex host, const failure::FaultCause& cause,
                               double where);
  void call_spares(design::FleetIndex fleet, const failure::RecoveryDesk::Call& call);

  World& world_;
  IndexedVector<design::FleetIndex, failure::RecoveryDesk> desks_;
  IndexedVector<design::FleetIndex, std::vector<HostIndex>> unseen_;  // hosts that are struck
  std::vector<cluster::JobIndex> there_;        // jobs on the failed host
  std::uint64_t lemons_found_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t faults_told_ = 0;
};

}  // namespace orrery::world
