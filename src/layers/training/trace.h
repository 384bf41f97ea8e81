// A step as a timeline for Chrome's and Perfetto's trace viewers: one track per pipeline stage.
//
// The stages' forward and backward blocks are placed as in 1F1B (each stage: p - i forwards ahead,
// then alternately one backward and one forward). Interleaved and zero-bubble schedules are drawn
// as 1F1B with the same stage times, so their bubbles look larger than they are. Exposed dp, the
// optimizer and the rest follow on every track. Format: the "traceEvents" array of complete events,
// in microseconds.
#pragma once

#include <string>

#include "layers/training/step.h"

namespace orrery::training {

// A step of thousands of microbatches repeats itself, so at most this many are drawn.
inline constexpr int kTracedMicrobatches = 64;

struct TraceBlock {
  int stage = 0;
  int microbatch = 0;
  bool backward = false;
  double start_s = 0;
  double seconds = 0;
  int chunk = 0;  // of the layers that a stage holds in an interleaved schedule
};

// Returns the blocks in the order in which each stage runs them.
std::vector<TraceBlock> schedule_blocks(const PipelineStages& stages, int microbatches);

std::string step_trace_json(const StepEstimate& step, const std::string& title);

}  // namespace orrery::training
