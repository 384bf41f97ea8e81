// The makespan of a pipeline of unequal stages in closed form, at a cost independent of the
// microbatches.
//
// Stage i (from 0) of p works for m (F_i + B_i) and waits, with S_j = F_j + B_j, B = dgrad + wgrad:
//   before its first and after its last microbatch   sum_{j<i} S_j
//   for its first backward                           max(0, sum_{j>i} S_j - w F_i)
//   between the backwards of its last forwards       max(0, sum_{j>i} S_j - w B_i)
// where w = min(m, p - i) - 1 forwards fill the first wait and as many backwards the second. The
// makespan is the longest such sum over the first, a middle and the last stage. Interleaving
// divides the waits by the chunks v; ZB-H1 fills them with wgrad: 2 sum_{j != i} W_j less. DualPipe
// feeds both ends of the pipeline, each device holding two stages: idle for (p/2 - 1)(F&B + B - 3
// W), where F&B is a forward and a backward that run interleaved (DeepSeek-V3, arXiv 2412.19437).
//
// Equal stages give the textbook (m + p - 1) S, (m + (p-1)/v) S and bubbles (p-1)(F + B - W).
// Unequal ones agree with the simulated dependency graph if one stage or the head is the heavy one
// (pipeline_test.cpp). Sources: Narayanan et al. (arXiv 2104.04473), Qi et al. (arXiv 2401.10241).
// Wrong if several stages are in turn the slowest, and if transfers take longer than stages.
#pragma once

#include "layers/training/layout.h"

namespace orrery::training {

struct StageTimes {
  double forward = 0;  // seconds per microbatch, over all chunks of the stage
  double dgrad = 0;
  double wgrad = 0;

  double total() const { return forward + dgrad + wgrad; }
};

// All stages between the first and the last are equal.
struct PipelineStages {
  StageTimes first;
  StageTimes middle;
  StageTimes last;
  int count = 1;  // 1: only `first` is used; 2: first and last
};

enum class SlowestStage { first, middle, last };

struct PipelineTime {
  double seconds = 0;
  double bubble = 0;  // idle time of the slowest stage
  SlowestStage slowest = SlowestStage::first;
};

PipelineTime pipeline_time(const PipelineStages& stages, int microbatches, int vp,
                           catalog::Schedule schedule);

}  // namespace orrery::training
