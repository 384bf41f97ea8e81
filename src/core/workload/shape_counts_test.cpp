// Counts that follow from a model's shape, of shapes whose every size is another number.
#include <gtest/gtest.h>

#include "core/workload/adapters.h"
#include "core/workload/model_math.h"
#include "core/workload/operation.h"

namespace orrery::workload {
namespace {

// Seven layers, 48 wide; 6 heads of 10, 2 of keys; 331 words; the MLP not gated.
catalog::ModelShape plain_shape() {
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

// Two of the seven layers are dense, five have 9 experts of 14 and two shared ones of 17.
catalog::ModelShape routed_shape() {
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

TEST(ShapeCounts, a_plain_mlp_has_two_matrices) {
  const ParameterCount c = count_parameters(plain_shape());
  EXPECT_DOUBLE_EQ(c.embedding, 331 * 48);
  EXPECT_DOUBLE_EQ(c.output_head, 331 * 48);
  EXPECT_DOUBLE_EQ(c.attention, 48 * 10 * (2 * 6 + 2 * 2));
  EXPECT_DOUBLE_EQ(c.dense_mlp, 2 * 48 * 130);
  EXPECT_DOUBLE_EQ(c.norms, 96);
  EXPECT_DOUBLE_EQ(c.dense_layer(), 7680 + 12480 + 96);
  EXPECT_DOUBLE_EQ(c.total, 7 * 20256 + 2 * 15888 + 48);
  EXPECT_DOUBLE_EQ(c.active, c.total);
  EXPECT_EQ(c.expert, 0);
  EXPECT_EQ(c.shared_experts, 0);
  EXPECT_EQ(c.router, 0);
  EXPECT_EQ(c.mtp, 0);
  EXPECT_EQ(c.routed_experts, 0);
}

TEST(ShapeCounts, a_model_with_experts_part_by_part) {
  const ParameterCount c = count_parameters(routed_shape());
  EXPECT_DOUBLE_EQ(c.expert, 2 * 48 * 14);
  EXPECT_DOUBLE_EQ(c.shared_experts, 2 * 2 * 48 * 17);
  EXPECT_DOUBLE_EQ(c.router, 48 * 9);
  EXPECT_DOUBLE_EQ(c.moe_layer(9), 7680 + 96 + 432 + 3264 + 9 * 1344);
  EXPECT_DOUBLE_EQ(c.mtp, 3 * (23568 + 2 * 48 * 48));
  EXPECT_DOUBLE_EQ(c.routed_experts, 5 * 9 * 1344);
  EXPECT_DOUBLE_EQ(c.total, 2 * 20256 + 5 * 23568 + 2 * 15888 + 48 + c.mtp);
  EXPECT_DOUBLE_EQ(c.active, 2 * 20256 + 5 * (11472 + 4 * 1344) + 2 * 15888 + 48);
  EXPECT_EQ(moe_layer_count(routed_shape()), 5);
  EXPECT_EQ(dense_layer_count(routed_shape()), 2);
  catalog::ModelShape m = routed_shape();
  m.first_dense_layers = 8;  // more than there are
  EXPECT_EQ(moe_layer_count(m), 0);
  EXPECT_EQ(dense_layer_count(m), 7);
  m.shared_expert_ffn = 0;
  EXPECT_DOUBLE_EQ(count_parameters(m).shared_experts, 2 * 2 * 48 * 14) << "as wide as the others";
}

// Of 7 layers 3 scan, 2 feed alone and 2 attend; parts are means over all layers.
TEST(ShapeCounts, a_hybrid_with_experts_in_a_space_of_their_own) {
  catalog::ModelShape m = routed_shape();
  m.first_dense_layers = 0;
  m.state_space_layers = 3;
  m.mlp_only_layers = 2;
  m.scan_heads = 5;
  m.scan_head_dim = 8;
  m.scan_groups = 3;
  m.scan_state = 11;
  m.expert_hidden = 20;
  m.mtp_layers = 0;
  const ParameterCount c = count_parameters(m);
  const double scan = 48 * (3 * 40 + 2 * 3 * 11 + 5);
  EXPECT_NEAR(c.attention, (2 * 7680 + 3 * scan) / 7, 1e-9);
  EXPECT_NEAR(c.expert, 2.0 / 7 * 2 * 20 * 14, 1e-9);
  EXPECT_NEAR(c.shared_experts, 2.0 / 7 * (2 * 2 * 48 * 17 + 2 * 48 * 20), 1e-9);
  EXPECT_NEAR(c.router, 2.0 / 7 * 48 * 9, 1e-9);
  EXPECT_NEAR(c.dense_mlp, 2.0 / 7 * 12480, 1e-9);
  m.mlp_only_layers = 0;
  EXPECT_NEAR(count_parameters(m).router, 48 * 9, 1e-9) << "every layer feeds";
  EXPECT_NEAR(count_parameters(m).attention, (4 * 7680 + 3 * scan) / 7, 1e-9);
}

// Scores and values: 2 x 6 heads x 2 x 10 = 240 FLOP a pair; 50 keys on average of 100. Matrices:
// layers and the head, 2 FLOP each.
TEST(ShapeCounts, flops_of_a_token_forward_and_in_training) {
  const catalog::ModelShape m = plain_shape();
  const double matrices = 7 * (7680 + 12480) + 15888, pairs = 7 * 240.0 * 50;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(m, 100).base(), 2 * matrices + pairs);
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, 100, FlopConvention::causal_half).base(),
                   3 * (2 * matrices + pairs));
  const double n = 7 * 20256 + 2 * 15888 + 48;
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, 100, FlopConvention::six_n).base(), 6 * n);
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, 100, FlopConvention::full_attention).base(),
                   6 * n + 3 * 2 * pairs);
  EXPECT_DOUBLE_EQ(adapter_training_flops_per_token(m, 100).base(), 4 * matrices + 3 * pairs);
  catalog::ModelShape routed = routed_shape();
  const double layers = 2 * (7680 + 12480) + 5 * (7680 + 432 + 3264 + 4 * 1344);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(routed, 100).base(), 2 * (layers + 15888) + pairs);
}

