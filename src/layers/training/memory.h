// Memory of one device, by stage and tensor, and the stage that needs the most.
//
//   weights + gradients + optimizer + activations + logits + workspace
//   replicated parameters keep w + g + o bytes; ZeRO-1 divides o by the replicas, ZeRO-2 g too,
//   ZeRO-3 all three and adds two gathered layers; experts divide by their own replicas
//   activations = saved bytes per layer x layers x microbatches in flight
//   in flight   1F1B stage i of p: min(m, p - i); interleaved: ((v-1) p + 2 (p-i-1) + 1) / v of a
//               stage's layers; full recompute keeps a layer's input and works one layer at a time
//
// Sources: Korthikanti et al. (arXiv 2205.05198), Megatron's theoretical_memory_usage, Narayanan et
// al. (arXiv 2104.04473). These are allocated bytes, without the allocator's fragmentation and
// reserve.
#pragma once

#include <array>

#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"

namespace orrery::training {

struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes logits;
  Bytes workspace;
  workload::SavedBytes saved;   // parts of the activations, over all microbatches in flight
  double in_flight = 0;         // microbatches
  bool peak_at_update = false;  // the peak is during the optimizer's update, not the backward pass

  Bytes total() const { return weights + gradients + optimizer + activations + logits + workspace; }
};

struct MemoryEstimate {
  Bytes peak;
  int peak_stage = 0;  // from 0
  StageMemory stage;   // the one with the highest peak
  StageMemory first;
  StageMemory last;
};

MemoryEstimate estimate_memory(const TrainingJob& job, const Layout& layout,
                               const FrameworkModel& framework, StepScratch& scratch);

}  // namespace orrery::training
