// The shape of a transformer: what a config.json says, under one set of names.
//
// These are only the facts; workload/ computes what follows from a shape (parameters, FLOPs,
// bytes).
#pragma once

#include <string>
#include <vector>

#include "core/catalog/provenance.h"

namespace orrery::catalog {

// gqa includes full (kv_heads = heads) and multi-query attention (kv_heads = 1).
enum class AttentionKind { gqa, mla };

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
  double shared_expert_ffn = 0;  // 0: the same as expert_ffn
  int first_dense_layers = 0;

  // Multi-head latent attention.
  double q_lora_rank = 0;  // 0: a plain query projection
  double kv_lora_rank = 0;
  double qk_nope_dim = 0;
  double qk_rope_dim = 0;
  double v_head_dim = 0;

  // Sliding window; 0 means none. If full_attention_every = n > 0, every n-th layer has full
  // attention.
  double sliding_window = 0;
  int full_attention_every = 0;

  int mtp_layers = 0;  // multi-token-prediction modules

  // Hybrid models: layers whose mixer is a state-space scan (Mamba-2) instead of attention. If the
  // scan's shape is not given (other linear attentions), the model is recognised and refused.
  int state_space_layers = 0;
  // Layers that consist of an MLP or experts only, as in Nemotron-H, where every layer is a single
  // mixer. 0: every layer has an MLP after its mixer.
  int mlp_only_layers = 0;
  double scan_heads = 0;
  double scan_head_dim = 0;
  double scan_state = 0;   // per head
  double scan_groups = 0;  // groups of heads that share the state's input and output projections
  // Group-limited routing: the experts are divided into expert_groups, each placed on one node, and
  // a token reaches at most expert_groups_per_token of them. 0: not limited.
  int expert_groups = 0;
  int expert_groups_per_token = 0;
  // Experts have biases and clamp their gates (GPT-OSS), which takes extra passes over memory that
  // no fused kernel covers.
  bool biased_experts = false;
  double expert_hidden = 0;  // width of the routed experts' inputs and outputs; 0: the model's own
  Provenance provenance;

  bool is_moe() const { return experts > 0; }
  bool has_scan() const { return state_space_layers > 0; }
  // Returns true if the scan's shape is known or there is no scan.
  bool scan_is_modelled() const {
    return !has_scan() || (scan_heads > 0 && scan_head_dim > 0 && scan_state > 0);
  }
  // Returns the number of layers with attention; in hybrids, those that are neither a scan nor an
  // MLP alone.
  int attention_layers() const { return layers - state_space_layers - mlp_only_layers; }
};

}  // namespace orrery::catalog
