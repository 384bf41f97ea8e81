// What taking a running job's GPUs costs, and whose to take.
//
//   lost GPU-seconds = GPUs x (work since the last checkpoint + save + requeue delay + reload)
// Victims are taken in order of lost GPU-seconds for each GPU freed, then those that the rest made
// needless are spared. Greedy: at most one victim more than the best choice would pay for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace orrery::cluster {

struct RunningJob {
  std::string name;
  int gpus = 0;
  int priority = 0;
  Seconds since_checkpoint;
  Seconds save;  // 0 where the job is killed without a save; a saved job loses no work
  bool saves_first = false;
  Seconds requeue;  // until it runs again, once there is room
  Seconds reload;
  Seconds running;  // so far
};

// GPU-seconds lost by preempting the job now.
Seconds preemption_cost(const RunningJob& job);

struct PreemptionRequest {
  int gpus = 0;
  int priority = 0;         // only jobs below it are taken
  Seconds minimum_runtime;  // jobs that have run less are spared (2 h in Meta's RSC)
};

struct PreemptionPlan {
  bool enough = false;
  std::vector<std::size_t> victims;  // indices, in the order taken
  int gpus_freed = 0;
  Seconds lost;  // GPU-seconds
};
PreemptionPlan choose_victims(std::span<const RunningJob> jobs, const PreemptionRequest& request);

}  // namespace orrery::cluster
