// A training run of a design for drawing: its layout, the parts of a step, the memory of each
// pipeline stage, and when each stage works on which microbatch.
//
// The timeline places the blocks of 1F1B (training/trace.h) or of the interleaved schedule
// (training/interleaved.h); other schedules are drawn as 1F1B with the same stage times. A network
// that is not a transformer has one stage, the parts of its step, and its memory as a whole. A
// layout that does not fit is drawn too, so that its memory shows why.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::report {

// Most blocks in a timeline.
inline constexpr int kMostTimelineBlocks = 4096;

// `workload` is a name; empty: the first that trains. Fails with "training.no-workload",
// "training.infeasible" or the faults of the prediction.
Result<std::string> training_view_json(const review::Review& review, const std::string& workload);

// Returns one step for the viewers of Chrome and Perfetto. Fails with "training.no-trace" for a
// network that is not a transformer.
Result<std::string> training_trace_json(const review::Review& review, const std::string& workload);

}  // namespace orrery::report
