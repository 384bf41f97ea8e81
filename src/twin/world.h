// One replication: a clock, the fleets as they stand, and the processes that live on them.
//
// A process knows the layers' physics and asks policies; it never knows another process: they meet
// in what they share here, the hosts of a fleet and the watts of a site. Every change of what a
// host does goes through shift(), which books accelerators, watts and levels in one place, so that
// none of the three can be told what the others are not.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/kernel.h"
#include "twin/gpu_ledger.h"
#include "twin/host_pool.h"
#include "twin/recorder.h"
#include "twin/recovery_desk.h"
#include "twin/scenario.h"

namespace orrery::twin {

class TrainProcess;
class HostLives;

struct FleetState {
  FleetState(const FleetPart& p)
      : part(&p),
        pool(p.hosts, p.spares),
        gpus(std::int64_t{p.all_hosts()} * p.accelerators_per_host),
        slow(static_cast<std::size_t>(p.all_hosts()), false) {}

  const FleetPart* part;
  HostPool pool;
  GpuLedger gpus;
  std::vector<bool> slow;  // hosts that are stragglers
};

// What a host does and draws.
struct HostUse {
  Cause cause = Cause::idle;
  Watts draw;     // mean
  Watts highest;  // of its phases
};

struct SiteMeter {
  Watts now;
  Watts highest_now;  // were all that step in their highest phase at once
  Watts highest;      // of those
  Joules energy;
  sim::SimTime settled;
};

class World {
 public:
  // The scenario outlives it; `recorder` may be none. The first replication takes the middle of
  // every rate.
  World(const Scenario& scenario, std::uint64_t seed, bool is_first, Recorder* recorder);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Asks `on` now and then whether to go on; false where it was told not to.
  bool run(const std::function<bool()>& on);

  const Scenario& scenario() const { return scenario_; }
  sim::Kernel& kernel() { return kernel_; }
  FleetState& fleet(std::size_t f) { return fleets_[f]; }
  std::size_t fleets() const { return fleets_.size(); }
  const SiteMeter& site(std::size_t s) const { return sites_[s]; }
  const std::vector<std::unique_ptr<TrainProcess>>& trains() const { return trains_; }
  const HostLives& lives() const { return *lives_; }

  // `hosts` hosts of a fleet go from one use to another.
  void shift(std::size_t fleet, int hosts, const HostUse& from, const HostUse& to);
  // Of hosts that do no steps.
  HostUse resting(std::size_t fleet, Cause cause) const;
  // Accelerators that do steps are under several shares at once, by the job's own means.
  void mark_steps(const std::array<double, kShares>& accelerators, double sign);

  // A host stops: whoever has it is told, and it goes to repair where the cause takes it.
  void strike(std::size_t fleet, int host, const failure::FaultCause& cause);
  // From now on what the host computes is wrong, and nobody knows.
  void corrupt(std::size_t fleet, int host);
  // Back from repair; false where the policy takes it for a lemon and it goes to a person.
  bool mend(std::size_t fleet, int host);

  // Writes down whose the host is now.
  void record_host(std::size_t fleet, int host);

  // What the recovery policy is told by a run, and says to it (recovery_desk.h).
  void job_runs(std::size_t fleet, const std::string& job);
  void job_ends(std::size_t fleet, const std::string& job) { desks_[fleet].job_ends(job); }
  void seen_down(std::size_t fleet, int host, const std::string& job);
  bool may_start(std::size_t fleet, const std::string& job);
  std::uint64_t lemons_found() const { return lemons_found_; }

 private:
  void meter(std::size_t site, Watts delta, Watts highest_delta);
  void obey(std::size_t fleet, const RecoveryDesk::Call& call);
  void offer_hosts(std::size_t fleet);

  const Scenario& scenario_;
  Recorder* recorder_;
  sim::Kernel kernel_;
  std::vector<FleetState> fleets_;
  std::vector<SiteMeter> sites_;
  std::vector<std::size_t> share_columns_;
  std::vector<std::size_t> site_columns_;
  std::vector<std::unique_ptr<TrainProcess>> trains_;
  std::unique_ptr<HostLives> lives_;
  std::vector<RecoveryDesk> desks_;
  std::uint64_t lemons_found_ = 0;
};

}  // namespace orrery::twin
