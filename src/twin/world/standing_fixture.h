// For tests: a world that has not begun, with workloads to ask its queue about.
#pragma once

#include <vector>

#include "twin/world/clocked_fixture.h"

namespace orrery::world {

inline design::Workload jobs_of(const char* name, const design::Terms& terms) {
  design::Jobs jobs{.rate = PerSecond(1e-9), .mean_duration = hours(1)};
  jobs.sizes = {8};
  design::Workload w{.terms = terms, .task = jobs};
  w.terms.name = name;
  return w;
}

inline design::Design queue_design(int hosts, const std::vector<design::Workload>& work) {
  design::Design d = sample_design();
  d.fleet.front().count = hosts;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.backfill = design::Backfill::easy;
  d.workloads = work;
  return d;
}

struct StandingWorld : IdleWorld {
  explicit StandingWorld(const design::Design& d) : IdleWorld(d, hours(1)) {
    world = std::make_unique<World>(scenario, 5, true, nullptr);
  }
  FleetState& fleet() { return world->fleet(kFirstFleet); }
  const design::Workload& work(std::size_t w) const { return machine.design().workloads[w]; }
  cluster::JobRequest request(std::size_t w, std::uint32_t user = 0) {
    return fleet().request_for(ProcessIndex(w), work(w), user);
  }
};

}  // namespace orrery::world
