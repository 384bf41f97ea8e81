// The summary of a run's replications: sections of figures, goals, waterfall, diagnosis.
#pragma once

#include <span>

#include "twin/run/simulation.h"

namespace orrery::run {

// Fills in the whole run except its counts, books, series and events.
void tell(Run& run, const processes::Scenario& scenario, std::span<const Replication> done);

}  // namespace orrery::run
