// For tests of replays: jobs by their times.
#pragma once

#include "study/rehearse/replay.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {

inline workload::JobRecord a_job(double submit, double run, int gpus, int nodes = 1) {
  return {.submit = seconds(submit),
          .run = seconds(run),
          .limit = seconds(run),
          .gpus = gpus,
          .nodes = nodes};
}

inline workload::JobRecord traced(double submit, double run, int gpus, double wait = -1) {
  workload::JobRecord job{
      .submit = seconds(submit), .run = seconds(run), .limit = seconds(run), .gpus = gpus};
  if (wait >= 0) job.wait = seconds(wait);
  return job;
}

}  // namespace orrery::rehearse
