// For tests: a run of a design that was changed by hand.
#pragma once

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "twin/twin/simulation.h"

namespace orrery::twin {

// The sample's training run and nothing beside it.
inline design::Design sample_design() {
  design::Design d = design_text::read_design(design_text::find_template("superpod-h100")->text,
                                              machine::known().catalog())
                         .value();
  d.workloads.resize(1);
  return d;
}

inline design::Train& train_of(design::Design& d) {
  return std::get<design::Train>(d.workloads.front().task);
}

// All replications of it, one after the other.
struct Simulated {
  machine::Machine machine;
  Simulation simulation;
  std::vector<Replication> done;

  Simulated(design::Design d, const RunOptions& options,
            const machine::Models& models = machine::known())
      : machine(jobs::build_machine(std::move(d), models)), simulation(machine, options) {
    for (int n = 0; n < options.replications; ++n) done.push_back(*simulation.replicate(n));
  }
};

}  // namespace orrery::twin
