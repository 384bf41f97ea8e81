// What model families write in their config.json, key by key, and which bounds are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/config_json.h"

namespace orrery::catalog {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// If a key appears twice, the last one counts.
std::string config_with(const std::string& more) {
  const std::string base = R"({"model_type": "llama", "hidden_act": "silu", "hidden_size": 960,
      "num_attention_heads": 12, "num_hidden_layers": 8, "vocab_size": 1000,
      "intermediate_size": 2560)";
  return base + (more.empty() ? "" : ", " + more) + "}";
}

ModelShape read_with(const std::string& more) {
  const auto model = model_from_config_json(config_with(more), "m");
  EXPECT_TRUE(model) << more << "\n" << (model ? "" : to_text(model.error()));
  return model.value_or(ModelShape{});
}

std::vector<std::string> said_with(const std::string& more) {
  const auto model = model_from_config_json(config_with(more), "m");
  std::vector<std::string> said;
  if (model) return said;
  for (const Diagnostic& d : model.error()) said.push_back(d.code + " | " + d.what);
  return said;
}

TEST(ConfigJsonFamilies, every_width_has_its_key) {
  const ModelShape m = read_with("");
  EXPECT_EQ(m.id, "m");
  EXPECT_EQ(m.layers, 8);
  EXPECT_EQ(m.hidden, 960);
  EXPECT_EQ(m.heads, 12);
  EXPECT_EQ(m.kv_heads, 12);
  EXPECT_EQ(m.head_dim, 80);
  EXPECT_EQ(m.ffn, 2560);
  EXPECT_EQ(m.vocab, 1000);
  EXPECT_EQ(m.provenance.reference, "m (config.json)");
  EXPECT_EQ(m.provenance.source, "config.json of the model");
  EXPECT_EQ(m.provenance.basis, FactBasis::seen);
  EXPECT_EQ(m.provenance.confidence, Confidence::high);
  EXPECT_THAT(read_with(R"("index_topk": 2048)").provenance.source, HasSubstr("config.json"));
  EXPECT_EQ(read_with(R"("head_dim": 96)").head_dim, 96);
  EXPECT_EQ(read_with(R"("attention_head_dim": 97)").head_dim, 97);
  EXPECT_EQ(read_with(R"("num_kv_heads": 4)").kv_heads, 4);
  EXPECT_EQ(read_with(R"("num_nextn_predict_layers": 2)").mtp_layers, 2);
  EXPECT_EQ(read_with(R"("mtp_num_hidden_layers": 3)").mtp_layers, 3);
  EXPECT_EQ(read_with(R"("num_mtp_modules": 4)").mtp_layers, 4);
}

TEST(ConfigJsonFamilies, older_key_names_are_read) {
  const auto model = model_from_config_json(
      R"({"model_type": "gpt2", "n_layer": 3, "n_embd": 60, "n_head": 5, "vocab_size": 7,
          "n_inner": 11})",
      "m");
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->layers, 3);
  EXPECT_EQ(model->hidden, 60);
  EXPECT_EQ(model->heads, 5);
  EXPECT_EQ(model->head_dim, 12);
  EXPECT_EQ(model->ffn, 11);
  EXPECT_FALSE(model->gated_mlp) << "the family's default";
  EXPECT_TRUE(model->tied_embeddings) << "the family's default";
}

TEST(ConfigJsonFamilies, activation_decides_whether_the_mlp_is_gated) {
  for (const char* plain : {"relu", "relu2", "gelu", "gelu_new", "gelu_fast", "relu_squared"}) {
    EXPECT_FALSE(read_with(R"("hidden_act": ")" + std::string(plain) + "\"").gated_mlp) << plain;
  }
  EXPECT_TRUE(read_with("").gated_mlp);
  EXPECT_FALSE(read_with(R"("model_type": "starcoder2")").gated_mlp);
  const std::string none = R"("hidden_act": null, "model_type": )";
  for (const char* gated :
       {"llama", "mistral", "mixtral", "qwen3", "deepseek_v3", "step", "kimi"}) {
    EXPECT_TRUE(read_with(none + "\"" + gated + "\"").gated_mlp) << gated;
  }
  for (const char* plain : {"mpt", "gpt_neox", "bloom", "opt", "falcon"}) {
    EXPECT_FALSE(read_with(none + "\"" + plain + "\"").gated_mlp) << plain;
  }
  EXPECT_THAT(said_with(none + R"("novel")"),
              ElementsAre("config.missing | 'hidden_act' is missing"));
}

