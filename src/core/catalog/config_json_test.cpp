#include "core/catalog/config_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/catalog/bill.h"
#include "core/catalog/catalog.h"
#include "core/catalog/model_shape.h"

namespace orrery::catalog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ModelShape shape_of(std::string_view text) {
  auto model = model_from_config_json(text, "test");
  if (!model) ADD_FAILURE() << to_text(model.error());
  return model.value_or(ModelShape{});
}

std::vector<std::string> codes_of(std::string_view text) {
  const auto model = model_from_config_json(text, "test");
  std::vector<std::string> codes;
  if (model) return codes;
  for (const Diagnostic& d : model.error()) codes.push_back(d.code);
  return codes;
}

TEST(ConfigJson, dense_with_grouped_queries) {
  const ModelShape m = shape_of(R"({"model_type": "llama", "hidden_act": "silu",
      "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 8, "tie_word_embeddings": false,
      "vocab_size": 128256})");
  EXPECT_EQ(m.attention, AttentionKind::gqa);
  EXPECT_EQ(m.layers, 32);
  EXPECT_EQ(m.kv_heads, 8);
  EXPECT_EQ(m.head_dim, 128);
  EXPECT_EQ(m.ffn, 14336);
  EXPECT_TRUE(m.gated_mlp);
  EXPECT_FALSE(m.tied_embeddings);
  EXPECT_FALSE(m.is_moe());
}

TEST(ConfigJson, latent_attention_with_shared_experts) {
  const ModelShape m = shape_of(R"({"model_type": "deepseek_v3", "hidden_act": "silu",
      "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432,
      "kv_lora_rank": 512, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
      "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
      "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "tie_word_embeddings": false, "v_head_dim": 128,
      "vocab_size": 129280})");
  EXPECT_EQ(m.attention, AttentionKind::mla);
  EXPECT_EQ(m.kv_lora_rank, 512);
  EXPECT_EQ(m.experts, 256);
  EXPECT_EQ(m.top_k, 8);
  EXPECT_EQ(m.shared_experts, 1);
  EXPECT_EQ(m.shared_expert_ffn, 0) << "as wide as the others";
  EXPECT_EQ(m.first_dense_layers, 3);
  EXPECT_EQ(m.mtp_layers, 1);
}

TEST(ConfigJson, sliding_window_by_layer_types_in_a_text_config) {
  const ModelShape m = shape_of(R"({"tie_word_embeddings": true, "text_config": {
      "model_type": "gpt_oss", "hidden_act": "silu", "hidden_size": 2880, "head_dim": 64,
      "intermediate_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8,
      "num_hidden_layers": 4, "num_local_experts": 32, "num_experts_per_tok": 4,
      "sliding_window": 128, "vocab_size": 201088,
      "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                      "full_attention"]}, "vision_config": {"hidden_size": 1}})");
  EXPECT_EQ(m.sliding_window, 128);
  EXPECT_EQ(m.full_attention_every, 2);
  EXPECT_EQ(m.expert_ffn, 2880) << "this family gives the expert's width as intermediate_size";
  EXPECT_TRUE(m.tied_embeddings) << "said one level up";
}

constexpr std::string_view kSmall = R"("model_type": "llama", "hidden_act": "silu",
    "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "vocab_size": 100)";

ModelShape small_with(const std::string& more) {
  return shape_of("{" + std::string(kSmall) + ", " + more + "}");
}

TEST(ConfigJson, defaults_that_the_library_documents) {
  const ModelShape m = small_with(R"("intermediate_size": 256)");
  EXPECT_EQ(m.kv_heads, 4);
  EXPECT_EQ(m.head_dim, 16);
}

TEST(ConfigJson, disabled_window_is_ignored) {
  const ModelShape m = small_with(
      R"("intermediate_size": 256, "sliding_window": 32768, "use_sliding_window": false)");
  EXPECT_EQ(m.sliding_window, 0);
}

TEST(ConfigJson, alternating_expert_layers_keep_their_count) {
  const ModelShape m = small_with(R"("intermediate_size": 256, "num_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 2,
      "shared_expert_intermediate_size": 48)");
  EXPECT_EQ(m.first_dense_layers, 2);
  EXPECT_EQ(m.shared_experts, 1);
  EXPECT_EQ(m.shared_expert_ffn, 48);
}

