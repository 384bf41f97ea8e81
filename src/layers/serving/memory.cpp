#include "layers/serving/memory.h"

#include <algorithm>
#include <cmath>

#include "core/workload/model_math.h"

namespace orrery::serving {
namespace {

// Block scales of 8- and 4-bit weights: one 4-byte scale per 128 x 128 elements, or one byte per
// 16.
double stored_bytes(const ServingPrecision& precision, catalog::Dtype d) {
  if (precision.weights_only) return kInt4Stored;
  return d == catalog::Dtype::fp4 ? bytes_per_element(d) + 1.0 / 16 : bytes_per_element(d);
}

// Live activations per token, as multiples of the widest tensors at that point.
constexpr double kLiveHidden = 4;

Bytes activation_peak(const catalog::ModelShape& m, const ServingSplit& split, double tokens) {
  const double width = std::max(m.ffn, m.top_k * m.expert_ffn) * (m.gated_mlp ? 3 : 2);
  return Bytes(2 * tokens * (kLiveHidden * m.hidden + width / split.tp));
}

}  // namespace

Bytes serving_weights(const catalog::ModelShape& m, const ServingSplit& split,
                      const ServingPrecision& precision) {
  const workload::ParameterCount p = workload::count_parameters(m);
  const double moe_layers = workload::moe_layer_count(m);
  const double dense_layers = workload::dense_layer_count(m);
  // p.attention is the mean over all layers, which includes scans of known shape.
  const double state_layer =
      m.scan_is_modelled() ? 0 : (kStateInputs + 1) * state_width(m) * m.hidden;
  const double mixing = m.layers * p.attention + m.state_space_layers * state_layer;
  const double output = (m.layers - m.state_space_layers) * 1.0 * m.heads * m.hidden *
                        (m.attention == catalog::AttentionKind::mla ? m.v_head_dim : m.head_dim);
  const double mixing_bytes =
      (mixing - output) * stored_bytes(precision, mixing_format(m, precision)) +
      output * stored_bytes(precision, mixed_output_format(m, precision));
  const double mlps = moe_layers * p.shared_experts + dense_layers * p.dense_mlp;
  const double shared_over_all = p.routed_experts;
  const double products =
      (mixing_bytes + mlps * stored_bytes(precision, precision.products)) / split.tp +
      shared_over_all / (split.ep * split.expert_tp()) * stored_bytes(precision, precision.experts);
  const double wide = moe_layers * p.router + (p.embedding + p.output_head) / split.tp;
  // The ends stay in 16 bits. A pipeline divides the layers, and its fullest stage holds one of the
  // ends.
  return Bytes(products / split.pp + 2 * wide / split.pp);
}

ServingMemory serving_memory(const catalog::ModelShape& m, const ServingSplit& split,
                             const ServingPrecision& precision, const engines::Engine& engine,
                             Bytes device_memory, const ServingMemoryOptions& options) {
  ServingMemory memory;
  memory.weights = serving_weights(m, split, precision);
  memory.activations = activation_peak(m, split, options.limits.token_budget);
  memory.adapters = options.adapters;
  memory.reserve = engine.reserve;
  memory.limit = device_memory * engine.memory_share;
  if (engine.kind == engines::EngineKind::tensorrt_llm) {
    // The engine's share applies to what is free once the model is loaded.
    const Bytes used = memory.weights + memory.activations + memory.adapters + memory.reserve;
    memory.limit = used + max(Bytes(0), device_memory - used) * engine.memory_share;
  }
  const double heads_share =
      m.attention == catalog::AttentionKind::mla
          ? 1.0
          : std::ceil(m.kv_heads / static_cast<double>(split.tp)) / m.kv_heads;
  memory.kv_per_token = workload::kv_bytes_per_token(m, precision.kv) * (heads_share / split.pp);
  memory.blocks = options.blocks.value_or(
      std::floor(std::max(0.0, memory.kv() / (memory.kv_per_token * engine.block_tokens))));
  memory.kv_tokens = memory.blocks * engine.block_tokens * split.attention_dp;
  memory.fits = memory.kv_tokens >= options.least_tokens;
  return memory;
}

}  // namespace orrery::serving
