// Whether a model fits for serving, and how many cache tokens are left.
//
//   blocks = floor((share * memory - weights - activations - adapters - reserve)
//                  / (block * KV bytes per token))
// per device, with the weights of its tp, pp and expert share. Layers with a state instead of
// attention have no keys; their states, one per request, are not counted. KV heads are split over
// tp, and replicated beyond them; MLA's latent is not split over tp. (TensorRT-LLM applies its
// share to the memory that the model leaves free.) Activations peak with the token budget. A real
// engine measures this at start: if its num_gpu_blocks is known, give it, because a wrong count is
// the largest single error in serving (a tenth of the memory changed TTFT by 20 % in one published
// run).
#pragma once

#include <optional>

#include "core/base/quantity.h"
#include "core/catalog/model_shape.h"
#include "layers/engines/engine.h"
#include "layers/serving/iteration.h"

namespace orrery::serving {

struct ServingMemory {
  Bytes limit;  // maximum that the engine uses of one device
  Bytes weights;
  Bytes activations;
  Bytes adapters;  // all slots
  Bytes reserve;
  Bytes kv_per_token;    // per device, for all its layers
  double blocks = 0;     // per attention rank
  double kv_tokens = 0;  // per replica
  bool fits = false;     // room for at least one request of `least_tokens`

  Bytes kv() const { return limit - weights - activations - adapters - reserve; }
  // Returns how many requests of this many tokens the cache holds at once.
  double requests(double tokens_each) const {
    return tokens_each > 0 ? kv_tokens / tokens_each : 0;
  }
};

struct ServingMemoryOptions {
  engines::EngineLimits limits;
  double least_tokens = 2048;
  std::optional<double> blocks;  // num_gpu_blocks as printed by the engine
  Bytes adapters = Bytes(0);     // reserved for adapter slots on a device
};

ServingMemory serving_memory(const catalog::ModelShape& model, const ServingSplit& split,
                             const ServingPrecision& precision, const engines::Engine& engine,
                             Bytes device_memory, const ServingMemoryOptions& options);

// Returns the bytes of weights on one device.
Bytes serving_weights(const catalog::ModelShape& model, const ServingSplit& split,
                      const ServingPrecision& precision);

}  // namespace orrery::serving
