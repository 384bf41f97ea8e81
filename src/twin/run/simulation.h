// Machine -> Run: replications of one scenario, each from a seed of its own.
//
// replicate() is a pure function of the scenario, the seed and the number: whoever calls may run
// them on any number of threads in any order and hand them to run_of() sorted by number; the bytes
// are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/machine/machine.h"
#include "twin/processes/pipeline_process.h"
#include "twin/processes/scenario.h"
#include "twin/processes/service_process.h"
#include "twin/processes/slice_process.h"
#include "twin/processes/task_process.h"
#include "twin/processes/train_process.h"
#include "twin/run/run.h"
#include "twin/world/cause.h"
#include "twin/world/site_lives.h"

namespace orrery::run {

struct SiteOutcome {
  Joules it_energy;
  Watts it_highest;
  std::vector<Joules> it_by_hour;  // of hosts; empty where the site names no hours
};

struct Replication {
  int number = 0;
  std::uint64_t events = 0;
  bool is_sound = true;                           // every book balances
  cluster::ByCause<cluster::GpuTime> gpu_time{};  // of all fleets
  IndexedVector<design::FleetIndex, cluster::ByCause<cluster::GpuTime>> fleet_time;
  // Jobs that a reservation put back into the queue.
  IndexedVector<design::FleetIndex, std::uint64_t> reserved_stops;
  std::vector<processes::JobOutcome> jobs;    // training runs
  std::vector<processes::ServiceOutcome> services;
  std::vector<processes::TaskOutcome> batches;
  std::vector<processes::TaskOutcome> streams;
  std::vector<processes::SliceOutcome> slices;
  processes::PipelineOutcome pipeline;  // no stages where the design has none
  IndexedVector<design::SiteIndex, SiteOutcome> sites;
  IndexedVector<design::SiteIndex, world::SiteStory> stories;
  IndexedVector<design::FleetIndex, std::vector<cluster::RackDraw>> racks;  // of the first alone
  std::vector<std::uint64_t> faults;  // by cause, then fault_names()
  std::uint64_t lemons_found = 0;
  world::Series series;  // of the first alone, as the events
  std::vector<world::RunEvent> log;
  std::vector<world::HostChange> host_log;
  std::uint64_t log_left_out = 0;
};

inline constexpr Seconds kUsualHorizon = days(30);

struct RunOptions {
  Seconds horizon = kUsualHorizon;
  std::uint64_t seed = 1;
  int replications = 1;
  catalog::ReadFile read{};      // of traces that the design names; none: such a stream cannot run
  std::function<bool()> stop{};  // once true, nobody waits for the run: its preparation ends early
};

class Simulation {
 public:
  // `machine` outlives it; the jobs are copied.
  Simulation(const machine::Machine& machine, const jobs::Jobs& jobs, const RunOptions& options);
  // For a caller that has no jobs yet: resolves them first.
  Simulation(const machine::Machine& machine, const RunOptions& options)
      : Simulation(machine, jobs::resolve_jobs(machine), options) {}

  const RunOptions& options() const { return options_; }
  const processes::Scenario& scenario() const { return scenario_; }
  // `on` is asked kParts times a replication; none where it said no.
  std::optional<Replication> replicate(int number, const std::function<bool()>& on = {}) const;
  // Of those that were done, sorted by number, the first among them.
  Run run_of(std::span<const Replication> done) const;

 private:
  RunOptions options_;
  processes::Scenario scenario_;
  twin_storage::StorageRun storage_;  // one day of it, which all replications start from
};

}  // namespace orrery::run
