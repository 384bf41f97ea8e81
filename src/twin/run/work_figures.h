// What a run reports on its services, batches, streams of jobs and pipeline.
#pragma once

#include "twin/run/over_replications.h"

namespace orrery::run {

void tell_service(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                  std::size_t s);
void tell_batch(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                std::size_t b);
void tell_stream(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                 std::size_t s);
void tell_slices(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                 std::size_t s);
// Adds the pipeline with its stages, and the age of events when a model has learned them.
void tell_pipeline(Run& run, const processes::Scenario& scenario, const OverReplications& over);

}  // namespace orrery::run
