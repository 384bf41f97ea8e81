// What the replications of a run come to: sections of figures, goals, waterfall, diagnosis.
#pragma once

#include <span>

#include "twin/twin/simulation.h"

namespace orrery::twin {

// Fills all of the run but its counts, books, series and events.
void tell(Run& run, const Scenario& scenario, std::span<const Replication> done);

}  // namespace orrery::twin
