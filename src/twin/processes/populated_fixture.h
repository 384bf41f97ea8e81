// For tests: a world with the processes of a scenario.
#pragma once

#include "twin/processes/process_set.h"
#include "twin/world/world.h"

namespace orrery::processes {

struct PopulatedWorld {
  world::World world;
  ProcessSet processes;

  PopulatedWorld(const Scenario& scenario, std::uint64_t seed, world::Recorder* recorder = nullptr)
      : world(scenario, seed, true, recorder), processes(world, scenario) {}
};

}  // namespace orrery::processes
