// How layers are assigned to pipeline stages, and the parameters that one stage holds.
//
// A model whose layers divide evenly gets equal stages, with the head's cost added to the last
// (Megatron's default). Otherwise the head and the prediction modules count as layers and the
// stages are balanced, as people do who write an uneven layout by hand.
#pragma once

#include "layers/training/layout.h"

namespace orrery::training {

struct StageLayers {
  double first = 0;
  double middle = 0;  // layers of the fullest middle stage
  double last = 0;
};

// `head_layers` is the cost of head, loss and prediction modules in layers.
StageLayers stage_layers(int layers, int pp, int vp, double head_layers);

struct StageParameters {
  double dense = 0;        // after tensor parallelism; replicated over dp * cp
  double expert = 0;       // after expert parallelism; replicated over the expert group
  double layer_dense = 0;  // one MoE or dense layer's share, for ZeRO-3's working set
  double layer_expert = 0;
  double largest_tensor = 0;
};
enum class StagePlace { only, first, middle, last };

// Returns the parameters of `layers` layers at this place, plus embedding and head if they belong
// there.
StageParameters stage_parameters(const TrainingJob& job, const Layout& layout, StagePlace place,
                                 double layers);

}  // namespace orrery::training
