// For tests: a run of one hour whose outcomes are the test's, told as figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/jobs/build_machine.h"
#include "twin/twin/host_lives.h"
#include "twin/twin/run_figures.h"
#include "twin/twin/run_fixture.h"

namespace orrery::twin {

struct ToldRun {
  explicit ToldRun(design::Design d = sample_design())
      : machine(jobs::build_machine(std::move(d), machine::known())),
        scenario(scenario_of(machine, hours(1))) {
    Replication& r = done.emplace_back();
    r.fleet_time.resize(scenario.fleets.size());
    r.reserved_stops.resize(scenario.fleets.size());
    r.jobs.resize(scenario.trains.size());
    r.sites.resize(machine.sites.size());
    r.stories.resize(machine.sites.size());
    r.faults.resize(fault_names(machine.models().fault_causes).size());
  }
  ToldRun(const ToldRun&) = delete;
  ToldRun& operator=(const ToldRun&) = delete;

  Replication& first() { return done.front(); }
  const Run& told() {
    run = {};
    run.simulated = scenario.horizon;
    run.replications = static_cast<int>(done.size());
    tell(run, scenario, done);
    return run;
  }
  const figures::Section* section(figures::Layer layer, const std::string& name) const {
    for (const figures::Section& s : run.sections) {
      if (s.layer == layer && s.name == name) return &s;
    }
    return nullptr;
  }
  const figures::Figure* figure(figures::Layer layer, const std::string& name,
                                const std::string& id) const {
    const figures::Section* s = section(layer, name);
    if (!s) return nullptr;
    for (const figures::Figure& f : s->figures) {
      if (f.id() == id) return &f;
    }
    return nullptr;
  }
  double value(figures::Layer layer, const std::string& name, const std::string& id) const {
    const figures::Figure* f = figure(layer, name, id);
    return f ? f->estimate.value : std::nan("");
  }

  machine::Machine machine;
  Scenario scenario;
  std::vector<Replication> done;
  Run run;
};

}  // namespace orrery::twin
