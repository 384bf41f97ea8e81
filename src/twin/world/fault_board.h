// What happens to hosts that fail: whoever is on them is told, the recovery policy learns which
// host is gone, and the host goes to repair and comes back.
//
//   strike -> Process::struck says how long until somebody sees it -> see: the policy is told, the
//   host's jobs go back into the queue, it goes to repair -> mend: it is back, or a lemon
// The policy (failure/recovery_desk.h, one desk per fleet) may call a spare into service and may
// hold a run that breaks hosts. A host that has no job is seen at once, by its health check.
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

  // A host stops, or a process on it. The host goes to repair if the cause takes it, once somebody
  // has seen it. `where` in [0, 1) picks the slot of a process.
  void strike(design::FleetIndex fleet, HostIndex host, const failure::FaultCause& cause,
              double where);
  // All of these hosts stop at once. Whoever is on some of them is told once.
  void strike_group(design::FleetIndex fleet, HostIndex first, int hosts,
                    const failure::FaultCause& cause);
  // Its NIC pauses the network for good: runs on hosts that it reaches stand until the watchdog
  // acts or their collectives time out.
  void pause_network(design::FleetIndex fleet, HostIndex host, RandomStream& random);
  // From now on what the host computes is wrong, and nobody knows.
  void corrupt(design::FleetIndex fleet, HostIndex host);
  // Back from repair; returns false if the policy takes it for a lemon and it goes to a person.
  bool mend(design::FleetIndex fleet, HostIndex host);
  // Hosts that failed unseen and that have no job any more are found at once.
  void see_released(design::FleetIndex fleet);

  // What a run tells the recovery policy, and asks it.
  void job_runs(design::FleetIndex fleet, const std::string& job);
  void job_ends(design::FleetIndex fleet, const std::string& job) { desks_[fleet].job_ends(job); }
  bool may_start(design::FleetIndex fleet, const std::string& job);

  std::uint64_t lemons_found() const { return lemons_found_; }
  // Faults that struck, and how often a process was told of one.
  std::uint64_t faults() const { return faults_; }
  std::uint64_t faults_told() const { return faults_told_; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  void see(design::FleetIndex fleet, HostIndex host);
  void see_after(Seconds wait, design::FleetIndex fleet, HostIndex host);
  void mark_struck(design::FleetIndex fleet, HostIndex host);
  // Jobs that a fault of this cause hits; of a process's, the one on the slot that `where` picks.
  std::vector<JobTag> tags_hit(FleetState& fleet, HostIndex host, const failure::FaultCause& cause,
                               double where);
  void call_spares(design::FleetIndex fleet, const failure::RecoveryDesk::Call& call);

  World& world_;
  IndexedVector<design::FleetIndex, failure::RecoveryDesk> desks_;
  IndexedVector<design::FleetIndex, std::vector<HostIndex>> unseen_;  // hosts that are struck
  std::vector<cluster::JobIndex> there_;        // on a host that is struck
  std::uint64_t lemons_found_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t faults_told_ = 0;
};

}  // namespace orrery::world
