// What a run says of its services, batches, streams of jobs and pipeline.
#pragma once

#include "twin/twin/over_replications.h"

namespace orrery::twin {

void tell_service(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t s);
void tell_batch(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t b);
void tell_stream(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t s);
void tell_slices(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t s);
// The pipeline with its stages, and how old events are when a model knows them.
void tell_pipeline(Run& run, const Scenario& scenario, const OverReplications& over);

}  // namespace orrery::twin
