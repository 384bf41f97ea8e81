// A training run as a process: it is queued, placed, starts, steps and saves, is hit by faults,
// comes back, and ends.
//
//   queue -> start -> restore -> steps and saves -> done -> (a run that repeats: wait)
//                                   | fault
//                                   +-> detect -> requeue -> hosts -> start ...
// Between two events its steps and saves are one stretch in closed form (save_cycle.h). A fault
// closes the stretch: what the newest usable copy holds is kept, the rest is lost. Which copy is
// usable depends on the cause: if the host's drives can be read, the newest one; else the newest
// that has drained to a tier that survives hosts; with neither, none. A fault during a restart
// starts it over, as in the closed form (failure/effective_time.h). A silent fault spoils what is
// saved after it: when it is found, the run goes back to the last copy from before.
// An elastic run (`min_replicas`) that loses a host when there is no spare continues with the
// replicas that are left, at their share of the rate. After a save it takes in more hosts if some
// are free and no job of its priority waits for them. It gives back hosts that hold no whole
// replica. Wrong if fewer replicas have no room for the optimizer state that was sharded over more.
// A run whose hosts are below more leaves than they need steps slower, as jobs/ timed it by
// placement; the time is booked as contention. Wrong if a run keeps fewer copies than a silent
// fault lasts: an older copy is taken to exist.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "layers/failure/save_cycle.h"
#include "layers/failure/setbacks.h"
#include "model/jobs/train_job.h"
#include "twin/world/process.h"
#include "twin/world/world.h"

namespace orrery::processes {

struct JobOutcome {
  cluster::ByCause<std::int64_t> time_ns{};  // of the run's wall time
  std::int64_t span_ns = 0;  // from its first start to its end, without waits between repetitions
  std::uint64_t interruptions = 0;
  std::uint64_t saves = 0;
  std::uint64_t restores = 0;
  std::uint64_t runs_started = 0;
  std::uint64_t runs_finished = 0;
  std::uint64_t preemptions = 0;     // by work of a higher priority
  std::uint64_t shrinks = 0;         // times that it continued with fewer replicas
  std::uint64_t grows = 0;           // times that it took replicas in again
  std::uint64_t holds = 0;           // times that the policy held the run until a person looked
  std::uint64_t windows_missed = 0;  // repeated runs that ended too late
  std::int64_t finished_ns = 0;      // duration of the first run that finished
  std::int64_t age_ns = 0;           // highest age of a model's data when the next model was ready
  std::int64_t outage_ns = 0;        // total time from faults to the next step
  std::uint64_t outages = 0;         // outages that ended
  bool never_fits = false;           // it asks for more at once than it may ever have
  double units = 0;                  // tokens or samples that were kept
  Watts host_draw;                   // mean draw of one host while it steps

  double goodput() const {
    return span_ns > 0 ? static_cast<double>(time_ns[at(cluster::Cause::productive)]) /
                             static_cast<double>(span_ns)
                       : 0;
  }
};

class TrainProcess final : public world::Process, public sim::EventHandler {
 public:
  TrainProcess(world::World& world, world::ProcessIndex index, const jobs::TrainJob& job, int run);
  ~TrainProcess() override { kernel_.forget(*this); }
  TrainProcess(const TrainProcess&) = delete;
  TrainProcess& operator=(const TrainProcess&) = delete;

  const JobOutcome& outcome() const { return outcome_; }

