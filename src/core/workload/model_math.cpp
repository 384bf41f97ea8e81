#include "core/workload/model_math.h"

#include <algorithm>

namespace orrery::workload {
namespace {

double attention_parameters(const catalog::ModelShape& m) {
  const double h = m.hidden;
  const double a = m.heads;
  if (m.attention == catalog::AttentionKind::gqa) return h * m.head_dim * (2 * a + 2 * m.kv_heads);
  const double qk = m.qk_nope_dim + m.qk_rope_dim;
  const double query = m.q_lora_rank > 0 ? h * m.q_lora_rank + m.q_lora_rank * a * qk : h * a * qk;
  const double latent = h * (m.kv_lora_rank + m.qk_rope_dim);
  const double up = m.kv_lora_rank * a * (m.qk_nope_dim + m.v_head_dim);
  return query + latent + up + a * m.v_head_dim * h;
}

double mlp_parameters(const catalog::ModelShape& m, double hidden, double width) {
  return (m.gated_mlp ? 3 : 2) * hidden * width;
}

double scan_parameters(const catalog::ModelShape& m) {
  const double inner = m.scan_heads * m.scan_head_dim;
  return m.hidden * (3 * inner + 2 * m.scan_groups * m.scan_state + m.scan_heads);
}

// Returns the share of a hybrid's layers that have an MLP or experts.
double feeding_share(const catalog::ModelShape& m) {
  return m.mlp_only_layers > 0 ? static_cast<double>(m.mlp_only_layers) / m.layers : 1;
}

double mixer_parameters(const catalog::ModelShape& m) {
  if (!m.has_scan()) return attention_parameters(m);
  return (m.attention_layers() * attention_parameters(m) +
          m.state_space_layers * scan_parameters(m)) /
         m.layers;
}

// Returns the FLOPs of query-key and score-value products per token, averaged over a forward pass
// of `sequence` tokens.
double attention_flops_per_token(const catalog::ModelShape& m, double sequence, bool causal) {
  const double width = m.attention == catalog::AttentionKind::mla
                           ? m.qk_nope_dim + m.qk_rope_dim + m.v_head_dim
                           : 2 * m.head_dim;
  const double per_pair = 2 * m.heads * width;
  const auto mean_reach = [&](double window) {
    if (!causal) return window;
    // Queries before the window fills attend to all keys before them; the rest attend to `window`
    // keys.
    return window - window * window / (2 * sequence);
  };
  const double full = mean_reach(sequence);
  const double cut = m.sliding_window > 0 ? mean_reach(std::min(m.sliding_window, sequence)) : full;
  return per_pair * (full_attention_layer_count(m) * full + windowed_layer_count(m) * cut);
}

}  // namespace

int moe_layer_count(const catalog::ModelShape& m) {
  return m.is_moe() ? m.layers - std::min(m.first_dense_layers, m.layers) : 0;
}
int dense_layer_count(const catalog::ModelShape& m) { return m.layers - moe_layer_count(m); }

int full_attention_layer_count(const catalog::ModelShape& m) {
  if (m.sliding_window <= 0) return m.attention_layers();
  return m.full_attention_every > 0 ? m.layers / m.full_attention_every : 0;
}
int windowed_layer_count(const catalog::ModelShape& m) {
  return m.attention_layers() - full_attention_layer_count(m);
}

ParameterCount count_parameters(const catalog::ModelShape& m) {
  ParameterCount c;
  c.embedding = m.vocab * m.hidden;
  c.output_head = m.tied_embeddings ? 0 : c.embedding;
  const double feeding = feeding_share(m);
  c.attention = mixer_parameters(m);
  c.dense_mlp = feeding * mlp_parameters(m, m.hidden, m.ffn);
  c.norms = 2 * m.hidden;
  if (m.is_moe()) {
    const double inside = m.expert_hidden > 0 ? m.expert_hidden : m.hidden;
    c.expert = feeding * mlp_parameters(m, inside, m.expert_ffn);
    const double shared = m.shared_expert_ffn > 0 ? m.shared_expert_ffn : m.expert_ffn;
    c.shared_experts = feeding * m.shared_experts * mlp_parameters(m, m.hidden, shared);
    if (m.expert_hidden > 0) c.shared_experts += feeding * 2 * m.hidden * inside;
    c.router = feeding * m.hidden * m.experts;
  }
  const double dense = dense_layer_count(m) * c.dense_layer();
  const double moe = moe_layer_count(m);
  const double ends = c.embedding + c.output_head + m.hidden;
  const double last_layer = m.is_moe() ? c.moe_layer(m.experts) : c.dense_layer();
  // An MTP module (DeepSeek-V3, section 2.2) is one layer of the main kind and a 2h x h projection;
  // it shares embedding and head with the model.
  c.mtp = m.mtp_layers * (last_layer + 2 * m.hidden * m.hidden);
  c.routed_experts = moe * m.experts * c.expert;
  c.total = dense + moe * c.moe_layer(m.experts) + ends + c.mtp;
  c.active = dense + moe * c.moe_layer(m.top_k) + ends;
  return c;
}

Bytes kv_bytes_per_token(const catalog::ModelShape& m, catalog::Dtype dtype) {
  const double elements = m.attention == catalog::AttentionKind::mla
                              ? m.kv_lora_rank + m.qk_rope_dim
                              : 2 * m.kv_heads * m.head_dim;
  return Bytes(m.attention_layers() * elements * bytes_per_element(dtype));
}

Bytes kv_bytes(const catalog::ModelShape& m, double tokens, catalog::Dtype dtype) {
  const Bytes layer_token = kv_bytes_per_token(m, dtype) / std::max(1, m.attention_layers());
  const double kept = m.sliding_window > 0 ? std::min(tokens, m.sliding_window) : tokens;
  return layer_token * (full_attention_layer_count(m) * tokens + windowed_layer_count(m) * kept);
}

Flops forward_flops_per_token(const catalog::ModelShape& m, double sequence) {
  const ParameterCount c = count_parameters(m);
  const double head = m.vocab * m.hidden;
  const double layers = dense_layer_count(m) * (c.attention + c.dense_mlp) +
                        moe_layer_count(m) * (c.moe_layer(m.top_k) - c.norms);
  return Flops(2 * (layers + head) + attention_flops_per_token(m, sequence, true));
}

Flops training_flops_per_token(const catalog::ModelShape& m, double sequence,
                               FlopConvention convention) {
  if (convention == FlopConvention::causal_half) return 3 * forward_flops_per_token(m, sequence);
  const double six_n = 6 * count_parameters(m).active;
  if (convention == FlopConvention::six_n) return Flops(six_n);
  return Flops(six_n + 3 * attention_flops_per_token(m, sequence, false));
}

Flops adapter_training_flops_per_token(const catalog::ModelShape& m, double sequence) {
  return 2 * forward_flops_per_token(m, sequence) +
         Flops(attention_flops_per_token(m, sequence, true));
}

}  // namespace orrery::workload