TEST(ConfigJson, hybrids_are_recognised) {
  EXPECT_EQ(
      small_with(R"("intermediate_size": 9, "hybrid_override_pattern": "M-*M")").state_space_layers,
      2);
  EXPECT_EQ(small_with(R"("intermediate_size": 9, "layer_types": ["linear_attention",
      "linear_attention", "linear_attention", "full_attention"])")
                .state_space_layers,
            3);
}

TEST(ConfigJson, python_infinity_is_not_a_syntax_error) {
  EXPECT_EQ(small_with(R"("intermediate_size": 9, "time_step_limit": [0.0, Infinity, -Infinity],
      "x": NaN, "y": "Infinity")")
                .layers,
            4);
}

TEST(ConfigJson, every_missing_field_is_named_at_once) {
  const std::vector<std::string> codes = codes_of(R"({"model_type": "novel"})");
  // The missing fields are layers, hidden, vocab, activation, heads and MLP width.
  EXPECT_EQ(std::ranges::count(codes, "config.missing"), 6);
}

TEST(ConfigJson, absurd_values_are_refused) {
  const auto one = [](const std::string& more) {
    return codes_of("{" + std::string(kSmall) + R"(, "intermediate_size": 256, )" + more + "}");
  };
  EXPECT_THAT(one(R"("num_key_value_heads": 3)"), Contains("config.range"));
  EXPECT_THAT(one(R"("num_key_value_heads": -1)"), Contains("config.range"));
  EXPECT_THAT(one(R"("num_key_value_heads": 18446744073709551615)"), Contains("config.range"));
  EXPECT_THAT(one(R"("num_key_value_heads": 1e300)"), Contains("config.type"));
  EXPECT_THAT(one(R"("num_key_value_heads": "4")"), Contains("config.type"));
  EXPECT_THAT(one(R"("num_experts": 4, "num_experts_per_tok": 8)"), Contains("config.range"));
  const std::string experts =
      R"("num_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": )";
  EXPECT_THAT(one(experts + "1"), Not(Contains("config.range")));
  EXPECT_THAT(one(experts + "1000"), Contains("config.range"));
  EXPECT_THAT(one(R"("tie_word_embeddings": 1)"), Contains("config.type"));
  EXPECT_THAT(one(R"("q_lora_rank": 8)"), Contains("config.attention"));
  EXPECT_THAT(one(R"("block_configs": [{}])"), Contains("config.layers-differ"));
  EXPECT_THAT(one(R"("global_head_dim": 32)"), Contains("config.layers-differ"));
  EXPECT_THAT(one(R"("sliding_window": 8, "layer_types": ["full_attention", "full_attention",
      "sliding_attention", "full_attention"])"),
              Contains("config.layers-differ"));
}

