// What workloads need from storage tiers: capacity, rates and files.
//
//   a data set   its size; the rate at which the steps use samples; one file open per file
//   a save       what the keep rules hold; its size within a tenth of the interval or, if training
//                waits for it, within the stall that the design's goal allows; its files
//   a later copy what is kept; its size within a tenth of the time between two copies
//   events       what is retained; their rate
//   batch work   its input and output; both within its window
//   a stage      what the cycles keep on the tier that it writes; the rate given
//   an index     its size; the reads of all requests at their peak
// The review reports the use of each tier from this, and a tier of open size gets its servers from
// it. Left out: weights of services, which are small and read at a start, and their KV tiers; and a
// restore may be only as fast as the tier turns out to be.
#pragma once

#include <vector>

#include "model/jobs/pipeline.h"

namespace orrery::jobs {

// Returns the needs of a run whose costs are known.
std::vector<machine::TierAsk> asks_of(const TrainJob& job, const machine::Machine& machine);
std::vector<machine::TierAsk> asks_of_pipeline(const machine::Machine& machine);
// Returns the needs of the indexes that services read before a prompt is complete.
std::vector<machine::TierAsk> asks_of_indexes(const machine::Machine& machine);
// Returns the needs of all workloads and stages if no tier ever made them wait. Runs that fit
// nowhere need nothing.
std::vector<machine::TierAsk> asks_of(const machine::Machine& machine);

}  // namespace orrery::jobs
