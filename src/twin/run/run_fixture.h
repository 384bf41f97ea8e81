// For tests: a run of a design that was changed by hand.
#pragma once

#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "twin/run/simulation.h"
#include "twin/world/sample_fixture.h"

namespace orrery::run {

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

// The plan of a service, without windows of requests.
inline processes::ServicePlan plan_of(const machine::Machine& m, std::size_t workload = 0) {
  return processes::service_plans(jobs::serve_jobs(m, m.design().workloads[workload]), m, false)
      .front();
}

}  // namespace orrery::run
