// Does a model fit for serving, and how many tokens of cache are left.
//
//   blocks = floor((share * memory - weights - activations - adapters - reserve) / (block * KV
//   bytes
//            a token))
// per device (layers with a state in place of attention have no keys; their states, one a request,
// are not counted): weights of its tp, pp and expert share; KV heads are split over tp and
// replicated beyond them (TensorRT-LLM takes its share of what the model leaves free instead);
// MLA's latent is not split over tp. Activations peak with the token budget. A real engine measures
// this at start: where its num_gpu_blocks is known, give it, because a wrong count is the largest
// single error in serving (a tenth of the memory moved TTFT by 20 % in one published run).
#pragma once

#include <optional>

#include "core/base/quantity.h"
#include "core/catalog/model_shape.h"
#include "layers/engines/engine.h"
#include "layers/serving/iteration.h"

namespace orrery::serving {

struct ServingMemory {
  Bytes limit;  // what the engine lets itself use of one device
  Bytes weights;
  Bytes activations;
  Bytes adapters;  // all slots
  Bytes reserve;
  Bytes kv_per_token;    // of one device, all its layers
  double blocks = 0;     // of one attention rank
  double kv_tokens = 0;  // of the replica
  bool fits = false;     // at least one request of `least_tokens`

  Bytes kv() const { return limit - weights - activations - adapters - reserve; }
  // Requests of this many tokens that the cache holds at once.
  double requests(double tokens_each) const {
    return tokens_each > 0 ? kv_tokens / tokens_each : 0;
  }
};

struct ServingMemoryOptions {
  engines::EngineLimits limits;
  double least_tokens = 2048;
  std::optional<double> blocks;  // num_gpu_blocks as the engine printed it
  Bytes adapters = Bytes(0);     // that slots of a device keep
};

ServingMemory serving_memory(const catalog::ModelShape& model, const ServingSplit& split,
                             const ServingPrecision& precision, const engines::Engine& engine,
                             Bytes device_memory, const ServingMemoryOptions& options);

// Weights of one device.
Bytes serving_weights(const catalog::ModelShape& model, const ServingSplit& split,
                      const ServingPrecision& precision);

}  // namespace orrery::serving
