#include "core/workload/adapters.h"

#include <algorithm>

#include "core/catalog/adapter_target.h"
#include "core/workload/model_math.h"

namespace orrery::workload {
namespace {

void add_adapted_mlp(std::vector<AdaptedProduct>& all, const catalog::ModelShape& m, double width,
                     double layers, double experts) {
  if (layers <= 0) return;
  const double ups = m.gated_mlp ? 2 : 1;
  all.push_back(
      {.slices = ups, .in = m.hidden, .out = ups * width, .layers = layers, .experts = experts});
  all.push_back(
      {.in = width, .out = m.hidden, .layers = layers, .experts = experts, .rows_cut = true});
}

}  // namespace

AdapterTargets adapter_targets(const std::vector<std::string>& words) {
  const auto has = [&](catalog::AdapterTarget target) {
    return std::ranges::find(words, word_of(target)) != words.end();
  };
  return {.qkv = has(catalog::AdapterTarget::qkv),
          .o = has(catalog::AdapterTarget::o),
          .mlp = has(catalog::AdapterTarget::mlp)};
}

std::vector<AdaptedProduct> adapted_products(const catalog::ModelShape& m,
                                             const AdapterTargets& targets) {
  const double queries = m.heads * m.head_dim;
  const double keys = m.kv_heads * m.head_dim;
  const double layers = m.attention_layers();
  std::vector<AdaptedProduct> all;
  if (targets.qkv) {
    all.push_back({.slices = 3, .in = m.hidden, .out = queries + 2 * keys, .layers = layers});
  }
  if (targets.o) {
    all.push_back({.in = queries, .out = m.hidden, .layers = layers, .rows_cut = true});
  }
  if (targets.mlp) {
    add_adapted_mlp(all, m, m.ffn, dense_layer_count(m), 1);
    add_adapted_mlp(all, m, m.expert_ffn, moe_layer_count(m), m.experts);
  }
  return all;
}

double adapter_parameters(const catalog::ModelShape& m, const AdapterTargets& targets,
                          double rank) {
  double sides = 0;
  for (const AdaptedProduct& p : adapted_products(m, targets)) {
    sides += p.layers * p.experts * p.sides();
  }
  return rank * sides;
}

}  // namespace orrery::workload
