// What a run says of a site: draw, PUE, energy, carbon; whether its feed carries the draw, and
// which caps would keep it; the lines that synchronous steps draw in it, and their cheapest cure.
#pragma once

#include "twin/over_replications.h"

namespace orrery::twin {

// A swing above this share of the site's power is taken to be too much for its grid: assumed, since
// every utility sets its own.
inline constexpr double kSwingShareMax = 0.1;

// Adds the site's section and energy to the run.
void tell_site(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t site);

}  // namespace orrery::twin