// Of 7 layers with a full one every third two see all, five 30 keys: 30 - 30^2 / 200 = 25.5 on
// average of 100. Latent heads: 8 + 3 and 5 wide.
TEST(ShapeCounts, windows_and_latents_in_flops_and_in_the_cache) {
  catalog::ModelShape m = plain_shape();
  m.sliding_window = 30;
  m.full_attention_every = 3;
  EXPECT_EQ(full_attention_layer_count(m), 2);
  EXPECT_EQ(windowed_layer_count(m), 5);
  const double matrices = 7 * (7680 + 12480) + 15888;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(m, 100).base(),
                   2 * matrices + 240 * (2 * 50 + 5 * 25.5));
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, 100, FlopConvention::full_attention).base(),
                   6 * count_parameters(m).active + 3 * 240 * (2 * 100 + 5 * 30.0));
  const double layer = 2 * 2 * 10 * 2;  // keys and values of two heads in 2 bytes
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(m, catalog::Dtype::bf16).base(), 7 * layer);
  EXPECT_DOUBLE_EQ(kv_bytes(m, 100, catalog::Dtype::bf16).base(), layer * (2 * 100 + 5 * 30));
  EXPECT_DOUBLE_EQ(kv_bytes(m, 30, catalog::Dtype::fp8).base(), layer / 2 * 7 * 30);
  m.full_attention_every = 0;
  EXPECT_EQ(full_attention_layer_count(m), 0);
  EXPECT_EQ(windowed_layer_count(m), 7);
  m = plain_shape();
  m.attention = catalog::AttentionKind::mla;
  m.kv_lora_rank = 14;
  m.qk_nope_dim = 8;
  m.qk_rope_dim = 3;
  m.v_head_dim = 5;
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(m, catalog::Dtype::bf16).base(), 7 * (14 + 3) * 2);
  EXPECT_DOUBLE_EQ(kv_bytes(m, 9, catalog::Dtype::bf16).base(), 9 * 7 * 17 * 2);
  const double attention = 48 * 6 * 11 + 48 * 17 + 14 * 6 * 13 + 6 * 5 * 48;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(m, 100).base(),
                   2 * (7 * (attention + 12480) + 15888) + 7 * 2 * 6 * 16 * 50.0);
}

