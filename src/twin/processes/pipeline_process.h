// The pipeline in simulated time: cycles of data pass through its stages.
//
//   cycle k begins at k x every; a stage is ready when all that it waits for has ended in cycle k,
//   and starts when cycle k - 1 has left it: a stage holds one cycle at a time, in order
//   moving    a transfer between tiers that shares their links with other stages' (storage_plant.h)
//   working   the workload's process is called and says when its run has ended
//   serving   the service's replicas load the new weights one after the other
//   lead      from a cycle's beginning until its model serves
//   age       of the serving model's data: now - the beginning of its cycle; it is highest just
//             before the next model serves, and that highest age is the freshness
// Bytes are counted when they arrive. A workload that cannot run blocks its stage for good.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "model/jobs/pipeline.h"
#include "model/jobs/train_job.h"
#include "twin/storage/storage_plant.h"
#include "twin/world/world.h"

namespace orrery::processes {

struct StageOutcome {
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
  std::int64_t start_ns = 0;  // from the start of the cycle, summed over the cycles that ended
  std::int64_t end_ns = 0;
  // time that the stage was ready while the previous cycle was still in it
  std::int64_t wait_ns = 0;
  Bytes moved;

  double mean_s(std::int64_t sum) const {
    return ended > 0 ? static_cast<double>(sum) / 1e9 / static_cast<double>(ended) : 0;
  }
};

struct PipelineOutcome {
  std::vector<StageOutcome> stages;
  std::uint64_t cycles = 0;  // cycles started
  std::uint64_t served = 0;
  std::int64_t lead_ns = 0;  // total over the cycles whose model serves
  std::int64_t age_ns = 0;   // highest age of a serving model's data
};

// One cycle, by stage; never() for a stage that it has not reached.
struct Cycle {
  sim::SimTime began;
  std::vector<sim::SimTime> ready;
  std::vector<sim::SimTime> started;
  std::vector<sim::SimTime> ended;
  std::vector<std::size_t> waits;  // number of stages that each stage still waits for
  std::size_t to_serve = 0;        // stages left until its model serves
};

class PipelineProcess final : public world::Activity,
                              public sim::EventHandler,
                              private world::Caller,
                              private twin_storage::TransferObserver {
 public:
  // `runs`: all training runs, which take part of the tiers' rates. Both arguments must outlive the
  // process.
  PipelineProcess(world::World& world, std::span<const jobs::TrainJob> runs);
  ~PipelineProcess() override;
  PipelineProcess(const PipelineProcess&) = delete;
  PipelineProcess& operator=(const PipelineProcess&) = delete;

  const PipelineOutcome& outcome() const { return outcome_; }
  const std::vector<jobs::PipelineStage>& stages() const { return stages_; }
  const std::vector<Cycle>& cycles() const { return cycles_; }
  const twin_storage::StoragePlant& plant() const { return plant_; }

  // Names the process that works for a workload of the design: if that workload is a stage, it runs
  // only when it is called.
  void add_process(world::Process& process, const design::Workload& workload);
  void begin() override;
  void close() override;

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  struct Place {
    std::deque<std::size_t> line;  // cycles that are ready, in order
    bool is_busy = false;
    std::size_t cycle = 0;
    std::size_t pending = 0;  // processes still working
    std::vector<world::Process*> processes;
  };

  void on_arrived(sim::Kernel& kernel, std::uint64_t tag) override;
  void run_ended(world::ProcessIndex process) override;
  void begin_cycle();
  void make_ready(std::size_t cycle, std::size_t stage);
  void start_next(std::size_t stage);
  void end_stage(std::size_t stage);
  void serve(const Cycle& cycle);
  twin_storage::PlantShape plant_shape(std::span<const jobs::TrainJob> runs) const;
  sim::SimTime now() const;
  std::string track_of(std::size_t stage) const;

  const world::WorldSpec& spec_;
  sim::Kernel& kernel_;
  std::vector<jobs::PipelineStage> stages_;
  twin_storage::StoragePlant plant_;
  std::vector<Place> places_;
  std::vector<Cycle> cycles_;
  sim::SimTime known_until_;  // start of the cycle whose model serves
  PipelineOutcome outcome_;
};

}  // namespace orrery::processes
