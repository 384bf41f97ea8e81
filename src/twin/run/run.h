// A run: what simulated time shows about a design, over its replications. It is pure data; report/
// renders it.
//
// Estimates are the mean over replications with their p10 and p90; series and events are from the
// first. The GPU-seconds are the mean's, in whole seconds, and add up to accelerators x time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/figures/goals.h"
#include "model/figures/section.h"
#include "twin/world/cause.h"
#include "twin/world/recorder.h"

namespace orrery::run {

// One step of the waterfall of effective training time: the share of a job's wall time that a cause
// takes.
struct WaterfallStep {
  cluster::Cause cause = cluster::Cause::productive;
  double share = 0;
};

struct Waterfall {
  std::string job;
  std::vector<WaterfallStep> steps;  // productive first, then the losses, largest first
};

// The hosts of a fleet in the order of their log: those in service first, then the spares.
struct FleetHosts {
  std::string name;
  int hosts = 0;
  int spares = 0;
  int accelerators_per_host = 0;
};

// A rack of a fleet, or the power unit of several racks, in the first replication.
struct RackPower {
  std::string fleet;
  int number = 0;  // index in its fleet, from 0
  int hosts = 0;
  Watts mean;
  Watts highest;  // if everything in it that steps were in its highest phase at once
  Watts limit;    // of the site or its cooling; of a unit, for its racks; 0: unknown
};

struct Run {
  std::string design;
  std::string version;
  std::string digest;  // of the design
  Seconds simulated;
  std::uint64_t seed = 1;
  std::uint64_t events = 0;  // events of the kernel, over all replications
  int replications = 0;
  bool is_whole = true;  // all replications that were asked for are done
  std::int64_t accelerators = 0;
  std::string summary;
  std::vector<figures::GoalOutcome> goals;      // goals that a run can measure
  std::vector<std::string> goals_left_to_plan;  // as written in the design
  std::vector<figures::Section> sections;
  std::array<std::int64_t, cluster::kShares> gpu_seconds{};
  double energy_j = 0;  // IT energy of all sites
  std::vector<Waterfall> waterfalls;
  std::vector<RackPower> racks;         // of owned fleets whose draw is known
  std::vector<RackPower> pdus;          // of owned fleets whose draw is known
  std::vector<std::string> infeasible;  // workloads that cannot run, and why
  std::string diagnosis;                // empty if accelerators are busy enough
  std::vector<std::string> notes;       // which parts are closed forms, and what was left out
  world::Series series;
  std::vector<world::RunEvent> log;
  std::vector<FleetHosts> fleets;
  std::vector<std::string> jobs;  // the training runs, by the index that marks their hosts
  std::vector<world::HostChange> host_log;
  std::uint64_t log_left_out = 0;

  bool passes() const;  // true if everything can run and every measured goal is met
};

}  // namespace orrery::run