// A hybrid without attention has no cache, and asking for it divides by nothing.
TEST(ShapeCounts, a_model_without_attention_keeps_no_keys) {
  catalog::ModelShape m = plain_shape();
  m.state_space_layers = 7;
  EXPECT_EQ(kv_bytes_per_token(m, catalog::Dtype::bf16), Bytes(0));
  EXPECT_EQ(kv_bytes(m, 100, catalog::Dtype::bf16), Bytes(0));
  m.state_space_layers = 6;
  EXPECT_DOUBLE_EQ(kv_bytes(m, 100, catalog::Dtype::bf16).base(), 100 * 80);
}

TEST(ShapeCounts, adapters_product_by_product) {
  const auto all = adapted_products(routed_shape(), {.qkv = true, .o = true, .mlp = true});
  ASSERT_EQ(all.size(), 6U);
  const auto is = [&](std::size_t i, double slices, double in, double out, double layers,
                      double experts, bool rows_cut) {
    EXPECT_EQ(all[i].slices, slices) << i;
    EXPECT_EQ(all[i].in, in) << i;
    EXPECT_EQ(all[i].out, out) << i;
    EXPECT_EQ(all[i].layers, layers) << i;
    EXPECT_EQ(all[i].experts, experts) << i;
    EXPECT_EQ(all[i].rows_cut, rows_cut) << i;
    EXPECT_EQ(all[i].sides(), slices * in + out) << i;
  };
  is(0, 3, 48, 60 + 2 * 20, 7, 1, false);
  is(1, 1, 60, 48, 7, 1, true);
  is(2, 1, 48, 130, 2, 1, false);
  is(3, 1, 130, 48, 2, 1, true);
  is(4, 1, 48, 14, 5, 9, false);
  is(5, 1, 14, 48, 5, 9, true);
  catalog::ModelShape gated = routed_shape();
  gated.gated_mlp = true;
  EXPECT_EQ(adapted_products(gated, {.mlp = true})[2].out, 28);
  EXPECT_EQ(adapted_products(plain_shape(), {.mlp = true}).size(), 2U) << "no experts";
  // 5 x (7 (244 + 108) + 2 x 2 x 178 + 5 x 9 x 2 x 62)
  EXPECT_EQ(adapter_parameters(routed_shape(), {.qkv = true, .o = true, .mlp = true}, 5), 43'780);
  EXPECT_TRUE((AdapterTargets{.o = true}).any());
  EXPECT_TRUE((AdapterTargets{.mlp = true}).any());
}

TEST(ShapeCounts, an_operation_of_which_nothing_is_said_is_empty) {
  const Attention a;
  EXPECT_EQ(a.batch, 1);
  EXPECT_EQ(a.q_heads + a.kv_heads + a.qk_dim + a.v_dim + a.q_len + a.kv_len + a.window, 0);
  EXPECT_TRUE(a.causal && !a.backward);
  const Gemm g;
  EXPECT_EQ(g.m + g.n + g.k + g.stored, 0);
  EXPECT_EQ(g.groups, 1);
  EXPECT_EQ(g.weight_bytes(), 2);
  EXPECT_EQ((Gemm{.stored = 0.5}).weight_bytes(), 0.5);
  // Weights in half a byte multiplied in sixteen bits: 3 x 5 x 2 + 0.5 x 5 x 7 + 3 x 7 x 2.
  EXPECT_EQ(bytes_of(Gemm{.m = 3, .n = 7, .k = 5, .stored = 0.5}), Bytes(30 + 17.5 + 42));
  EXPECT_EQ(bytes_of(Gemm{.m = 3, .n = 7, .k = 5, .dtype = catalog::Dtype::fp32}),
            Bytes(4 * (15 + 35 + 21)));
  const ParameterCount c;
  EXPECT_EQ(c.embedding + c.output_head + c.attention + c.dense_mlp + c.expert + c.norms, 0);
  EXPECT_EQ(c.shared_experts + c.router + c.mtp + c.total + c.active + c.routed_experts, 0);
  EXPECT_EQ(AdaptedProduct{}.slices + AdaptedProduct{}.experts, 2);
  EXPECT_EQ(AdaptedProduct{}.in + AdaptedProduct{}.out + AdaptedProduct{}.layers, 0);
}

}  // namespace
}  // namespace orrery::workload
