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

#include "core/sim/kernel.h"
#include "layers/failure/recovery_desk.h"
#include "twin/twin/fleet_state.h"
#include "twin/twin/recorder.h"

namespace orrery::twin {

class TrainProcess;
class TaskProcess;
class ServiceProcess;
class SliceProcess;
class HostLives;
class ServiceRegions;
class SharedLives;
class SiteLives;
class PipelineProcess;

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
  std::vector<Joules> by_hour;  // of the run; empty where the site names no hours
  sim::SimTime settled;

  // The watts of now until then, in the hours that they fall into.
  void settle(sim::SimTime until);
};

// A job in the queue is named by its process and the process's own number for it.
constexpr std::uint64_t tag_of(std::size_t process, std::uint32_t part) {
  return static_cast<std::uint64_t>(process) << 32 | part;
}
constexpr std::size_t tag_process(std::uint64_t tag) { return static_cast<std::size_t>(tag >> 32); }
constexpr std::uint32_t tag_part(std::uint64_t tag) { return static_cast<std::uint32_t>(tag); }

inline constexpr int kNoHost = -1;
inline constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

class World final : public sim::EventHandler {
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
  FleetState& fleet(std::size_t f) { return *fleets_[f]; }
  std::size_t fleets() const { return fleets_.size(); }
  const SiteMeter& site(std::size_t s) const { return sites_[s]; }
  // What jobs may draw there; none where nobody asks.
  facility::PowerRoom* power_room(std::size_t s) { return rooms_.empty() ? nullptr : &rooms_[s]; }
  Process& process(std::size_t p) { return *processes_[p]; }
  const std::vector<const TrainProcess*>& trains() const { return trains_; }
  const std::vector<const TaskProcess*>& streams() const { return streams_; }
  const std::vector<const TaskProcess*>& batches() const { return batches_; }
  const std::vector<const ServiceProcess*>& services() const { return services_; }
  const std::vector<const SliceProcess*>& slices() const { return slices_; }
  ServiceProcess& service(std::size_t number);
  ServiceRegions& regions() { return *regions_; }
  HostLives& lives() { return *lives_; }
  const SharedLives& shared_lives() const { return *shared_lives_; }
  const SiteLives& site_lives() const { return *site_lives_; }
  // nullptr where the design has none.
  const PipelineProcess* pipeline() const { return pipeline_.get(); }
  // Whether the process runs when the pipeline calls it, and not on its own.
  bool is_called(std::size_t process) const;
  void run_ended(std::size_t process);
  // Every book balances: slots, and what the queues say of them.
  bool is_sound() const { return is_sound_; }

  // `slots` of a fleet go from one use to another; from nobody's to a use, and back.
  void shift(std::size_t fleet, std::int64_t slots, const HostUse& from, const HostUse& to);
  void take(std::size_t fleet, std::int64_t slots, const HostUse& to);
  void give(std::size_t fleet, std::int64_t slots, const HostUse& from);
  // A run that waits says what it could use of the free slots; 0: it waits no more.
  void claim(std::size_t fleet, std::size_t process, std::int64_t slots, Cause cause);
  // A process that holds fewer slots than it could use is told when some come free; or no more.
  void call_for_room(std::size_t fleet, std::size_t process, bool wants);
  // Jobs that wait ask for so many slots more, or less.
  void want(std::size_t fleet, std::int64_t slots);
  // The job has given its slots and ends.
  void leave(std::size_t fleet, cluster::JobIndex job);
  // Of hosts that do no steps.
  HostUse resting(std::size_t fleet, Cause cause) const;
  // At a level between idle and peak.
  HostUse working(std::size_t fleet, double mean_level, double highest_level) const;
  // Accelerators that do steps are under several shares at once, by the job's own means.
  void mark_steps(const std::array<double, kShares>& accelerators, double sign);

  // Slots that compute for a share of the time and else wait: of jobs and services.
  void mark_busy(std::size_t fleet, double slots, double share = 1);

  // A host stops, or a process on it: whoever is there is told, and the host goes to repair where
  // the cause takes it, once somebody has seen it. `where` in [0, 1) picks the slot of a process.
  void strike(std::size_t fleet, int host, const failure::FaultCause& cause, double where);
  // All hosts from `first` on stop at once. Whoever is on some of them is told once.
  void strike_group(std::size_t fleet, int first, int hosts, const failure::FaultCause& cause);
  // Its NIC pauses the network for good: runs on hosts that it reaches stand until the watchdog
  // acts or their collectives time out.
  void pause_network(std::size_t fleet, int host, RandomStream& random);
  // From now on what the host computes is wrong, and nobody knows.
  void corrupt(std::size_t fleet, int host);
  // Back from repair; false where the policy takes it for a lemon and it goes to a person.
  bool mend(std::size_t fleet, int host);
  // Hosts that failed unseen and that nobody has any more are found at once.
  void see_released(std::size_t fleet);

  // Writes down whose the host is now.
  bool is_recorded() const { return recorder_ != nullptr; }
  void record_host(std::size_t fleet, int host, HostMark mark, std::size_t process = kNobody);

  // What the recovery policy is told by a run, and says to it (failure/recovery_desk.h).
  void job_runs(std::size_t fleet, const std::string& job);
  void job_ends(std::size_t fleet, const std::string& job) { desks_[fleet].job_ends(job); }
  bool may_start(std::size_t fleet, const std::string& job);
  std::uint64_t lemons_found() const { return lemons_found_; }
  // Faults that struck, and how often a process was told of one.
  std::uint64_t faults() const { return faults_; }
  std::uint64_t faults_told() const { return faults_told_; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kSeen, kRank };

  template <class T, class Plan>
  void add_process(std::vector<const T*>& kind, const Plan& plan, const design::Workload& workload);
  void measure_rooms();
  void meter(std::size_t site, Watts delta, Watts highest_delta);
  void recount(FleetState& fleet, std::size_t number);
  void book_free(std::size_t fleet, Cause cause, std::int64_t slots);
  void see(std::size_t fleet, int host);
  void obey(std::size_t fleet, const failure::RecoveryDesk::Call& call);
  void check();

  const Scenario& scenario_;
  Recorder* recorder_;
  sim::Kernel kernel_;
  std::vector<std::unique_ptr<FleetState>> fleets_;
  std::vector<SiteMeter> sites_;
  std::vector<facility::PowerRoom> rooms_;  // by site, of a scheduler that looks at power
  std::vector<std::size_t> share_columns_;
  std::vector<std::size_t> site_columns_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<const TrainProcess*> trains_;
  std::vector<const TaskProcess*> streams_;
  std::vector<const TaskProcess*> batches_;
  std::vector<const ServiceProcess*> services_;
  std::vector<const SliceProcess*> slices_;
  std::unique_ptr<ServiceRegions> regions_;
  std::unique_ptr<HostLives> lives_;
  std::unique_ptr<SharedLives> shared_lives_;
  std::unique_ptr<SiteLives> site_lives_;
  std::unique_ptr<PipelineProcess> pipeline_;
  std::vector<failure::RecoveryDesk> desks_;
  std::vector<cluster::JobIndex> there_;  // on a host that is struck
  std::uint64_t lemons_found_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t faults_told_ = 0;
  bool is_sound_ = true;
};

}  // namespace orrery::twin
