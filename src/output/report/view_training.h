// A training run of a design for drawing: its layout, the step second by second, the memory of each
// pipeline stage, and when each stage works on which microbatch.
//
// The timeline places the blocks of 1F1B (training/trace.h) or of the interleaved schedule
// (training/interleaved.h); other schedules are drawn as 1F1B of the same stage times. A network that is no transformer has one stage, its step's parts and its
// memory as a whole. A layout that does not fit is drawn too, so that its memory shows why.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::report {

// Blocks of a timeline; more are no picture.
inline constexpr int kMostTimelineBlocks = 4096;

// `workload` by name; empty: the first that trains. Faults: "training.no-workload",
// "training.infeasible" and those of the prediction.
Result<std::string> training_view_json(const review::Review& review, const std::string& workload);

// One step for Chrome's and Perfetto's viewers. A plain network has none: "training.no-trace".
Result<std::string> training_trace_json(const review::Review& review, const std::string& workload);

}  // namespace orrery::report