TEST(ConfigJsonFamilies, some_families_tie_their_embeddings) {
  EXPECT_FALSE(read_with("").tied_embeddings);
  for (const char* type : {"gemma3", "gpt2", "mpt", "bloom", "opt", "falcon"}) {
    EXPECT_TRUE(read_with(R"("model_type": ")" + std::string(type) + "\"").tied_embeddings) << type;
  }
  EXPECT_FALSE(
      read_with(R"("model_type": "gemma3", "tie_word_embeddings": false)").tied_embeddings);
  EXPECT_TRUE(read_with(R"("tie_word_embeddings": true)").tied_embeddings);
}

TEST(ConfigJsonFamilies, scan_layers_are_counted_per_family) {
  EXPECT_EQ(read_with(R"("layer_types": ["linear_attention", "mamba", "mamba", "full_attention"])")
                .state_space_layers,
            3);
  EXPECT_EQ(read_with(R"("attn_layer_period": 4)").state_space_layers, 6) << "8 - 8 / 4";
  EXPECT_EQ(read_with(R"("linear_attn_config": {"kda_layers": [1, 2, 3]})").state_space_layers, 3);
  EXPECT_EQ(read_with(R"("ssm_state_size": 16)").state_space_layers, 8) << "all of them";
  EXPECT_EQ(read_with(R"("state_size": 16)").state_space_layers, 8);
  const ModelShape m = read_with(R"("hybrid_override_pattern": "MM-E*EM")");
  EXPECT_EQ(m.state_space_layers, 3);
  EXPECT_EQ(m.mlp_only_layers, 3);
  EXPECT_EQ(m.attention_layers(), 2);
  EXPECT_EQ(read_with("").state_space_layers, 0);
}

TEST(ConfigJsonFamilies, block_list_gives_the_layer_count) {
  const ModelShape m = read_with(R"("num_hidden_layers": null,
      "layers_block_type": ["mamba", "moe", "mamba", "mlp", "attention", "mamba", "moe"])");
  EXPECT_EQ(m.layers, 7);
  EXPECT_EQ(m.state_space_layers, 3);
  EXPECT_EQ(m.mlp_only_layers, 3);
  EXPECT_EQ(m.attention_layers(), 1);
  EXPECT_EQ(read_with(R"("layers_block_type": ["mamba", "moe"])").layers, 8) << "where it is said";
  EXPECT_THAT(said_with(R"("num_hidden_layers": 1, "layers_block_type": ["mamba", "moe"])"),
              ElementsAre(HasSubstr("config.range")));
}

TEST(ConfigJsonFamilies, scan_shape_is_read) {
  const ModelShape mamba = read_with(R"("hybrid_override_pattern": "M", "mamba_num_heads": 96,
      "mamba_head_dim": 80, "ssm_state_size": 128, "n_groups": 8)");
  EXPECT_EQ(mamba.scan_heads, 96);
  EXPECT_EQ(mamba.scan_head_dim, 80);
  EXPECT_EQ(mamba.scan_state, 128);
  EXPECT_EQ(mamba.scan_groups, 8);
  const ModelShape delta = read_with(R"("layer_types": ["linear_attention"],
      "linear_num_value_heads": 32, "linear_value_head_dim": 129, "linear_key_head_dim": 127,
      "linear_num_key_heads": 16)");
  EXPECT_EQ(delta.scan_heads, 32);
  EXPECT_EQ(delta.scan_head_dim, 129);
  EXPECT_EQ(delta.scan_state, 127);
  EXPECT_EQ(delta.scan_groups, 16);
  EXPECT_EQ(read_with(R"("mamba_num_heads": 96)").scan_heads, 0) << "nothing scans";
}

