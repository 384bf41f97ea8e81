// Machine -> Run: replications of one scenario, each with its own seed.
//
// replicate() is a pure function of the scenario, the seed and the number: callers may run
// replications on any number of threads in any order and pass them to run_of() sorted by number;
// the bytes are the same.
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
  std::vector<Joules> it_by_hour;  // of hosts; empty if the site names no hours
};

struct Replication {
  int number = 0;
  std::uint64_t events = 0;
  bool is_sound = true;                           // every book balances
  cluster::ByCause<cluster::GpuTime> gpu_time{};  // over all fleets
  IndexedVector<design::FleetIndex, cluster::ByCause<cluster::GpuTime>> fleet_time;
  // Jobs delayed by a reservation.
  IndexedVector<design::FleetIndex, std::uint64_t> reserved_stops;
  std::vector<processes::JobOutcome> jobs;  // training runs
  std::vector<processes::ServiceOutcome> services;
  std::vector<processes::TaskOutcome> batches;
  std::vector<processes::TaskOutcome> streams;
  std::vector<processes::SliceOutcome> slices;
  processes::PipelineOutcome pipeline;  // no stages if the design has no pipeline
  IndexedVector<design::SiteIndex, SiteOutcome> sites;
  IndexedVector<design::SiteIndex, world::SiteStory> stories;
  // For the first replication only.
  IndexedVector<design::FleetIndex, std::vector<cluster::RackDraw>> racks;
  std::vector<std::uint64_t> faults;  // by cause, then fault_names()
  std::uint64_t lemons_found = 0;
  world::Series series;  // for the first replication only, like the events
  std::vector<world::RunEvent> log;
  std::vector<world::HostChange> host_log;
  std::uint64_t log_left_out = 0;
};

inline constexpr Seconds kUsualHorizon = days(30);

struct RunOptions {
  Seconds horizon = kUsualHorizon;
  std::uint64_t seed = 1;
  int replications = 1;
  // reads traces that the design names; if empty, such a stream cannot run
  catalog::ReadFile read{};
  // once it returns true, the run is not needed: its preparation ends early
  std::function<bool()> stop{};
};

class Simulation {
 public:
  // `machine` must outlive the simulation; the jobs are copied.
  Simulation(const machine::Machine& machine, const jobs::Jobs& jobs, const RunOptions& options);
  // For a caller that has no jobs yet: resolves them first.
  Simulation(const machine::Machine& machine, const RunOptions& options)
      : Simulation(machine, jobs::resolve_jobs(machine), options) {}

  const RunOptions& options() const { return options_; }
  const processes::Scenario& scenario() const { return scenario_; }
  // Runs one replication. `on` is called kParts times per replication; returns nothing if it
  // returned false.
  std::optional<Replication> replicate(int number, const std::function<bool()>& on = {}) const;
  // Returns the run. `done` must be sorted by number and contain the first replication.
  Run run_of(std::span<const Replication> done) const;

 private:
  RunOptions options_;
  processes::Scenario scenario_;
  twin_storage::StorageRun storage_;  // one simulated day of storage, used by all replications
};

}  // namespace orrery::run
