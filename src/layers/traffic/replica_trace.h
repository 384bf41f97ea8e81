// The iterations of one replica, one by one: what each computed, who waited, how much of the cache
// was held. For a picture, and for a reader who asks why a request was late.
//
// Iterations are run unmerged from an empty replica; the last `most` of them that begin before the
// last arrival are kept, so that what is drawn is the load and not the filling.
#pragma once

#include <vector>

#include "layers/traffic/load.h"

namespace orrery::traffic {

struct IterationNote {
  double start = 0;
  double seconds = 0;
  int prompt_tokens = 0;
  int output_tokens = 0;  // that came out
  int waiting = 0;        // after it
  double held = 0;        // share of the cache's blocks, after it
};

std::vector<IterationNote> trace_iterations(const engines::EnginePolicy& policy,
                                            serving::StepClock& clock,
                                            const std::vector<Timed>& arrivals, std::size_t most);

}  // namespace orrery::traffic
