#include "training/pipeline.h"

#include <algorithm>

namespace orrery {

PipelineTime pipeline_time(const StageTimes& sum, const StageTimes& slowest, int microbatches,
                           int vp, Schedule schedule) {
  double bubble = (sum.total() - slowest.total()) / std::max(1, vp);
  if (schedule == Schedule::zero_bubble) {
    bubble = std::max(0.0, bubble - 2 * (sum.wgrad - slowest.wgrad) / std::max(1, vp));
  }
  return {.seconds = microbatches * slowest.total() + bubble, .bubble = bubble};
}

}  // namespace orrery
