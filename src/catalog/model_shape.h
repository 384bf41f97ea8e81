// The shape of a transformer: what a config.json says, under one set of names.
//
// What follows from a shape (parameters, FLOPs, bytes) is workload's business; here are only the
// facts.
#pragma once

#include <string>
#include <vector>

#include "catalog/provenance.h"

namespace orrery::catalog {

enum class AttentionKind { gqa, mla };  // gqa covers full (kv_heads = heads) and multi-query (1)

struct ModelShape {
  std::string id;
  std::vector<std::string> aliases;
  AttentionKind attention = AttentionKind::gqa;
  int layers = 0;
  double hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  double head_dim = 0;  // a fraction in one published workload (134.75)
  double ffn = 0;
  bool gated_mlp = true;
  double vocab = 0;
  bool tied_embeddings = false;

  // Mixture of experts; experts = 0 is a dense model.
  int experts = 0;
  int top_k = 0;
  double expert_ffn = 0;
  int shared_experts = 0;
  double shared_expert_ffn = 0;  // 0: as wide as expert_ffn
  int first_dense_layers = 0;

  // Multi-head latent attention.
  double q_lora_rank = 0;  // 0: a plain query projection
  double kv_lora_rank = 0;
  double qk_nope_dim = 0;
  double qk_rope_dim = 0;
  double v_head_dim = 0;

  // Sliding window; window 0 is none. Every n-th layer is full where full_attention_every = n > 0.
  double sliding_window = 0;
  int full_attention_every = 0;

  int mtp_layers = 0;          // multi-token-prediction modules
  int state_space_layers = 0;  // hybrid models; they are recognised and refused where unsupported
  Provenance provenance;

  bool is_moe() const { return experts > 0; }
};

}  // namespace orrery::catalog
