// The iterations of one replica, one by one: what each computed, how many requests waited, how much
// of the cache was in use. For a chart, and for finding out why a request was late.
//
// Iterations run unmerged, from an empty replica. The last `most` of them that begin before the
// last arrival are kept, so that the chart shows the load and not the initial filling.
#pragma once

#include <vector>

#include "layers/traffic/load.h"

namespace orrery::traffic {

struct IterationNote {
  double start = 0;
  double seconds = 0;
  int prompt_tokens = 0;
  int output_tokens = 0;  // tokens produced
  int waiting = 0;        // requests waiting after it
  double held = 0;        // share of the cache's blocks in use after it
};

std::vector<IterationNote> trace_iterations(const engines::EnginePolicy& policy,
                                            serving::StepClock& clock,
                                            const std::vector<Timed>& arrivals, std::size_t most);

}  // namespace orrery::traffic
