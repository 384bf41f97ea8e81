// What follows from a model's shape alone: parameters, KV-cache bytes, FLOPs per token.
//
//   attention (GQA)  h d (2 a + 2 g)                          a query heads, g KV heads of width d
//   attention (MLA)  h r_q + r_q a (n + r) + h (r_kv + r) + r_kv a (n + v) + a v h
//   MLP              3 h f gated, 2 h f plain; MoE: router h E, E experts, shared experts
//   whole model      layers + final norm + embedding V h (+ head V h unless tied) + MTP modules
//
// Sources: the published config.json fields; MLA as in DeepSeek-V2 (arXiv 2405.04434). The counts
// give MLPerf Storage's 69.88 B, 405.85 B and 1183.19 B. Biases, learned positions and query/key
// norms (below 0.1 %) are left out. For hybrid models the parts of a layer are averages over all
// layers; a state-space mixer counts h (2 H P + 2 G N + H) + H P h in addition to attention.
#pragma once

#include "core/base/quantity.h"
#include "core/catalog/model_shape.h"
#include "core/catalog/parts.h"

namespace orrery::workload {

struct ParameterCount {
  double embedding = 0;       // V h: vocabulary x hidden width
  double output_head = 0;     // V h, or 0 if tied to the embedding
  double attention = 0;       // per layer
  double dense_mlp = 0;       // per dense layer
  double expert = 0;          // one routed expert
  double shared_experts = 0;  // per MoE layer
  double router = 0;          // per MoE layer
  double norms = 0;           // per layer
  double mtp = 0;             // all multi-token-prediction modules, experts included
  double total = 0;           // all parameters, including MTP modules
  // Parameters that one token uses: top_k of the experts, no MTP modules.
  double active = 0;
  double routed_experts = 0;  // all routed experts of all layers, without MTP modules

  double dense_layer() const { return attention + dense_mlp + norms; }
  double moe_layer(double experts) const {
    return attention + norms + router + shared_experts + experts * expert;
  }
};

ParameterCount count_parameters(const catalog::ModelShape& m);

int moe_layer_count(const catalog::ModelShape& m);
int dense_layer_count(const catalog::ModelShape& m);
// Numbers of layers with full attention and with a sliding window.
int full_attention_layer_count(const catalog::ModelShape& m);
int windowed_layer_count(const catalog::ModelShape& m);

// Returns the size of one token's keys and values in all layers, ignoring sliding windows.
Bytes kv_bytes_per_token(const catalog::ModelShape& m, catalog::Dtype dtype);
// Returns the KV size of a sequence of `tokens`; windowed layers keep at most the window.
Bytes kv_bytes(const catalog::ModelShape& m, double tokens, catalog::Dtype dtype);

// How published "TFLOP/s" count the FLOPs of a training token; the conventions differ by 7 % at
// 405B and 8K.
enum class FlopConvention {
  six_n,           // 6 N, N the active parameters
  full_attention,  // 6 N + 12 L s a d (llm-foundry, PaLM appendix B)
  // 6 N_mat + only the attended half, respecting windows; without the embedding table
  causal_half,
};

Flops training_flops_per_token(const catalog::ModelShape& m, double sequence,
                               FlopConvention convention);
// Returns training FLOPs per token if the base weights are frozen (LoRA), by causal half: no
// product computes weight gradients. The adapters' own products, below 1 % at usual ranks, are left
// out.
Flops adapter_training_flops_per_token(const catalog::ModelShape& m, double sequence);
// Returns the forward FLOPs of one token of a sequence, counting each product as it is computed
// (causal half).
Flops forward_flops_per_token(const catalog::ModelShape& m, double sequence);

}  // namespace orrery::workload
