// A run: what simulated time says of a design, over its replications. Pure data; report/ renders
// it.
//
// Estimates are the mean over replications with p10 and p90 of them; series and events are of the
// first. The GPU-seconds are the mean's, whole, and add up to accelerators x time.
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

// One step of the waterfall of effective training time: what a cause takes of a job's wall time.
struct WaterfallStep {
  cluster::Cause cause = cluster::Cause::productive;
  double share = 0;
};

struct Waterfall {
  std::string job;
  std::vector<WaterfallStep> steps;  // productive first, then the losses, largest first
};

// The hosts of a fleet as the log of them counts: those in service first, then the spares.
struct FleetHosts {
  std::string name;
  int hosts = 0;
  int spares = 0;
  int accelerators_per_host = 0;
};

// A rack of a fleet, or the power unit of several, in the first replication.
struct RackPower {
  std::string fleet;
  int number = 0;  // of its fleet, from 0
  int hosts = 0;
  Watts mean;
  Watts highest;  // were all in it that step in their highest phase at once
  Watts limit;    // of the site or its cooling, of a unit those of its racks; 0: not known
};

struct Run {
  std::string design;
  std::string version;
  std::string digest;  // of the design
  Seconds simulated;
  std::uint64_t seed = 1;
  std::uint64_t events = 0;  // of the kernel, all replications
  int replications = 0;
  bool is_whole = true;  // all that were asked for
  std::int64_t accelerators = 0;
  std::string summary;
  std::vector<figures::GoalOutcome> goals;      // those that a run measures
  std::vector<std::string> goals_left_to_plan;  // as written
  std::vector<figures::Section> sections;
  std::array<std::int64_t, cluster::kShares> gpu_seconds{};
  double energy_j = 0;  // of all sites, IT
  std::vector<Waterfall> waterfalls;
  std::vector<RackPower> racks;         // of owned fleets whose draw is known
  std::vector<RackPower> pdus;          // likewise
  std::vector<std::string> infeasible;  // runs that cannot be, and why
  std::string diagnosis;                // empty where accelerators are busy enough
  std::vector<std::string> notes;       // what stands in closed form, what was left out
  world::Series series;
  std::vector<world::RunEvent> log;
  std::vector<FleetHosts> fleets;
  std::vector<std::string> jobs;  // the training runs, by the number that holds hosts
  std::vector<world::HostChange> host_log;
  std::uint64_t log_left_out = 0;

  bool passes() const;  // all can run, and every goal it measures is met
};

}  // namespace orrery::run
