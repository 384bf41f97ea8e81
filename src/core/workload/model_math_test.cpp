#include "core/workload/model_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// MLPerf Storage checkpoint workload: 14 bytes a parameter, sizes as reported by DLIO.
TEST(ModelMath, CheckpointShapesOfMlperfStorage) {
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

TEST(ModelMath, PublishedParameterCounts) {
  // Llama 3 8B and 70B: 8.03 B and 70.6 B (Hugging Face model cards).
  EXPECT_NEAR(count_parameters(dense(32, 4096, 32, 8, 128, 14336)).total / 1e9, 8.03, 0.005);
  EXPECT_NEAR(count_parameters(dense(80, 8192, 64, 8, 128, 28672)).total / 1e9, 70.55, 0.01);
  // DeepSeek-V3 report: 671 B in total, 37 B active.
  const ParameterCount v3 = count_parameters(deepseek_v3());
  EXPECT_NEAR(v3.total / 1e9, 671, 1);
  EXPECT_NEAR(v3.active / 1e9, 37.5, 0.5);
}

TEST(ModelMath, MtpModuleAddsOneLayerAndProjection) {
  catalog::ModelShape m = deepseek_v3();
  const double before = count_parameters(m).total;
  m.mtp_layers = 1;
  // The V3 report's 14 B of MTP weights count the shared embedding and head, 1.85 B, once more.
  EXPECT_NEAR((count_parameters(m).total - before) / 1e9, 11.6, 0.1);
}

TEST(ModelMath, KvBytesPerToken) {
  // Llama 3 70B: 2 * 80 * 8 * 128 * 2 B = 320 KiB; DeepSeek-V3: 61 * 576 * 2 B = 68.6 KiB.
  EXPECT_DOUBLE_EQ(
      kv_bytes_per_token(dense(80, 8192, 64, 8, 128, 28672), catalog::Dtype::bf16).base(), 327680);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(deepseek_v3(), catalog::Dtype::bf16).base(), 61 * 576 * 2);
}

TEST(ModelMath, SlidingWindowBoundsTheCache) {
  catalog::ModelShape m = dense(36, 2880, 64, 8, 64, 2880);
  m.sliding_window = 128;
  m.full_attention_every = 2;
  const Bytes per_layer = kv_bytes_per_token(m, catalog::Dtype::bf16) / 36;
  EXPECT_DOUBLE_EQ(kv_bytes(m, 4096, catalog::Dtype::bf16) / per_layer, 18 * 4096 + 18 * 128);
  EXPECT_DOUBLE_EQ(kv_bytes(m, 100, catalog::Dtype::bf16) / per_layer, 36 * 100);
}

TEST(ModelMath, FlopsAgreeWithClosedForms) {
  const catalog::ModelShape m = dense(126, 16384, 128, 8, 128, 53248);
  const double s = 8192;
  const double n = count_parameters(m).total;
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, s, FlopConvention::six_n).base(), 6 * n);
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, s, FlopConvention::full_attention).base(),
                   6 * n + 12 * 126.0 * 16384 * s);
  // Matrices only: no embedding table, no norms; the causal half of attention.
  const double matrices = n - 128256.0 * 16384 - 253 * 16384;
  EXPECT_NEAR(training_flops_per_token(m, s, FlopConvention::causal_half).base() /
                  (6 * matrices + 6 * 126.0 * 16384 * s),
              1, 1e-12);
  // Of frozen weights no gradients are made: forward, and backward through them.
  EXPECT_NEAR(
      adapter_training_flops_per_token(m, s).base() / (4 * matrices + 6 * 126.0 * 16384 * s), 1,
      1e-12);
}

TEST(ModelMath, WindowedAttentionNeverCostsMoreThanFull) {
  catalog::ModelShape m = dense(32, 4096, 32, 8, 128, 14336);
  const Flops full = forward_flops_per_token(m, 8192);
  for (double window : {128.0, 1024.0, 8192.0, 16384.0}) {
    m.sliding_window = window;
    EXPECT_LE(forward_flops_per_token(m, 8192), full) << window;
  }
}

}  // namespace
}  // namespace orrery::workload
