// Kernels compared with counting: every query-key pair that is computed, every operand once.
#include "core/workload/operation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/workload/adapters.h"
#include "core/workload/model_math.h"

namespace orrery::workload {
namespace {

// Query i is at position kv_len - q_len + i. It sees the keys up to itself; with a window, only the
// last ones of these.
double counted_pairs(int q_len, int kv_len, bool causal, int window) {
  double pairs = 0;
  for (int i = 0; i < q_len; ++i) {
    const int sees = causal ? kv_len - q_len + i + 1 : kv_len;
    pairs += window > 0 ? std::min(window, sees) : sees;
  }
  return pairs;
}

TEST(Operation, attention_computes_the_pairs_that_can_be_seen) {
  for (const int q : {1, 2, 5, 8}) {
    for (const int kv : {8, 9, 20}) {
      for (const int window : {0, 1, 3, 8, 9, 30}) {
        for (const bool causal : {true, false}) {
          const Attention a{.batch = 3,
                            .q_heads = 8,
                            .kv_heads = 2,
                            .qk_dim = 192,
                            .v_dim = 128,
                            .q_len = 1.0 * q,
                            .kv_len = 1.0 * kv,
                            .causal = causal,
                            .window = 1.0 * window};
          // A multiply and an add for each of qk_dim and v_dim, per head and sequence.
          const double flops = 2.0 * 3 * 8 * counted_pairs(q, kv, causal, window) * (192 + 128);
          EXPECT_DOUBLE_EQ(flops_of(a).base(), flops)
              << q << " of " << kv << " window " << window << " causal " << causal;
          Attention back = a;
          back.backward = true;
          EXPECT_DOUBLE_EQ(flops_of(back).base(), 2.5 * flops) << "five products for two";
        }
      }
    }
  }
}

TEST(Operation, attention_reads_queries_and_keys_once_and_no_key_beyond_its_window) {
  Attention a{.batch = 3,
              .q_heads = 8,
              .kv_heads = 2,
              .qk_dim = 192,
              .v_dim = 128,
              .q_len = 10,
              .kv_len = 100};
  const double queries = 3 * 2.0 * 8 * 10 * 320;
  EXPECT_DOUBLE_EQ(bytes_of(a).base(), queries + 3 * 2.0 * 2 * 100 * 320);
  a.window = 30;  // the first query's key and nine more
  EXPECT_DOUBLE_EQ(bytes_of(a).base(), queries + 3 * 2.0 * 2 * 40 * 320);
  a.window = 99;
  EXPECT_DOUBLE_EQ(bytes_of(a).base(), queries + 3 * 2.0 * 2 * 100 * 320) << "there are no more";
  const double once = bytes_of(a).base();
  a.backward = true;
  EXPECT_DOUBLE_EQ(bytes_of(a).base(), 2 * once);
}

TEST(Operation, product_reads_both_operands_and_writes_sixteen_bits) {
  const auto bytes = [](catalog::Dtype dtype) {
    return bytes_of(Gemm{.m = 5, .n = 7, .k = 11, .dtype = dtype, .groups = 3}).base();
  };
  EXPECT_DOUBLE_EQ(bytes(catalog::Dtype::bf16), 3 * (2.0 * (5 * 11 + 11 * 7) + 2 * 5 * 7));
  EXPECT_DOUBLE_EQ(bytes(catalog::Dtype::fp8), 3 * (1.0 * (5 * 11 + 11 * 7) + 2 * 5 * 7));
  EXPECT_DOUBLE_EQ(flops_of(Gemm{.m = 5, .n = 7, .k = 11, .groups = 3}).base(), 2 * 3 * 5 * 7 * 11);
  const MemoryPass pass{.read = Bytes(3), .written = Bytes(4)};
  EXPECT_EQ(bytes_of(pass), Bytes(7));
  EXPECT_EQ(flops_of(pass), Flops(0));
}

TEST(Operation, stored_weight_width_changes_gemm_bytes) {
  EXPECT_EQ((Gemm{.stored = 0.5}).weight_bytes(), 0.5);
  // Weights stored in half a byte and multiplied in 16 bits: 3 x 5 x 2 + 0.5 x 5 x 7 + 3 x 7 x 2.
  EXPECT_EQ(bytes_of(Gemm{.m = 3, .n = 7, .k = 5, .stored = 0.5}), Bytes(30 + 17.5 + 42));
  EXPECT_EQ(bytes_of(Gemm{.m = 3, .n = 7, .k = 5, .dtype = catalog::Dtype::fp32}),
            Bytes(4 * (15 + 35 + 21)));
}

}  // namespace
}  // namespace orrery::workload
