#include "core/workload/model_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/workload/transformer.h"
#include "core/workload/workload_fixture.h"

namespace orrery::workload {
namespace {

using testing::DoubleNear;

catalog::ModelShape dense(int layers, double hidden, int heads, int kv_heads, double head_dim,
                          double ffn) {
  catalog::ModelShape m;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kv_heads = kv_heads;
  m.head_dim = head_dim;
  m.ffn = ffn;
  m.vocab = 128256;
  return m;
}

catalog::ModelShape deepseek_v3() {
  catalog::ModelShape m = dense(61, 7168, 128, 128, 0, 18432);
  m.attention = catalog::AttentionKind::mla;
  m.vocab = 129280;
  m.experts = 256;
  m.top_k = 8;
  m.expert_ffn = 2048;
  m.shared_experts = 1;
  m.first_dense_layers = 3;
  m.q_lora_rank = 1536;
  m.kv_lora_rank = 512;
  m.qk_nope_dim = 128;
  m.qk_rope_dim = 64;
  m.v_head_dim = 128;
  return m;
}

// MLPerf Storage's checkpoint workload: 14 bytes per parameter, sizes as reported by DLIO.
TEST(ModelMath, checkpoint_shapes_of_mlperf_storage) {
  const struct {
    catalog::ModelShape shape;
    double gib;
  } cases[] = {{dense(80, 8192, 128, 8, 64, 28672), 911.2},
               {dense(126, 16384, 128, 8, 128, 53248), 5292.2},
               {dense(128, 25872, 192, 32, 134.75, 98304), 15426.6}};
  for (const auto& c : cases) {
    const double predicted = count_parameters(c.shape).total * 14 / gib(1).base();
    EXPECT_THAT(predicted / c.gib, DoubleNear(1, 2e-4));
  }
}

TEST(ModelMath, published_parameter_counts) {
  // Llama 3 8B and 70B: 8.03 B and 70.6 B (Hugging Face model cards).
  EXPECT_NEAR(count_parameters(dense(32, 4096, 32, 8, 128, 14336)).total / 1e9, 8.03, 0.005);
  EXPECT_NEAR(count_parameters(dense(80, 8192, 64, 8, 128, 28672)).total / 1e9, 70.55, 0.01);
  // DeepSeek-V3 report: 671 B in total, 37 B active.
  const ParameterCount v3 = count_parameters(deepseek_v3());
  EXPECT_NEAR(v3.total / 1e9, 671, 1);
  EXPECT_NEAR(v3.active / 1e9, 37.5, 0.5);
}

TEST(ModelMath, mtp_module_adds_one_layer_and_projection) {
  catalog::ModelShape m = deepseek_v3();
  const double before = count_parameters(m).total;
  m.mtp_layers = 1;
  // The V3 report's 14 B of MTP weights count the shared embedding and head, 1.85 B, again.
  EXPECT_NEAR((count_parameters(m).total - before) / 1e9, 11.6, 0.1);
}

TEST(ModelMath, kv_bytes_per_token) {
  // Llama 3 70B: 2 * 80 * 8 * 128 * 2 B = 320 KiB; DeepSeek-V3: 61 * 576 * 2 B = 68.6 KiB.
  EXPECT_DOUBLE_EQ(
      kv_bytes_per_token(dense(80, 8192, 64, 8, 128, 28672), catalog::Dtype::bf16).base(), 327680);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(deepseek_v3(), catalog::Dtype::bf16).base(), 61 * 576 * 2);
}

TEST(ModelMath, sliding_window_bounds_the_cache) {
  catalog::ModelShape m = dense(36, 2880, 64, 8, 64, 2880);
  m.sliding_window = 128;
  m.full_attention_every = 2;
  const Bytes per_layer = kv_bytes_per_token(m, catalog::Dtype::bf16) / 36;
  EXPECT_DOUBLE_EQ(kv_bytes(m, 4096, catalog::Dtype::bf16) / per_layer, 18 * 4096 + 18 * 128);
  EXPECT_DOUBLE_EQ(kv_bytes(m, 100, catalog::Dtype::bf16) / per_layer, 36 * 100);
}

TEST(ModelMath, flops_agree_with_closed_forms) {
  const catalog::ModelShape m = dense(126, 16384, 128, 8, 128, 53248);
  const double s = 8192;
  const double n = count_parameters(m).total;
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, s, FlopConvention::six_n).base(), 6 * n);
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, s, FlopConvention::full_attention).base(),
                   6 * n + 12 * 126.0 * 16384 * s);
  // Matrices only: no embedding table, no norms; attention counted by the causal half.
  const double matrices = n - 128256.0 * 16384 - 253 * 16384;
  EXPECT_NEAR(training_flops_per_token(m, s, FlopConvention::causal_half).base() /
                  (6 * matrices + 6 * 126.0 * 16384 * s),
              1, 1e-12);
  // Frozen weights need no weight gradients: forward, and backward through them.
  EXPECT_NEAR(
      adapter_training_flops_per_token(m, s).base() / (4 * matrices + 6 * 126.0 * 16384 * s), 1,
      1e-12);
}