TEST(ConfigJson, hostile_files_give_one_clear_error) {
  EXPECT_THAT(codes_of(std::string(200'000, '[')), ElementsAre("config.depth"));
  EXPECT_THAT(codes_of(std::string(kConfigBytesMax + 1, ' ')), ElementsAre("config.size"));
  EXPECT_THAT(codes_of("{\"a\": \"\xff\xfe\"}"), ElementsAre("config.json"));
  EXPECT_THAT(codes_of(""), ElementsAre("config.json"));
  EXPECT_THAT(codes_of("[1]"), ElementsAre("config.not-an-object"));
  EXPECT_THAT(codes_of("{\"a\": 1e999999}"), Contains("config.json"));
}

TEST(ConfigJson, syntax_errors_have_a_place) {
  const auto model = model_from_config_json("{\n  \"a\": ,\n}", "my.json");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().front().place, (Place{"my.json", 2, 8}));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_same_shape(const ModelShape& read, const ModelShape& row) {
  EXPECT_EQ(read.attention, row.attention);
  EXPECT_EQ(read.layers, row.layers);
  EXPECT_EQ(read.hidden, row.hidden);
  EXPECT_EQ(read.heads, row.heads);
  EXPECT_EQ(read.kv_heads, row.kv_heads);
  EXPECT_EQ(read.head_dim, row.head_dim);
  EXPECT_EQ(read.ffn, row.ffn);
  EXPECT_EQ(read.gated_mlp, row.gated_mlp);
  EXPECT_EQ(read.vocab, row.vocab);
  EXPECT_EQ(read.tied_embeddings, row.tied_embeddings);
  EXPECT_EQ(read.experts, row.experts);
  EXPECT_EQ(read.top_k, row.top_k);
  EXPECT_EQ(read.expert_ffn, row.expert_ffn);
  EXPECT_EQ(read.shared_experts, row.shared_experts);
  EXPECT_EQ(read.shared_expert_ffn, row.shared_expert_ffn);
  EXPECT_EQ(read.first_dense_layers, row.first_dense_layers);
  EXPECT_EQ(read.q_lora_rank, row.q_lora_rank);
  EXPECT_EQ(read.kv_lora_rank, row.kv_lora_rank);
  EXPECT_EQ(read.qk_nope_dim, row.qk_nope_dim);
  EXPECT_EQ(read.qk_rope_dim, row.qk_rope_dim);
  EXPECT_EQ(read.v_head_dim, row.v_head_dim);
  EXPECT_EQ(read.sliding_window, row.sliding_window);
  EXPECT_EQ(read.full_attention_every, row.full_attention_every);
  EXPECT_EQ(read.mtp_layers, row.mtp_layers);
  EXPECT_EQ(read.state_space_layers, row.state_space_layers);
  EXPECT_EQ(read.mlp_only_layers, row.mlp_only_layers);
  EXPECT_EQ(read.scan_heads, row.scan_heads);
  EXPECT_EQ(read.scan_head_dim, row.scan_head_dim);
  EXPECT_EQ(read.scan_state, row.scan_state);
  EXPECT_EQ(read.scan_groups, row.scan_groups);
  EXPECT_EQ(read.expert_hidden, row.expert_hidden);
}

// Published files, read from a folder beside the checkout if it exists; we may not distribute them.
TEST(ConfigJson, published_files_agree_with_the_catalog) {
  const std::filesystem::path folder =
      std::filesystem::path(ORRERY_SOURCE_DIR) / "../shared/thirdparty/model_configs";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no published config.json files here";
  const auto catalog = load_embedded_catalog();
  ASSERT_TRUE(catalog) << to_text(catalog.error());
  int compared = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().stem().string();
    if (const auto at = name.find("--"); at != std::string::npos) name.replace(at, 2, "/");
    const auto read = model_from_config_json(read_text(entry.path()), name);
    const ModelShape* row = catalog->model(name);
    if (!read) {
      ++refused;
      EXPECT_EQ(row, nullptr) << name << " is in the catalog and yet unreadable";
      continue;
    }
    if (!row) continue;
    SCOPED_TRACE(name);
    expect_same_shape(*read, *row);
    ++compared;
  }
  EXPECT_GE(compared, 40);
  EXPECT_LE(refused, 11);
}

std::vector<std::string> limits_said(const std::string& more) {
  const auto model = model_from_config_json(
      R"({"model_type": "llama", "hidden_size": 960, "num_attention_heads": 12,
          "num_hidden_layers": 8, "vocab_size": 1000, "intermediate_size": 2560, )" +
          more + "}",
      "m");
  std::vector<std::string> said;
  if (model) return said;
  for (const Diagnostic& d : model.error()) said.push_back(d.what);
  return said;
}

TEST(ConfigJson, values_beyond_any_model_are_refused) {
  struct Limit {
    const char* key;
    const char* most;
    const char* more;
    const char* said;
  };
  constexpr std::array kLimits = {
      Limit{"num_hidden_layers", "2000", "2001", "1 to 2,000"},
      Limit{"num_nextn_predict_layers", "2000", "2001", "0 to 2,000"},
      Limit{"vocab_size", "100000000", "100000001", "1 to 100,000,000"},
      Limit{"head_dim", "4000000", "4000001", "1 to 4,000,000"},
      Limit{"sliding_window", "1000000000", "1000000001", "0 to 1,000,000,000"},
      Limit{"intermediate_size", "4000000", "4000001", "1 to 4,000,000"},
  };
  for (const Limit& l : kLimits) {
    const std::string key = "\"" + std::string(l.key) + "\": ";
    EXPECT_THAT(limits_said(key + l.most), IsEmpty()) << l.key;
    const auto said = limits_said(key + l.more);
    ASSERT_FALSE(said.empty()) << l.key;
    EXPECT_EQ(said[0], "'" + std::string(l.key) + "' is outside " + l.said);
  }
  EXPECT_THAT(limits_said(R"("num_attention_heads": 8192, "head_dim": 1)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("num_attention_heads": 8193, "head_dim": 1)"),
              ElementsAre("'num_attention_heads' is outside 1 to 8,192"));
  EXPECT_THAT(limits_said(R"("num_experts": 100000, "num_experts_per_tok": 1)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("num_experts": 100001)"),
              ElementsAre("'n_routed_experts' is outside 0 to 100,000"));
  EXPECT_THAT(limits_said(R"("num_key_value_heads": 0)"),
              ElementsAre("'num_key_value_heads' is outside 1 to 8,192"));
  EXPECT_THAT(limits_said(R"("num_key_value_heads": 1)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("num_key_value_heads": 2.0)"),
              ElementsAre(HasSubstr("'num_key_value_heads'")));
  EXPECT_THAT(limits_said(R"("tie_word_embeddings": "yes")"),
              ElementsAre(HasSubstr("tie_word_embeddings")));
}

TEST(ConfigJson, nesting_is_limited_to_64) {
  const auto nested = [](std::size_t depth) {  // the object itself counts as one level
    return model_from_config_json(
        "{\n  \"a\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}", "m");
  };
  EXPECT_NE(nested(64).error().front().code, "config.depth");
  const auto deep = nested(66);
  ASSERT_EQ(deep.error().size(), 1U);
  EXPECT_EQ(deep.error()[0].code, "config.depth");
  EXPECT_EQ(deep.error()[0].place, (Place{"m", 2, 71}))
      << "7 before the brackets, the 64th of them";
  EXPECT_EQ(nested(65).error().front().code, "config.depth");
  std::string beside = "{\"a\": ";
  for (int i = 0; i < 70; ++i) beside += "[],";
  EXPECT_NE(model_from_config_json(beside, "m").error().front().code, "config.depth");
  std::string quoted = "{\"a\": \"\\\"" + std::string(70, '[') + "\"}";
  EXPECT_EQ(model_from_config_json(quoted, "m").error().front().code, "config.missing");
}

TEST(ConfigJson, files_are_limited_to_4_mib) {
  const auto more = model_from_config_json(std::string(4'194'305, ' '), "m");
  EXPECT_EQ(more.error().front().code, "config.size");
  EXPECT_EQ(more.error().front().place, (Place{"m", 0, 0}));
}

TEST(ConfigJson, python_constants_are_accepted) {
  EXPECT_THAT(limits_said(R"("a": [Infinity, -Infinity, NaN], "head_dim": NaN)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("a": "\"NaN", "tie_word_embeddings": Infinity)"), IsEmpty());
  const auto bad = model_from_config_json("{\"a\": Inf}", "m");
  EXPECT_EQ(bad.error().front().code, "config.json");
  EXPECT_EQ(bad.error().front().place.line, 1);
}

// Every layer has attention, so none is a scan.
TEST(ConfigJson, attention_period_of_one_has_no_scan) {
  const auto read = [](const std::string& period) {
    return model_from_config_json(
        R"({"model_type": "jamba", "hidden_act": "silu", "hidden_size": 960,
            "num_attention_heads": 12, "num_hidden_layers": 8, "vocab_size": 1000,
            "intermediate_size": 2560, "attn_layer_period": )" +
            period + "}",
        "m");
  };
  const auto one = read("1");
  ASSERT_TRUE(one) << to_text(one.error());
  EXPECT_EQ(one->state_space_layers, 0);
  const auto none = read("0");
  EXPECT_TRUE(!none || none->state_space_layers == 0);
}

}  // namespace
}  // namespace orrery::catalog