TEST(ConfigJsonFamilies, latent_attention_needs_its_widths) {
  const ModelShape m = read_with(R"("kv_lora_rank": 512, "q_lora_rank": 1536,
      "qk_nope_head_dim": 127, "qk_rope_head_dim": 63, "v_head_dim": 129)");
  EXPECT_EQ(m.attention, AttentionKind::mla);
  EXPECT_EQ(m.kv_lora_rank, 512);
  EXPECT_EQ(m.q_lora_rank, 1536);
  EXPECT_EQ(m.qk_nope_dim, 127);
  EXPECT_EQ(m.qk_rope_dim, 63);
  EXPECT_EQ(m.v_head_dim, 129);
  EXPECT_EQ(m.head_dim, 0);
  EXPECT_THAT(said_with(R"("kv_lora_rank": 512)"),
              ElementsAre("config.missing | 'qk_nope_head_dim' is missing",
                          "config.missing | 'qk_rope_head_dim' is missing",
                          "config.missing | 'v_head_dim' is missing"));
  const std::string low_rank = "config.attention | low-rank queries without 'kv_lora_rank'";
  EXPECT_THAT(said_with(R"("q_lora_rank": 9)"), ElementsAre(low_rank));
  EXPECT_THAT(said_with(R"("compress_ratios": [4])"), ElementsAre(low_rank));
}

TEST(ConfigJsonFamilies, heads_must_divide) {
  EXPECT_THAT(said_with(R"("hidden_size": 961)"),
              ElementsAre(AllOf(HasSubstr("config.missing"), HasSubstr("'head_dim'"),
                                HasSubstr("hidden_size"))));
  EXPECT_THAT(said_with(R"("hidden_size": 961, "head_dim": 80)"), IsEmpty());
  EXPECT_THAT(
      said_with(R"("num_key_value_heads": 5)"),
      ElementsAre("config.range | 'num_key_value_heads' does not divide 'num_attention_heads'"));
}

TEST(ConfigJsonFamilies, llama_4_attends_in_chunks) {
  const std::string type = R"("model_type": "llama4_text", "intermediate_size_mlp": 777)";
  const ModelShape none = read_with(type);
  EXPECT_EQ(none.sliding_window, 0);
  EXPECT_EQ(none.full_attention_every, 0);
  EXPECT_EQ(none.ffn, 777);
  const ModelShape chunked = read_with(type + R"(, "attention_chunk_size": 8192)");
  EXPECT_EQ(chunked.sliding_window, 8192);
  EXPECT_EQ(chunked.full_attention_every, 4);
  EXPECT_EQ(read_with(type + R"(, "attention_chunk_size": 8192, "no_rope_layer_interval": 5)")
                .full_attention_every,
            5);
  const ModelShape moe = read_with(type + R"(, "num_local_experts": 16, "num_experts_per_tok": 1,
      "interleave_moe_layer_step": 2)");
  EXPECT_EQ(moe.shared_experts, 1) << "the family always has one";
  EXPECT_EQ(moe.first_dense_layers, 4) << "8 - 8 / 2";
  EXPECT_EQ(moe.ffn, 777);
  EXPECT_EQ(moe.expert_ffn, 2560);
}