TEST(ModelMath, windowed_attention_never_costs_more_than_full) {
  catalog::ModelShape m = dense(32, 4096, 32, 8, 128, 14336);
  const Flops full = forward_flops_per_token(m, 8192);
  for (double window : {128.0, 1024.0, 8192.0, 16384.0}) {
    m.sliding_window = window;
    EXPECT_LE(forward_flops_per_token(m, 8192), full) << window;
  }
}

// A hybrid: attention in 7 of 12 layers minus its scans, an MLP in 4, a scan in 5.
TEST(ModelMath, hybrid_parameters_add_up_by_layer) {
  const catalog::ModelShape m = small_hybrid();
  const double attention = 1024.0 * 64 * (2 * 16 + 2 * 4);
  const double mlp = 3.0 * 1024 * 4096;
  const double inner = 32 * 64;
  const double scan = 1024.0 * (3 * inner + 2 * 4 * 128 + 32);
  const double layers = m.attention_layers() * attention + 4 * mlp + 5 * scan;
  const double rest = 2 * 32000.0 * 1024 + 1024 + 12 * 2 * 1024;  // embedding, head and norms
  EXPECT_NEAR(count_parameters(m).total, layers + rest, 1);
}

TEST(ModelMath, tied_head_is_counted_once) {
  catalog::ModelShape m = small_experts();
  const double untied = count_parameters(m).total;
  m.tied_embeddings = true;
  EXPECT_DOUBLE_EQ(untied - count_parameters(m).total, 32000.0 * 1024);
  const double layer = 1024.0 * 64 * 40 + 2 * 1024 + 16 * 3.0 * 1024 * 512 + 1024.0 * 16;
  EXPECT_DOUBLE_EQ(count_parameters(m).total, 8 * layer + 32000.0 * 1024 + 1024);
  EXPECT_DOUBLE_EQ(count_parameters(m).active,
                   8 * (layer - 14 * 3.0 * 1024 * 512) + 32000.0 * 1024 + 1024);
  m.shared_experts = 1;
  m.shared_expert_ffn = 768;
  EXPECT_DOUBLE_EQ(count_parameters(m).total,
                   8 * (layer + 3.0 * 1024 * 768) + 32000.0 * 1024 + 1024);
}

// A module that predicts the token after next: a layer like the others and a projection of 2h x h.
TEST(ModelMath, mtp_module_is_a_layer_and_a_projection) {
  catalog::ModelShape m = small_dense();
  const double without = count_parameters(m).total;
  m.mtp_layers = 1;
  const double layer = 1024.0 * 64 * 40 + 3.0 * 1024 * 4096 + 2 * 1024;
  EXPECT_DOUBLE_EQ(count_parameters(m).total - without, layer + 2.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(count_parameters(m).active, without) << "no token passes through it";
}

TEST(ModelMath, six_n_counts_active_parameters) {
  const catalog::ModelShape m = small_experts();
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, 512, FlopConvention::six_n).base(),
                   6 * count_parameters(m).active);
  EXPECT_LT(count_parameters(m).active, 0.7 * count_parameters(m).total);
}

