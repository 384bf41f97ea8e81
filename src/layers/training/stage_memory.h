// The memory of every pipeline stage, for a picture: memory.h gives the fullest, the first and the
// last. Middle stages hold the same weights and ever fewer microbatches in flight.
#pragma once

#include <vector>

#include "layers/training/memory.h"

namespace orrery::training {

std::vector<StageMemory> memory_by_stage(const TrainingJob& job, const Layout& layout,
                                         const FrameworkModel& framework, StepScratch& scratch);

}  // namespace orrery::training