TEST(ConfigJsonFamilies, window_periods_are_read) {
  EXPECT_EQ(read_with(R"("sliding_window": 4096)").sliding_window, 4096);
  EXPECT_EQ(read_with(R"("sliding_window": 4096)").full_attention_every, 0);
  EXPECT_EQ(read_with(R"("sliding_window": 512, "sliding_window_pattern": 6)").full_attention_every,
            6);
  EXPECT_EQ(read_with(R"("sliding_window": 512, "full_attention_every": 5)").full_attention_every,
            5);
  EXPECT_EQ(read_with(R"("full_attention_every": 5)").full_attention_every, 0) << "no window";
  const auto heads = HasSubstr("config.layers-differ");
  EXPECT_THAT(said_with(R"("sliding_window": 9, "hybrid_layer_pattern": [0])"), ElementsAre(heads));
  EXPECT_THAT(said_with(R"("sliding_window": 9, "swa_head_dim": 64)"), ElementsAre(heads));
  const std::string qwen = R"("sliding_window": 9, "use_sliding_window": true, )";
  EXPECT_EQ(read_with(qwen + R"("max_window_layers": 8)").sliding_window, 0) << "none slides";
  EXPECT_EQ(read_with(qwen + R"("max_window_layers": 0)").sliding_window, 9) << "all slide";
  const auto after = AllOf(HasSubstr("config.layers-differ"), HasSubstr("'max_window_layers'"));
  EXPECT_THAT(said_with(qwen + R"("max_window_layers": 7)"), ElementsAre(after));
  EXPECT_THAT(said_with(qwen + R"("max_window_layers": 1)"), ElementsAre(after));
}

// s: sliding, f: full. The period may start anywhere but must hold up to both ends.
TEST(ConfigJsonFamilies, layer_kinds_need_an_even_period) {
  const auto types_of = [](const std::string& letters) {
    std::string list;
    for (const char c : letters) {
      list += std::string(list.empty() ? "" : ", ") +
              (c == 's' ? R"("sliding_attention")" : R"("full_attention")");
    }
    return R"("sliding_window": 9, "layer_types": [)" + list + "]";
  };
  EXPECT_EQ(read_with(types_of("sfsfsfsf")).full_attention_every, 2);
  EXPECT_EQ(read_with(types_of("fsssfsss")).full_attention_every, 4);
  EXPECT_EQ(read_with(types_of("ssfssfss")).full_attention_every, 3);
  EXPECT_EQ(read_with(types_of("ssssssss")).full_attention_every, 0);
  EXPECT_EQ(read_with(types_of("sssssssf")).full_attention_every, 8);
  EXPECT_EQ(read_with(types_of("fsssssss")).full_attention_every, 8);
  EXPECT_EQ(read_with(types_of("sssfssss")).full_attention_every, 5) << "its longer side";
  EXPECT_EQ(read_with(types_of("ffffffff")).sliding_window, 0) << "none slides";
  const auto uneven = AllOf(HasSubstr("config.layers-differ"), HasSubstr("'layer_types'"));
  for (const char* bad : {"sffsssss", "sssfsfss", "ssfsfsss", "sfsfsffs", "sfsfsf"}) {
    EXPECT_THAT(said_with(types_of(bad)), ElementsAre(uneven)) << bad;
  }
}