// Two projections into the experts' narrower space, and experts of that width.
TEST(ModelMath, narrower_expert_space_has_fewer_parameters) {
  catalog::ModelShape m = small_experts();
  const ParameterCount wide = count_parameters(m);
  m.expert_hidden = 256;
  const ParameterCount narrow = count_parameters(m);
  EXPECT_DOUBLE_EQ(wide.expert, 3.0 * 1024 * 512);
  EXPECT_DOUBLE_EQ(narrow.expert, 3.0 * 256 * 512);
  EXPECT_DOUBLE_EQ(wide.total - narrow.total,
                   8 * (16 * (wide.expert - narrow.expert) - 2.0 * 1024 * 256));
}

TEST(ModelMath, latent_queries_change_the_parameter_count) {
  catalog::ModelShape m = small_latent();
  const double kv = 1024.0 * (128 + 16) + 128.0 * 16 * (32 + 48) + 16.0 * 48 * 1024;
  EXPECT_DOUBLE_EQ(count_parameters(m).attention, 1024.0 * 384 + 384.0 * 16 * 48 + kv);
  m.q_lora_rank = 0;
  EXPECT_DOUBLE_EQ(count_parameters(m).attention, 1024.0 * 16 * 48 + kv);
}

// A window applies to 8 layers, of which every second is full; a window longer than the sequence
// changes nothing.
TEST(ModelMath, windowed_layers_attend_within_their_window) {
  catalog::ModelShape m = small_dense();
  const double full = forward_flops_per_token(m, 512).base();
  m.sliding_window = 64;
  m.full_attention_every = 2;
  EXPECT_EQ(full_attention_layer_count(m), 4);
  EXPECT_EQ(windowed_layer_count(m), 4);
  // 2 FLOP x 16 heads x 2 x 64 per pair: 256 keys on average in full layers, 60 with a window of
  // 64.
  const double pair = 2.0 * 16 * 2 * 64;
  EXPECT_DOUBLE_EQ(full - forward_flops_per_token(m, 512).base(), pair * 4 * (256 - 60));
  m.sliding_window = 4096;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(m, 512).base(), full);
}

TEST(ModelMath, plain_mlp_has_two_matrices) {
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

TEST(ModelMath, moe_parameters_add_up_by_part) {
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
  m.first_dense_layers = 8;  // more than the model has
  EXPECT_EQ(moe_layer_count(m), 0);
  EXPECT_EQ(dense_layer_count(m), 7);
  m.shared_expert_ffn = 0;
  EXPECT_DOUBLE_EQ(count_parameters(m).shared_experts, 2 * 2 * 48 * 14) << "as wide as the others";
}

// 7 layers: 3 scan, 2 are an MLP alone and 2 attend; parts are means over all layers.
TEST(ModelMath, hybrid_moe_parameters_add_up_by_part) {
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

// Scores and values: 2 x 6 heads x 2 x 10 = 240 FLOP per pair; on average 50 keys of 100. Matrices:
// layers and the head, 2 FLOP each.
TEST(ModelMath, flops_per_token_in_inference_and_training) {
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

// 7 layers with every third full: two attend to everything and five to 30 keys: 30 - 30^2 / 200
// = 25.5 on average for a sequence of 100. Latent heads are 8 + 3 and 5 wide.
TEST(ModelMath, windows_and_latents_change_flops_and_kv_cache) {
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
  const double layer = 2 * 2 * 10 * 2;  // keys and values of two heads, 2 bytes each
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

// A hybrid without attention has no cache, and computing its size does not divide by zero.
TEST(ModelMath, model_without_attention_has_no_kv_cache) {
  catalog::ModelShape m = plain_shape();
  m.state_space_layers = 7;
  EXPECT_EQ(kv_bytes_per_token(m, catalog::Dtype::bf16), Bytes(0));
  EXPECT_EQ(kv_bytes(m, 100, catalog::Dtype::bf16), Bytes(0));
  m.state_space_layers = 6;
  EXPECT_DOUBLE_EQ(kv_bytes(m, 100, catalog::Dtype::bf16).base(), 100 * 80);
}

}  // namespace
}  // namespace orrery::workload
