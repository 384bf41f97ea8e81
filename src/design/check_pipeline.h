// Whether a pipeline's stages say what they need and name what there is, all faults at once.
//
// A workload that is a stage comes back with the pipeline, so the reader gives it the pipeline's
// period (one run where there is none); a period of its own that differs is refused.
#pragma once

#include "design/design.h"
#include "design/value_reader.h"

namespace orrery::design {

void check_pipeline(Design& design, ValueReader& values);

}  // namespace orrery::design
