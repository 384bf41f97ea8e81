// Jobs that ask for a slice of an accelerator (MIG): they share accelerators that are taken from
// the fleet's queue one at a time.
//
//   arrives -> waits for a legal place on an open accelerator (cluster/mig_pool.h) -> runs -> done
//   no place: one more accelerator is requested from the queue, as a job of one that stays; an
//   accelerator without a slice in use is returned
// Within a profile, jobs start in their order; another profile may pass them if it fits. The time
// of open accelerators is booked in sevenths: slices in use are productive, those that fit no
// waiting profile are `free while jobs wait` (stranded), the rest is free. A fault takes all slices
// of its accelerator, and their jobs start over. Job lengths are drawn as for a stream
// (work_plan.h). Where it is wrong: cutting an instance takes no time; slices do not slow each
// other.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "layers/cluster/mig_pool.h"
#include "twin/processes/work_plan.h"
#include "twin/world/world.h"

namespace orrery::processes {

struct SliceOutcome {
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  std::uint64_t stops = 0;  // times that jobs lost their place
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;
  std::uint64_t faults = 0;  // faults that hit one of its accelerators
  bool never_fits = false;   // it may not have even one accelerator
  std::vector<double> waits_s;
  // Time of the accelerators that were open, in nanoseconds of a compute slice.
  cluster::GpuTime open{};
  cluster::GpuTime used{};
  cluster::GpuTime stranded{};
  cluster::GpuTime lost{};
};

class SliceProcess final : public world::Process, public sim::EventHandler {
 public:
  SliceProcess(world::World& world, world::ProcessIndex index, const SlicePlan& plan);
  ~SliceProcess() override { kernel_.forget(*this); }
  SliceProcess(const SliceProcess&) = delete;
  SliceProcess& operator=(const SliceProcess&) = delete;

  const SliceOutcome& outcome() const { return outcome_; }

  void begin() override;
  void close() override;
  void placed(std::uint32_t part, std::span<const cluster::NodeShare> where) override;
  void evicted(std::uint32_t part, cluster::StopCause cause) override;
  Seconds struck(std::uint32_t part, std::optional<world::HostIndex> host,
                 const failure::FaultCause& cause) override;
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kArrival, kDone, kServe, kBack };
  enum class DeviceState : std::uint8_t { unused, asked, open, hangs };
  struct Job {
    int wanted = 0;  // index into the plan's wanted profiles
    Seconds run;
    sim::SimTime submitted;
    sim::SimTime started;
    double wait_s = -1;
    std::uint32_t device = 0;
    cluster::MigPlace place;
    sim::TimerId timer;
    bool is_running = false;
  };
  struct Device {
    DeviceState state = DeviceState::unused;
    cluster::JobIndex index = cluster::kNoJob;
    std::size_t in_pool = 0;
  };

  void arrive();
  void serve();
  bool start_next();
  void ask_for_device();
  void finish(std::uint32_t job);
  void release(std::uint32_t part);
  // The jobs of an accelerator start over.
  void lose_jobs(std::uint32_t part);
  // Books what the pool did since the last call.
  void book();
  world::HostUse use(DeviceState state) const;

  sim::Kernel& kernel_;
  const SlicePlan& plan_;
  world::FleetState& fleet_;
  world::SlotBook& slots_;
  Seconds detect_;
  world::HostUse runs_;
  RandomStream random_;
  cluster::MigPool pool_;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> unused_;
  std::vector<std::deque<std::uint32_t>> waiting_;  // by wanted profile
  std::vector<Device> devices_;
  bool is_asking_ = false;
  sim::SimTime booked_;
  SliceOutcome outcome_;
};

}  // namespace orrery::processes
