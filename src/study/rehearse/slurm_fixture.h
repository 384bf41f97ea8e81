// For tests of the simulated Slurm: a controller, its nodes and a clock.
#pragma once

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {

inline constexpr double kEpoch = 1'700'000'000;

struct Rig {
  explicit Rig(const SimulatedOptions& options = {.nodes = 4}) : slurm(kernel, options) {}
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  failure::JobView job(std::size_t i = 0) { return slurm.look()->jobs.at(i); }
  failure::NodeView node(std::size_t i = 0) { return slurm.look()->nodes.at(i); }
  bool order(failure::ActionKind kind, const std::string& job,
             std::vector<std::string> nodes = {}) {
    return slurm.act({.kind = kind, .job = job, .nodes = std::move(nodes)}).has_value();
  }
  sim::Kernel kernel;
  SimulatedSlurm slurm;
};

}  // namespace orrery::rehearse
