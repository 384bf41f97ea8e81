// What workloads ask of storage tiers: room, rates and files.
//
//   a data set   its size; the rate at which the steps take samples; one open a file
//   a save       what the keep rules hold; its size within a tenth of the interval, or within the
//                stall that the design's goal allows where training waits for it; its files
//   a later copy what is kept; its size within a tenth of the time between two
//   events       what is retained; their rate
//   batch work   its input and output; both within its window
//   a stage      what the cycles keep where it moves bytes to; the rate it was given
//   an index     its size; the reads of all requests at their peak
// The review says what of a tier is in use by it, and a tier whose servers the design leaves open
// is sized by it. Wrong for services' weights, which are not counted since they are small and read
// at a start, and for their KV tiers; and a restore is asked to be no faster than the tier turns
// out to be.
#pragma once

#include <vector>

#include "model/jobs/pipeline.h"

namespace orrery::jobs {

// Of a run whose costs are known.
std::vector<machine::TierAsk> asks_of(const TrainJob& job, const machine::Machine& machine);
std::vector<machine::TierAsk> asks_of_pipeline(const machine::Machine& machine);
// Indexes that services look into before a prompt is whole.
std::vector<machine::TierAsk> asks_of_indexes(const machine::Machine& machine);
// Of all workloads and stages, if no tier ever made them wait. Runs that fit nowhere ask nothing.
std::vector<machine::TierAsk> asks_of(const machine::Machine& machine);

}  // namespace orrery::jobs
