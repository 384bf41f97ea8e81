// Weights and cache of a replica in bytes, worked out by hand.
#include "layers/serving/memory.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::serving {
namespace {

// Attention 64 x 16 x (16 + 4) = 20,480; MLP 3 x 64 x 96 = 18,432; embedding or head 6,400.
catalog::ModelShape dense_shape() {
  return {.id = "dense",
          .layers = 4,
          .hidden = 64,
          .heads = 8,
          .kv_heads = 2,
          .head_dim = 16,
          .ffn = 96,
          .vocab = 100};
}

// The same attention; three of four layers have 8 experts of 3 x 64 x 12 = 2,304, one shared expert
// of 3 x 64 x 20 = 3,840 and a router of 512.
catalog::ModelShape routed_shape() {
  catalog::ModelShape m = dense_shape();
  m.experts = 8;
  m.top_k = 2;
  m.expert_ffn = 12;
  m.shared_experts = 1;
  m.shared_expert_ffn = 20;
  m.first_dense_layers = 1;
  return m;
}

TEST(ServingWeights, dense_model_weights_match_hand_calculation) {
  const double layers = 4 * (20480.0 + 18432);
  EXPECT_DOUBLE_EQ(serving_weights(dense_shape(), {}, {}).base(), 2 * layers + 2 * 12800.0);
  EXPECT_DOUBLE_EQ(serving_weights(dense_shape(), {.tp = 2}, {}).base(), layers + 12800.0);
  EXPECT_DOUBLE_EQ(serving_weights(dense_shape(), {.tp = 2, .pp = 2}, {}).base(),
                   (layers + 12800) / 2);
  // Embedding and head stay in 16 bits; 4-bit weights have a byte of scale per 16 weights.
  EXPECT_DOUBLE_EQ(serving_weights(dense_shape(), {}, {.products = catalog::Dtype::fp8}).base(),
                   layers + 2 * 12800.0);
  EXPECT_DOUBLE_EQ(serving_weights(dense_shape(), {}, {.products = catalog::Dtype::fp4}).base(),
                   layers * (0.5 + 1.0 / 16) + 2 * 12800.0);
}

TEST(ServingWeights, expert_weights_match_hand_calculation) {
  const double over_tp = 4 * 20480.0 + 18432 + 3 * 3840;
  const double experts = 3 * 8 * 2304.0;
  const double router = 3 * 512.0;
  EXPECT_DOUBLE_EQ(serving_weights(routed_shape(), {}, {}).base(),
                   2 * (over_tp + experts + router + 12800));
  // Four ranks: experts are split over all of them, attention and the shared expert over tp;
  // routers are copied.
  EXPECT_DOUBLE_EQ(serving_weights(routed_shape(), {.tp = 2, .attention_dp = 2, .ep = 4},
                                   {.experts = catalog::Dtype::fp8})
                       .base(),
                   over_tp / 2 * 2 + experts / 4 + 2 * (router + 12800 / 2.0));
  EXPECT_DOUBLE_EQ(serving_weights(routed_shape(), {.tp = 4, .ep = 2}, {}).base(),
                   2 * (over_tp / 4 + experts / 4 + router + 12800 / 4.0));
}

// Three of four layers have a state: no keys in those, and their weights are 3.5 widths of 128.
TEST(ServingWeights, layers_with_a_state_have_no_keys) {
  catalog::ModelShape m = dense_shape();
  m.state_space_layers = 3;
  const double layers = 20480 + 3 * (3.5 * 128 * 64) + 4 * 18432.0;
  EXPECT_DOUBLE_EQ(serving_weights(m, {}, {}).base(), 2 * (layers + 12800));
  const ServingMemory memory = serving_memory(m, {}, {}, {}, gib(1), {});
  EXPECT_DOUBLE_EQ(memory.kv_per_token.base(), 2 * 2 * 16 * 2.0);
}

// A scan of known shape: 64 (3 x 4 x 8 + 2 x 2 x 16 + 4) per layer.
TEST(ServingWeights, scan_of_known_shape_has_its_own_weights) {
  catalog::ModelShape m = dense_shape();
  m.state_space_layers = 3;
  m.scan_heads = 4;
  m.scan_head_dim = 8;
  m.scan_state = 16;
  m.scan_groups = 2;
  const double layers = 20480 + 3 * (64 * (96.0 + 64 + 4)) + 4 * 18432.0;
  EXPECT_NEAR(serving_weights(m, {}, {}).base(), 2 * (layers + 12800), 1e-6);
}

// 512 bytes of keys and values per token; what is left of 90 % of 10 MB, in blocks of 16.
TEST(ServingCache, cache_holds_what_is_left) {
  const engines::Engine engine{.memory_share = 0.9, .block_tokens = 16, .reserve = bytes(1e6)};
  const ServingMemoryOptions options{.limits = {.token_budget = 100}};
  const ServingMemory m = serving_memory(dense_shape(), {}, {}, engine, bytes(10e6), options);
  const double weights = 2 * (4 * (20480.0 + 18432) + 12800);
  const double activations = 2 * 100 * (4 * 64 + 3 * 96.0);
  EXPECT_DOUBLE_EQ(m.weights.base(), weights);
  EXPECT_DOUBLE_EQ(m.activations.base(), activations);
  EXPECT_DOUBLE_EQ(m.limit.base(), 9e6);
  EXPECT_DOUBLE_EQ(m.kv().base(), 9e6 - weights - activations - 1e6);
  EXPECT_DOUBLE_EQ(m.kv_per_token.base(), 512);
  EXPECT_EQ(m.blocks, std::floor((8e6 - weights - activations) / 8192));
  EXPECT_EQ(m.kv_tokens, m.blocks * 16);
  EXPECT_DOUBLE_EQ(m.requests(100), m.kv_tokens / 100);
  EXPECT_EQ(m.requests(0), 0);
}

// The share applies to what the model leaves free; if the model leaves nothing, there is no cache.
TEST(ServingCache, tensorrt_takes_its_share_of_free_memory) {
  const engines::Engine engine{
      .kind = engines::EngineKind::tensorrt_llm, .memory_share = 0.9, .reserve = bytes(1e6)};
  const ServingMemoryOptions options{.limits = {.token_budget = 100}};
  const ServingMemory m = serving_memory(dense_shape(), {}, {}, engine, bytes(10e6), options);
  const double used = m.weights.base() + m.activations.base() + 1e6;
  EXPECT_DOUBLE_EQ(m.limit.base(), used + 0.9 * (10e6 - used));
  EXPECT_NEAR(m.kv().base(), 0.9 * (10e6 - used), 1e-6);
  const ServingMemory none = serving_memory(dense_shape(), {}, {}, engine, bytes(1e6), options);
  EXPECT_EQ(none.blocks, 0);
  EXPECT_FALSE(none.fits);
}

TEST(ServingCache, cache_is_divided_over_heads_stages_and_ranks) {
  const engines::Engine engine;
  const auto of = [&](const ServingSplit& split, catalog::Dtype kv = catalog::Dtype::bf16) {
    return serving_memory(dense_shape(), split, {.kv = kv}, engine, gib(1), {.blocks = 10});
  };
  EXPECT_DOUBLE_EQ(of({.tp = 2}).kv_per_token.base(), 256);
  EXPECT_DOUBLE_EQ(of({.tp = 8}).kv_per_token.base(), 256) << "two heads are copied, not split";
  EXPECT_DOUBLE_EQ(of({.pp = 2}).kv_per_token.base(), 256);
  EXPECT_DOUBLE_EQ(of({}, catalog::Dtype::fp8).kv_per_token.base(), 256);
  EXPECT_DOUBLE_EQ(of({.attention_dp = 3}).kv_tokens, 480);
  catalog::ModelShape latent = dense_shape();
  latent.attention = catalog::AttentionKind::mla;
  latent.kv_lora_rank = 24;
  latent.qk_rope_dim = 4;
  EXPECT_DOUBLE_EQ(serving_memory(latent, {.tp = 4}, {}, engine, gib(1), {}).kv_per_token.base(),
                   4 * 28 * 2.0)
      << "every rank has the whole latent";
}

TEST(ServingCache, model_fits_if_one_shortest_request_does) {
  const engines::Engine engine;
  const auto fits = [&](double blocks) {
    return serving_memory(dense_shape(), {}, {}, engine, gib(1),
                          {.least_tokens = 160, .blocks = blocks})
        .fits;
  };
  EXPECT_TRUE(fits(10));
  EXPECT_FALSE(fits(9));
}

// The widest tensors are those of the MLP, or of a token's experts: up, gate and down.
TEST(ServingCache, activations_follow_the_widest_layer) {
  catalog::ModelShape m = routed_shape();
  const auto peak = [&](int tp) {
    return serving_memory(m, {.tp = tp}, {}, {}, gib(1), {.limits = {.token_budget = 10}})
        .activations.base();
  };
  EXPECT_DOUBLE_EQ(peak(2), 2 * 10 * (256 + 3 * 96 / 2.0));
  m.top_k = 8;
  m.expert_ffn = 20;
  EXPECT_DOUBLE_EQ(peak(2), 2 * 10 * (256 + 3 * 160 / 2.0));
  m.gated_mlp = false;
  EXPECT_DOUBLE_EQ(peak(1), 2 * 10 * (256 + 2 * 160.0));
}

}  // namespace
}  // namespace orrery::serving
