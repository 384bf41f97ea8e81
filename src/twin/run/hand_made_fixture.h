// For tests: a run of one hour with outcomes set by the test, shown as figures.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/jobs/build_machine.h"
#include "twin/run/run_figures.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

// A job of any kind with its name and, if it cannot run, the reason.
template <class Job>
Job named_job(std::string label, std::string infeasible = {}) {
  Job job;
  job.label = std::move(label);
  job.infeasible = std::move(infeasible);
  return job;
}

// Jobs of users that arrive at a queue; kind is StreamJob or SliceJob.
template <class Job>
Job queued_job(std::string label, double rate, Seconds mean_run = {}) {
  Job job = named_job<Job>(std::move(label));
  job.rate = PerSecond(rate);
  job.mean_run = mean_run;
  return job;
}

inline jobs::BatchJob batch_of(std::string label, int elements, Seconds element_compute = {}) {
  auto job = named_job<jobs::BatchJob>(std::move(label));
  job.elements = elements;
  job.element_compute = element_compute;
  return job;
}

struct HandMadeRun {
  explicit HandMadeRun(design::Design d = world::sample_design(), int replications = 1)
      : machine(jobs::build_machine(std::move(d), machine::known())),
        scenario(processes::scenario_of(machine, hours(1))) {
    for (int n = 0; n < replications; ++n) add_replication(n);
  }
  void add_replication(int number) {
    Replication& r = done.emplace_back();
    r.number = number;
    r.fleet_time.resize(scenario.fleets.size());
    r.reserved_stops.resize(scenario.fleets.size());
    r.jobs.resize(scenario.trains.size());
    r.sites.resize(machine.sites.size());
    r.stories.resize(machine.sites.size());
    r.faults.resize(world::fault_names(machine.models().fault_causes).size());
  }
  HandMadeRun(const HandMadeRun&) = delete;
  HandMadeRun& operator=(const HandMadeRun&) = delete;

  Replication& first() { return done.front(); }
  const Run& tell_all() {
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
  const Estimate* find(figures::Layer layer, const std::string& name, const std::string& id) const {
    const figures::Figure* f = figure(layer, name, id);
    return f ? &f->estimate : nullptr;
  }

  machine::Machine machine;
  processes::Scenario scenario;
  std::vector<Replication> done;
  Run run;
};

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

// A section's figures by id, in their order.
using Listed = std::vector<std::pair<std::string, double>>;

inline void expect_list(const HandMadeRun& t, figures::Layer layer, const std::string& name,
                        const Listed& wanted) {
  SCOPED_TRACE(name);
  const figures::Section* s = t.section(layer, name);
  ASSERT_NE(s, nullptr);
  std::vector<std::string> got, ids;
  for (const figures::Figure& f : s->figures) got.push_back(f.id());
  for (const auto& [id, value] : wanted) ids.push_back(id);
  EXPECT_EQ(got, ids);
  for (const auto& [id, value] : wanted) {
    EXPECT_NEAR(t.value(layer, name, id), value, 1e-9 * std::max(1.0, std::fabs(value))) << id;
  }
}

}  // namespace orrery::run
