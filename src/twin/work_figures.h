// What a run says of its services, batches and streams of jobs.
#pragma once

#include "twin/over_replications.h"

namespace orrery::twin {

void tell_service(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t s);
void tell_batch(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t b);
void tell_stream(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t s);

}  // namespace orrery::twin
