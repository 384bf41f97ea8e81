// Jobs that run once and are done: a stream of many users' jobs, or the elements of a batch array.
//
//   submitted -> waits -> runs -> done
//                 ^        | a fault: undetected for a while, then back into the queue
//                 +--------+ and from the beginning: nothing is known of their checkpoints
// A running job's slots are productive; what a fault takes is lost work. A stream draws its jobs as
// they arrive; a batch submits its array, counts it down, and may repeat. Work that waits for clean
// hours is held before it enters the queue (facility/clean_hours.h). The saving compares the jobs
// that ended with the same jobs started earlier by the time they were held. Wrong if an earlier
// start would have changed the places of others.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "model/machine/site_load.h"
#include "twin/processes/work_plan.h"
#include "twin/world/world.h"

namespace orrery::processes {

// Jobs that wait for the same reason.
struct WaitCount {
  std::uint64_t jobs = 0;
  std::string first;  // the reason given for the first of them
};

struct TaskOutcome {
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  std::uint64_t rejected = 0;                    // wider than the fleet or their quota
  std::uint64_t timed_out = 0;                   // ended by the limit of their QOS or partition
  std::uint64_t stops = 0;                       // times that jobs lost their place
  std::uint64_t faults = 0;                      // faults that hit one of its jobs
  std::uint64_t waiting = 0;                     // still waiting at the end
  std::uint64_t running = 0;                     // still running at the end
  std::map<cluster::WaitReason, WaitCount> why;  // reasons of the first waiting jobs
  std::vector<double> waits_s;                   // from arrival to the first start
  std::vector<double> slowdowns;  // for jobs that ended: (wait + run) / max(run, 10 s)
  double lost_slot_s = 0;
  // For work that waits for clean hours: how many jobs were held, their total wait, and what those
  // that ended drew above idle by the hour of the site's file, both as it was and as if none had
  // been held.
  std::uint64_t held = 0;
  double held_s = 0;
  std::vector<Joules> drawn;
  std::vector<Joules> drawn_else;
  // For a batch.
  std::uint64_t runs_finished = 0;
  std::uint64_t windows_missed = 0;
  std::vector<double> run_times_s;
};

class TaskProcess : public world::Process, public sim::EventHandler {
 public:
  TaskProcess(world::World& world, world::ProcessIndex index, design::FleetIndex fleet,
              const design::Workload& workload);
  ~TaskProcess() override { kernel_.forget(*this); }
  TaskProcess(const TaskProcess&) = delete;
  TaskProcess& operator=(const TaskProcess&) = delete;

  const TaskOutcome& outcome() const { return outcome_; }

  void close() override;
  void placed(std::uint32_t part, std::span<const cluster::NodeShare> where) override;
  void evicted(std::uint32_t part, cluster::StopCause cause) override;
  Seconds struck(std::uint32_t part, std::optional<world::HostIndex> host,
                 const failure::FaultCause& cause) override;
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 protected:
  struct Task {
    cluster::GpuAsk ask;
    Seconds run;
    Seconds limit;
    Seconds said;  // its run time, as far as it is known at submission
    std::uint32_t user = 0;
  };

  // Submits a task, now or in a clean hour. Returns false if it can never start.
  bool submit(const Task& task);
  virtual void on_arrival() = 0;
  // Called when an element is gone; `has_ended` is false if it was ended early.
  virtual void on_done(bool /*has_ended*/) {}
  void call_arrival(Seconds wait);

  sim::Kernel& kernel_;
  TaskOutcome outcome_;

 private:
  enum Kind : std::uint32_t { kArrival, kDone, kGone, kTimeOut, kRelease };
  enum class TaskState : std::uint8_t { unused, held, waits, runs, hangs };
  struct Live {
    Task task;
    cluster::JobIndex index = cluster::kNoJob;
    sim::SimTime submitted;
    sim::SimTime started;
    Seconds held;
    double wait_s = -1;  // wait until the first start; negative: not started
    sim::TimerId timer;
    TaskState state = TaskState::unused;
  };

  world::HostUse use(TaskState state) const;
  bool enter(std::uint32_t part);
  void book_draw(const Live& live);
  void lose_work(Live& live);
  void finish(std::uint32_t part);
  void time_out(std::uint32_t part);

  const design::Workload& workload_;
  world::FleetState& fleet_;
  world::SlotBook& slots_;
  Seconds detect_;
  Seconds most_;  // longest run time of a job
  world::HostUse runs_;
  std::optional<machine::CleanWork> clean_;
  std::vector<Live> live_;
  std::vector<std::uint32_t> unused_;
};

class StreamProcess final : public TaskProcess {
 public:
  StreamProcess(world::World& world, world::ProcessIndex index, const StreamPlan& plan);
  void begin() override;

 private:
  void on_arrival() override;
  Task drawn();
  void call_next();

  const StreamPlan& plan_;
  RandomStream random_;
  std::size_t next_ = 0;  // index into the trace
};

class BatchProcess final : public TaskProcess {
 public:
  BatchProcess(world::World& world, world::ProcessIndex index, const BatchPlan& plan);
  void begin() override;
  void call() override { call_arrival(Seconds(0)); }

 private:
  void on_arrival() override;
  void on_done(bool has_ended) override;

  const BatchPlan& plan_;
  sim::SimTime began_;
  int left_ = 0;
  bool is_whole_ = true;  // no element was ended early
};

}  // namespace orrery::processes
