// Small model shapes for the tests of this room: dense, routed, latent and hybrid.
#pragma once

#include <gtest/gtest.h>

#include "core/workload/transformer.h"

namespace orrery::workload {

// Width 1,024, 16 heads of size 64 with 4 KV heads, and a gated MLP of 4,096.
inline catalog::ModelShape small_dense() {
  catalog::ModelShape m;
  m.layers = 8;
  m.hidden = 1024;
  m.heads = 16;
  m.kv_heads = 4;
  m.head_dim = 64;
  m.ffn = 4096;
  m.vocab = 32000;
  return m;
}

inline catalog::ModelShape small_experts() {
  catalog::ModelShape m = small_dense();
  m.experts = 16;
  m.top_k = 2;
  m.expert_ffn = 512;
  return m;
}

// DeepSeek's attention, scaled down.
inline catalog::ModelShape small_latent() {
  catalog::ModelShape m = small_dense();
  m.attention = catalog::AttentionKind::mla;
  m.kv_heads = 16;
  m.q_lora_rank = 384;
  m.kv_lora_rank = 128;
  m.qk_nope_dim = 32;
  m.qk_rope_dim = 16;
  m.v_head_dim = 48;
  return m;
}

inline LayerWork layer(const catalog::ModelShape& m, LayerKind kind, const LayerSplit& split,
                       const KernelStyle& style = {}, bool windowed = false) {
  LayerWork work;
  fill_layer_work(m, kind, windowed, split, style, work);
  return work;
}

inline catalog::ModelShape small_hybrid() {
  catalog::ModelShape m = small_dense();
  m.layers = 12;
  m.state_space_layers = 5;
  m.mlp_only_layers = 4;
  m.scan_heads = 32;
  m.scan_head_dim = 64;
  m.scan_groups = 4;
  m.scan_state = 128;
  return m;
}

// Seven layers of width 48; 6 heads of size 10 with 2 KV heads; a vocabulary of 331; ungated MLP.
inline catalog::ModelShape plain_shape() {
  catalog::ModelShape m;
  m.layers = 7;
  m.hidden = 48;
  m.heads = 6;
  m.kv_heads = 2;
  m.head_dim = 10;
  m.ffn = 130;
  m.vocab = 331;
  m.gated_mlp = false;
  return m;
}

// Two of the seven layers are dense; five have 9 experts of width 14 and two shared ones of width
// 17.
inline catalog::ModelShape routed_shape() {
  catalog::ModelShape m = plain_shape();
  m.experts = 9;
  m.top_k = 4;
  m.expert_ffn = 14;
  m.shared_experts = 2;
  m.shared_expert_ffn = 17;
  m.first_dense_layers = 2;
  m.mtp_layers = 3;
  return m;
}

}  // namespace orrery::workload