TEST(ConfigJsonFamilies, dense_layers_beside_experts_are_counted) {
  const std::string moe = R"("num_experts": 16, "num_experts_per_tok": 2,
      "moe_intermediate_size": 320)";
  const ModelShape m = read_with(moe);
  EXPECT_EQ(m.experts, 16);
  EXPECT_EQ(m.top_k, 2);
  EXPECT_EQ(m.expert_ffn, 320);
  EXPECT_EQ(m.ffn, 2560);
  EXPECT_EQ(m.first_dense_layers, 0);
  EXPECT_EQ(m.shared_experts, 0);
  const auto dense = [&](const std::string& more) {
    return read_with(moe + ", " + more).first_dense_layers;
  };
  EXPECT_EQ(dense(R"("first_k_dense_replace": 3)"), 3);
  EXPECT_EQ(dense(R"("decoder_sparse_step": 3)"), 6) << "8 - 8 / 3";
  EXPECT_EQ(dense(R"("moe_layer_freq": 2)"), 4);
  EXPECT_EQ(dense(R"("first_k_dense_replace": 1, "moe_layer_freq": 2)"), 5);
  EXPECT_EQ(dense(R"("moe_layer_freq": [0, 1, 0, 1, 1])"), 2);
  EXPECT_EQ(dense(R"("mlp_only_layers": [0, 5, 7])"), 3);
  EXPECT_EQ(dense(R"("mlp_only_layers": [0,1,2,3,4,5,6,7,8,9])"), 8) << "no more than there are";
  EXPECT_EQ(dense(R"("mlp_only_layers": [], "first_k_dense_replace": 2)"), 2);
  EXPECT_THAT(said_with(moe + R"(, "first_k_dense_replace": 9)"),
              ElementsAre(HasSubstr("config.range")));
  EXPECT_THAT(said_with(moe + R"(, "first_k_dense_replace": 8)"), IsEmpty());
  EXPECT_THAT(said_with(moe + R"(, "intermediate_size": null, "first_k_dense_replace": 1)"),
              ElementsAre("config.missing | 'intermediate_size' is missing"));
  EXPECT_EQ(read_with(moe + R"(, "intermediate_size": null)").ffn, 320) << "as wide as an expert";
}

TEST(ConfigJsonFamilies, shared_experts_are_read) {
  const std::string moe = R"("n_routed_experts": 16, "num_experts_per_token": 16,
      "expert_intermediate_size": 320)";
  EXPECT_EQ(read_with(moe).top_k, 16) << "all of them";
  EXPECT_EQ(read_with(moe + R"(, "n_shared_experts": 2)").shared_experts, 2);
  EXPECT_EQ(read_with(moe + R"(, "num_shared_experts": 3)").shared_experts, 3);
  const ModelShape wide =
      read_with(moe + R"(, "n_shared_experts": 2, "moe_shared_expert_intermediate_size": 640)");
  EXPECT_EQ(wide.shared_experts, 2);
  EXPECT_EQ(wide.shared_expert_ffn, 640);
  const ModelShape same = read_with(moe + R"(, "share_expert_dim": 320)");
  EXPECT_EQ(same.shared_experts, 1);
  EXPECT_EQ(same.shared_expert_ffn, 0) << "as wide as the others";
  const ModelShape beside = read_with(moe + R"(, "enable_moe_block": true)");
  EXPECT_EQ(beside.shared_experts, 1) << "the plain MLP of every layer";
  EXPECT_EQ(beside.shared_expert_ffn, 2560);
  EXPECT_THAT(said_with(R"("n_routed_experts": 4, "moe_topk": 5)"),
              ElementsAre(HasSubstr("config.range")));
}

TEST(ConfigJsonFamilies, narrower_expert_space_is_read) {
  const std::string moe =
      R"("n_routed_experts": 16, "num_experts_per_tok": 2, "moe_latent_size": 256)";
  EXPECT_THAT(said_with(moe), ElementsAre(HasSubstr("config.experts")));
  EXPECT_EQ(read_with(moe + R"(, "hybrid_override_pattern": "M")").expert_hidden, 256);
  EXPECT_EQ(read_with(R"("n_routed_experts": 16, "num_experts_per_tok": 2,
      "routed_expert_hidden_size": 257, "hybrid_override_pattern": "M")")
                .expert_hidden,
            257);
}

TEST(ConfigJsonFamilies, layers_that_differ_are_refused) {
  EXPECT_THAT(said_with(R"("block_configs": [])"),
              ElementsAre(AllOf(HasSubstr("config.layers-differ"), HasSubstr("'block_configs'"))));
  const auto heads = HasSubstr("config.layers-differ");
  EXPECT_THAT(said_with(R"("global_head_dim": 1)"), ElementsAre(heads));
  EXPECT_THAT(said_with(R"("num_global_key_value_heads": 1)"), ElementsAre(heads));
}

}  // namespace
}  // namespace orrery::catalog
