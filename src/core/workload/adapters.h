// Low-rank adapters (LoRA: arXiv 2106.09685) on a model's products: how many parameters they have.
//
//   a product of K inputs and N outputs gets A[r, K] and B[N, r]: r (K + N) parameters
// Fused products keep a separate A each: queries, keys and values have three, gate and up two. The
// design file calls the targets qkv, o and mlp; in a mixture of experts, mlp means every expert.
// Latent attention is counted as if it were plain attention, which gives too many parameters.
#pragma once

#include <string>
#include <vector>

#include "core/catalog/model_shape.h"

namespace orrery::workload {

struct AdapterTargets {
  bool qkv = false;
  bool o = false;
  bool mlp = false;

  bool any() const { return qkv || o || mlp; }
  bool operator==(const AdapterTargets&) const = default;
};
AdapterTargets adapter_targets(const std::vector<std::string>& words);

// Products that run as one: `slices` of them read the same input.
struct AdaptedProduct {
  double slices = 1;
  double in = 0;
  double out = 0;  // summed over the slices
  double layers = 0;
  double experts = 1;     // per layer
  bool rows_cut = false;  // a tensor split divides its inputs; otherwise its outputs

  double sides() const { return slices * in + out; }
};
std::vector<AdaptedProduct> adapted_products(const catalog::ModelShape& m,
                                             const AdapterTargets& targets);

// Returns the number of parameters in one adapter, over all layers.
double adapter_parameters(const catalog::ModelShape& m, const AdapterTargets& targets, double rank);

}  // namespace orrery::workload
