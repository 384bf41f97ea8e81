// The interleaved pipeline schedule (virtual stages), placed block by block.
//
// Each of p stages holds v chunks of layers. Stage i runs 2 (p - i - 1) + (v - 1) p forwards ahead,
// then one forward, one backward; microbatches pass in groups of p through one chunk after the
// other. Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
// Using Megatron-LM", 2021. A chunk takes 1/v of its stage's time, also for the first and the last
// stage, although only one of their chunks holds the embedding or the logits.
#pragma once

#include <vector>

#include "layers/training/trace.h"

namespace orrery::training {

// Returns the blocks of `microbatches` on stages with `vp` chunks each, in the order in which each
// stage runs them.
std::vector<TraceBlock> interleaved_blocks(const PipelineStages& stages, int microbatches, int vp);

}  // namespace orrery::training
