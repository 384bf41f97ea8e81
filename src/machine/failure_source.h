// How often a host of a fleet fails, and who says so.
//
//   rate = base ((1 - p) + p m) + spot      p lemons at m times the base rate
// The base rate is the design's own node_mtbf, else what the published runs say of a run of that
// size (failure/rates.h), by accelerators of a host; spot interruptions come on top where the fleet
// is rented so. Published fleets differ by a factor of six at equal size, and the interval says so.
#pragma once

#include <string>

#include "base/quantity.h"
#include "machine/fleet.h"
#include "machine/models.h"

namespace orrery::machine {

struct FailureSource {
  PerSecond base;  // of one host of the common kind; no lemons, no spot
  PerSecond rate;  // of a host drawn at random, spot interruptions included
  PerSecond spot;  // of it
  // The 80 % interval of the base rate, as factors of it; 0 where nothing is published.
  double low = 0;
  double high = 0;
  bool own = false;  // the design's
  std::string reference;
};

// For a run on so many of the fleet's hosts.
FailureSource failure_source(const Fleet& fleet, const Models& models, int hosts);

}  // namespace orrery::machine
