// One replication: a clock, the fleets in their present state, and the processes on them.
//
// The world holds the parts and runs the clock; each part does one thing:
//   FleetState   the queue of a fleet, its hosts, and its SlotBook: who holds slots, doing what
//   PowerMeters  watts and energy of every site
//   FaultBoard   what happens when a host fails, and when it is back
//   HostLives, SharedLives, SiteLives   when hosts, shared parts and sites fail
//   RunRecorder  events and series of the first replication
// A process (process.h) knows the layers' physics and asks policies. It never knows another
// process: they interact only through what they share here, the hosts of a fleet and the watts of a
// site.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/sim/kernel.h"
#include "twin/world/fault_board.h"
#include "twin/world/fleet_state.h"
#include "twin/world/power_meters.h"
#include "twin/world/process.h"
#include "twin/world/run_recorder.h"

namespace orrery::world {

class HostLives;
class SharedLives;
class SiteLives;

// Number of parts that a replication is run in; between them the caller may look at it or stop it.
inline constexpr std::int64_t kParts = 100;

class World final : public sim::EventHandler, public FreeSlotsObserver {
 public:
  // The spec must outlive the world; `recorder` may be null. The first replication uses the middle
  // of every rate.
  World(const WorldSpec& spec, std::uint64_t seed, bool is_first, Recorder* recorder);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Makes a process: T(world, its index, rest...).
  template <class T, class... Rest>
  T& add(Rest&&... rest) {
    auto process =
        std::make_unique<T>(*this, ProcessIndex(processes_.size()), std::forward<Rest>(rest)...);
    T& made = *process;
    processes_.push_back(std::move(process));
    return made;
  }
  // Adds an activity that begins after the processes and closes after them; it must outlive the
  // run.
  void attach(Activity& activity) { activities_.push_back(&activity); }

  // Runs the clock, and calls `on` regularly to ask whether to continue. Returns false if `on`
  // returned false.
  bool run(const std::function<bool()>& on);

  const WorldSpec& spec() const { return spec_; }
  sim::Kernel& kernel() { return kernel_; }
  FleetState& fleet(design::FleetIndex f) { return *fleets_[f]; }
  auto fleets() const { return fleets_.indices(); }
  const IndexedVector<ProcessIndex, std::unique_ptr<Process>>& processes() const {
    return processes_;
  }
  Process& process(ProcessIndex p) { return *processes_[p]; }
  PowerMeters& meters() { return meters_; }
  const PowerMeters& meters() const { return meters_; }
  FaultBoard& faults() { return *faults_; }
  const FaultBoard& faults() const { return *faults_; }
  RunRecorder& recorder() { return recorder_; }
  HostLives& host_lives() { return *host_lives_; }
  const SharedLives& shared_lives() const { return *shared_lives_; }
  const SiteLives& site_lives() const { return *site_lives_; }
  // Returns true if every book balances: slots, and what the queues know of them.
  bool is_sound() const { return is_sound_; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;
  // With a power-aware scheduler, queues of the same site may now start what the power allows.
  void slots_came_free(design::SiteIndex site) override;

 private:
  void check();

  const WorldSpec& spec_;
  sim::Kernel kernel_;
  RunRecorder recorder_;
  PowerMeters meters_;
  IndexedVector<design::FleetIndex, std::unique_ptr<FleetState>> fleets_;
  IndexedVector<ProcessIndex, std::unique_ptr<Process>> processes_;
  std::vector<Activity*> activities_;
  std::unique_ptr<FaultBoard> faults_;
  std::unique_ptr<HostLives> host_lives_;
  std::unique_ptr<SharedLives> shared_lives_;
  std::unique_ptr<SiteLives> site_lives_;
  bool is_sound_ = true;
};

}  // namespace orrery::world
