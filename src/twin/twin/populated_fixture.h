// For tests: a world with the processes of a scenario.
#pragma once

#include "twin/twin/process_set.h"
#include "twin/twin/world.h"

namespace orrery::twin {

struct PopulatedWorld {
  World world;
  ProcessSet processes;

  PopulatedWorld(const Scenario& scenario, std::uint64_t seed, Recorder* recorder = nullptr)
      : world(scenario, seed, true, recorder), processes(world, scenario) {}
};

}  // namespace orrery::twin