  void begin() override;
  void close() override;
  void call() override { after(Seconds(0), kSubmit); }
  void placed(std::uint32_t part, std::span<const cluster::NodeShare> where) override;
  void evicted(std::uint32_t part, cluster::StopCause cause) override;
  Seconds struck(std::uint32_t part, std::optional<world::HostIndex> host,
                 const failure::FaultCause& cause) override;
  void set_back(cluster::Cause cause, Seconds span, double share) override;
  void corrupted(std::uint32_t part, world::HostIndex host) override;
  std::vector<cluster::NodeShare> lost_host(std::uint32_t part, world::HostIndex host) override;
  std::size_t hosts_beside(design::FleetIndex fleet, world::HostIndex host) const override;
  std::optional<int> training_run() const override { return run_; }
  void room_came() override;
  std::string known_as() const override { return job_.label; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum class Phase { away, waits_for_hosts, starts, restores, steps, detects, requeues };
  enum Kind : std::uint32_t {
    kSubmit,
    kStarted,
    kRestored,
    kDetected,
    kRequeued,
    kReleased,
    kFinished,
    kGrow
  };

  void enter(Phase phase, cluster::Cause cause);
  void after(Seconds wait, Kind kind);
  void begin_run();
  void ask_for_hosts();
  void begin_steps();
  void on_detected();
  void on_requeued();
  // Ends the present stretch; `kept_work` of the run is kept.
  void close_steps(std::int64_t kept_work);
  void book_steps(const failure::Progress& p, std::int64_t lost);
  void book_lost(std::int64_t lost);
  std::int64_t kept_after(const failure::Progress& p, bool keeps_disk) const;
  // The same for a fault that was announced: a save that began then may be safe by now.
  std::int64_t kept_after(const failure::FaultCause& cause) const;
  // Returns the part of the run's work that was done before the host went wrong; all of it if it
  // did not.
  std::int64_t sound_work(world::HostIndex host);
  // The copy that the run would start from is spoilt beyond `sound`.
  void roll_back(std::int64_t sound);
  void finish();
  void let_go();
  void tell_draw();  // reports to the meters of its racks
  void note_hosts(std::span<const cluster::NodeShare> where);
  void restart_in_place();
  // Returns the hosts that the run could have at once.
  int hosts_at_hand() const;
  // Returns the units of whole hosts that the run asks for after a loss, and those that it holds.
  int units_to_ask() const;
  int units_held() const;
  void grow();
  // Converts the whole run's work into what its present replicas do in this time, and back.
  std::int64_t scaled(std::int64_t work) const;
  std::int64_t unscaled(std::int64_t work) const;
  world::HostUse use() const;
  failure::SaveCycle cycle_of() const;
  double straggler() const;
  // Returns the factor on the step at the leaves where the run's hosts are.
  double slower_here() const;
  failure::Progress progress() const;
  std::int64_t stepped_ns() const;  // of the present stretch, without setbacks
  void await_end();

  const jobs::TrainJob& job_;
  int run_;  // index among the training runs
  const world::WorldSpec& spec_;
  sim::Kernel& kernel_;
  world::FleetState& fleet_;
  world::SlotBook& slots_;
  world::FaultBoard& faults_;
  world::RunRecorder& recorder_;
  const world::SiteLives& site_lives_;
  std::int64_t whole_ = 0;  // slots of the whole run
  std::int64_t held_ = 0;   // slots that it asked for last, and holds while it is placed
  std::int64_t stepped_with_ = 0;
  std::int64_t goal_ns_ = 0;  // work of one run; 0: it never ends
  Watts steps_draw_;          // per host, mean over steps and saves
  Watts steps_highest_;       // per host, in the phase that draws most

  Phase phase_ = Phase::away;
  cluster::Cause cause_ = cluster::Cause::idle;
  sim::SimTime since_;
  sim::TimerId timer_;
  sim::TimerId grow_timer_;
  bool grows_soon_ = false;
  cluster::JobIndex job_index_ = cluster::kNoJob;
  bool is_placed_ = false;
  std::vector<world::HostIndex> hosts_;
  bool has_lost_hosts_ = false;  // in this outage
  bool has_dead_host_ = false;   // one of its hosts has failed and is not detected yet
  int slow_hosts_ = 0;
  double placed_slower_ = 1;
  std::int64_t work_ns_ = 0;  // done before the present stretch
  bool has_copy_ = false;
  failure::SaveCycle cycle_;
  failure::Setbacks setbacks_;                    // in the present stretch
  std::array<double, cluster::kShares> level_{};  // levels of the series while it steps
  std::map<world::HostIndex, std::int64_t>
      sound_work_;  // work done before a host went wrong without being detected
  sim::SimTime run_began_;
  sim::SimTime learnt_from_;  // start of the run that ended last
  sim::SimTime struck_;
  bool is_down_ = false;
  JobOutcome outcome_;
};

}  // namespace orrery::processes
