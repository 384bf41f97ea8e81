// Low-rank adapters (LoRA: arXiv 2106.09685) beside a model's products: how many numbers they are.
//
//   a product of K inputs and N outputs gets A[r, K] and B[N, r]: r (K + N) numbers
// Products that are fused keep an A of their own each: queries, keys and values have three, gate
// and up two. The words of the design file are qkv, o and mlp; mlp is of every expert where a model
// has them. Of latent attention the shape is taken as if it were plain: too many numbers.
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

// Products that run as one: `slices` of them read the same inputs.
struct AdaptedProduct {
  double slices = 1;
  double in = 0;
  double out = 0;  // of all slices
  double layers = 0;
  double experts = 1;     // in each of the layers
  bool rows_cut = false;  // a tensor split cuts its inputs; else its outputs

  double sides() const { return slices * in + out; }
};
std::vector<AdaptedProduct> adapted_products(const catalog::ModelShape& m,
                                             const AdapterTargets& targets);

// Numbers in one adapter of all layers.
double adapter_parameters(const catalog::ModelShape& m, const AdapterTargets& targets, double rank);

}  // namespace orrery::workload
