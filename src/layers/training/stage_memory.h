// The memory of every pipeline stage, for a chart; memory.h gives only the fullest, the first and
// the last. Middle stages hold the same weights, with fewer microbatches in flight the later they
// are.
#pragma once

#include <vector>

#include "layers/training/memory.h"

namespace orrery::training {

std::vector<StageMemory> memory_by_stage(const TrainingJob& job, const Layout& layout,
                                         const FrameworkModel& framework, StepScratch& scratch);

}  // namespace orrery::training
