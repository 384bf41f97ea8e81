// The makespan of a pipeline of unequal stages, in closed form: no cost a microbatch.
//
//   1F1B         T = m S* + (sum_j S_j - S*)                   S_j = F_j + B_j + W_j, S* the
//   largest interleaved  T = m S* + (sum_j S_j - S*) / v               v chunks a stage zero bubble
//   T = m S* + (sum_j Z_j - Z*)                   Z_j = F_j + B_j - W_j (ZB-H1)
//
// Equal stages give the textbook (m + p - 1) S; unequal ones are exact where the slowest stage
// never waits after its first backward, which 1F1B's warm-up depth ensures (pipeline_test.cpp
// compares with the simulated dependency graph). Sources: Narayanan et al. (arXiv 2104.04473), Qi
// et al. (arXiv 2401.10241). Wrong for m < p with zero bubble, and where transfers are slower than
// stages.
#pragma once

#include "training/layout.h"

namespace orrery {

struct StageTimes {
  double forward = 0;  // seconds for one microbatch, all chunks of the stage
  double dgrad = 0;
  double wgrad = 0;

  double total() const { return forward + dgrad + wgrad; }
};

struct PipelineTime {
  double seconds = 0;
  double bubble = 0;  // in which the slowest stage stands idle
};

// `sum` over all stages, `slowest` the one with the largest total.
PipelineTime pipeline_time(const StageTimes& sum, const StageTimes& slowest, int microbatches,
                           int vp, Schedule schedule);

}  // namespace orrery
