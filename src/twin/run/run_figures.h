// What the replications of a run come to: sections of figures, goals, waterfall, diagnosis.
#pragma once

#include <span>

#include "twin/run/simulation.h"

namespace orrery::run {

// Fills all of the run but its counts, books, series and events.
void tell(Run& run, const processes::Scenario& scenario, std::span<const Replication> done);

}  // namespace orrery::run
