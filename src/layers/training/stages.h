// How layers fall on pipeline stages, and what one stage holds.
//
// A model whose layers divide evenly gets equal stages, the head's cost on top of the last
// (Megatron's default). Otherwise the head and the prediction modules are counted as layers and the
// stages balanced, as people who write an uneven layout by hand do it.
#pragma once

#include "layers/training/layout.h"

namespace orrery::training {

struct StageLayers {
  double first = 0;
  double middle = 0;  // of the fullest middle stage
  double last = 0;
};

// `head_layers`: cost of head, loss and prediction modules in layers.
StageLayers stage_layers(int layers, int pp, int vp, double head_layers);

struct StageParameters {
  double dense = 0;        // after tensor parallelism: replicated over dp * cp
  double expert = 0;       // after expert parallelism: replicated over the expert group
  double layer_dense = 0;  // of one MoE or dense layer, for ZeRO-3's working set
  double layer_expert = 0;
  double largest_tensor = 0;
};
enum class StagePlace { only, first, middle, last };

// Of `layers` layers at this place, with embedding and head where they belong.
StageParameters stage_parameters(const TrainingJob& job, const Layout& layout, StagePlace place,
                                 double layers);

}  // namespace orrery::training
