// The time of attention kernels: packing, masks, backward passes, split keys, latents.
#include <gtest/gtest.h>

#include "layers/compute/kernel.h"

namespace orrery::compute {
namespace {

// Tiles of 16 queries; 1 ms per FLOP's share of a pair, 20 ms per pair under a mask, 5 ms without
// one.
AttentionModel round_model() {
  AttentionModel m;
  m.launch = seconds(2);
  m.flop_seconds = 0.001;
  m.pair_seconds = 0.02;
  m.plain_pair_seconds = 0.005;
  m.tile_rows = 16;
  m.key_overhead = 7;
  m.tail = 0.25;
  m.joules_per_flop = 0.5;
  return m;
}

DeviceModel round_device(const AttentionModel& m, double units = 4) {
  DeviceModel d;
  d.units = units;
  d.attention.fill(m);
  d.attention_rate.fill(0.8);
  d.power.joules_per_byte = 0.25;
  return d;
}

// 20 queries of 50 keys: 20 x 30 + 20 x 21 / 2 = 810 pairs, 40.5 keys per query.
const workload::Attention kChunk{
    .batch = 2, .q_heads = 6, .kv_heads = 3, .qk_dim = 10, .v_dim = 6, .q_len = 20, .kv_len = 50};

// Two query heads per KV head: 40 rows, 3 tiles of 16 with 8 rows empty; 3 x 3 x 2 = 18 tasks over
// 4 units: 4.5, with the tail 4.625 waves. A pair is 2 x 16 FLOP; 10.5 of 40.5 keys are masked.
TEST(KernelAttention, query_heads_that_share_keys_are_packed) {
  const KernelCost c = kernel_cost(round_device(round_model()), kChunk);
  const double pair = 0.005 + 10.5 / 40.5 * 0.015;
  const double compute = 4.625 * (40.5 + 7) * 16 * (32 * 0.001 / 0.8 + pair);
  EXPECT_NEAR(c.time.base(), 2 + compute, 1e-9);
  EXPECT_NEAR(c.clocked.base(), compute, 1e-9);
  EXPECT_NEAR(c.core.base(), 0.5 * 48 / 40 * 2 * 2 * 6 * 810 * 16, 1e-6);
  // Queries and results 6 x 20, keys and values 3 x 50, width 16, two sequences, two bytes.
  EXPECT_NEAR(c.memory.base(), 0.25 * 2 * 2 * 16 * (120 + 150), 1e-9);
}

TEST(KernelAttention, unpacked_heads_have_their_own_tiles) {
  AttentionModel m = round_model();
  m.packs = false;
  const KernelCost c = kernel_cost(round_device(m), kChunk);
  // 20 rows: 2 tiles, x 6 heads x 2 = 24 tasks, 6 waves.
  const double pair = 0.005 + 10.5 / 40.5 * 0.015;
  EXPECT_NEAR(c.clocked.base(), 6 * 47.5 * 16 * (0.04 + pair), 1e-9);
  EXPECT_NEAR(c.core.base(), 0.5 * 32 / 20 * 311040, 1e-6);
}

TEST(KernelAttention, memory_and_compute_overlap) {
  AttentionModel m = round_model();
  m.overlap_loss = 0.3;
  m.memory_seconds = 1e-3;
  const KernelCost c = kernel_cost(round_device(m), kChunk);
  const double pair = 0.005 + 10.5 / 40.5 * 0.015;
  const double compute = 4.625 * 47.5 * 16 * (0.04 + pair), memory = 17.28;
  ASSERT_GT(compute, memory);
  EXPECT_NEAR(c.time.base(), 2 + compute + 0.3 * memory * memory / compute, 1e-9);
}

// Without a mask all pairs are plain: 50 keys. Under a window of 5 every pair is masked.
TEST(KernelAttention, masked_pairs_cost_more) {
  workload::Attention plain = kChunk;
  plain.causal = false;
  EXPECT_NEAR(kernel_cost(round_device(round_model()), plain).clocked.base(),
              4.625 * 57 * 16 * (0.04 + 0.005), 1e-9);
  workload::Attention cut = kChunk;
  cut.window = 5;
  EXPECT_NEAR(kernel_cost(round_device(round_model()), cut).clocked.base(),
              4.625 * 12 * 16 * (0.04 + 0.02), 1e-9);
  AttentionModel even = round_model();
  even.plain_pair_seconds = even.pair_seconds;
  EXPECT_NEAR(kernel_cost(round_device(even), plain).clocked.base(),
              4.625 * 57 * 16 * (0.04 + 0.02), 1e-9);
}

// Backward does 2.5 times the FLOP per pair, over the same keys.
TEST(KernelAttention, backward_has_five_products_for_two) {
  workload::Attention back = kChunk;
  back.backward = true;
  const KernelCost c = kernel_cost(round_device(round_model()), back);
  const double pair = 0.005 + 10.5 / 40.5 * 0.015;
  EXPECT_NEAR(c.clocked.base(), 4.625 * 47.5 * 16 * (2.5 * 0.04 + pair), 1e-9);
  EXPECT_NEAR(c.core.base(), 0.5 * 1.2 * 2.5 * 311040, 1e-6);
}

TEST(KernelAttention, fp8_keys_run_at_the_slower_rate) {
  workload::Attention narrow = kChunk;
  narrow.dtype = catalog::Dtype::fp8;
  narrow.causal = false;
  AttentionModel m = round_model();
  const auto clocked = [&](const workload::Attention& a) {
    return kernel_cost(round_device(m), a).clocked.base();
  };
  EXPECT_NEAR(clocked(narrow), 4.625 * 57 * 16 * (0.032 / 0.8 + 0.005), 1e-9);
  m.narrow_rate = 1.6;
  EXPECT_NEAR(clocked(narrow), 4.625 * 57 * 16 * (0.032 / 1.6 + 0.005), 1e-9);
  narrow.dtype = catalog::Dtype::bf16;
  EXPECT_NEAR(clocked(narrow), 4.625 * 57 * 16 * (0.032 / 0.8 + 0.005), 1e-9);
}

// One query over its keys on one unit, or split over two or four idle ones: at least 128 keys each.
TEST(KernelAttention, keys_are_split_over_idle_units) {
  workload::Attention one{
      .q_heads = 1, .kv_heads = 1, .qk_dim = 10, .v_dim = 6, .q_len = 1, .causal = false};
  AttentionModel m = round_model();
  const auto keys = [&](double kv_len, double units) {
    one.kv_len = kv_len;
    return kernel_cost(round_device(m, units), one).clocked.base() / (16 * 0.045) - 7;
  };
  EXPECT_NEAR(keys(512, 4), 128, 1e-9);
  EXPECT_NEAR(keys(511, 4), 255.5, 1e-9) << "fewer than 128 each are not worth it";
  EXPECT_NEAR(keys(512, 3), 256, 1e-9);
  EXPECT_NEAR(keys(2048, 8), 256, 1e-9);
  EXPECT_NEAR(keys(255, 8), 255, 1e-9);
  EXPECT_NEAR(keys(256, 2), 128, 1e-9);
  m.splits = false;
  EXPECT_NEAR(keys(512, 4), 512, 1e-9);
}

// The launch time shows which kernel runs.
TEST(KernelAttention, kernel_choice_depends_on_queries_and_keys) {
  DeviceModel d = round_device({});
  for (std::size_t i = 0; i < kAttentionKernels; ++i) {
    d.attention[i] = {.launch = seconds(static_cast<double>(i) + 1), .most_queries = 16};
  }
  d.attention[3].most_queries = 3;
  const auto launched = [&](double queries, double kv_heads, bool backward = false) {
    return kernel_time(d, workload::Attention{.q_heads = 4,
                                              .kv_heads = kv_heads,
                                              .qk_dim = 8,
                                              .v_dim = 8,
                                              .q_len = queries,
                                              .kv_len = 64,
                                              .backward = backward})
        .base();
  };
  EXPECT_EQ(launched(17, 1), 1) << "prefill";
  EXPECT_EQ(launched(16, 1), 3) << "decode";
  EXPECT_EQ(launched(1, 4, true), 2) << "backward";
  EXPECT_EQ(launched(3, 0.6), 4) << "latent";
  EXPECT_EQ(launched(4, 0.6), 1);
  EXPECT_EQ(kernel_time(d, workload::Attention{.q_heads = 4, .kv_len = 64}), Seconds());
}

// A latent shared by all 48 heads is one tile of 48 rows: three of 16.
TEST(KernelAttention, latent_heads_are_packed_together) {
  const workload::Attention latent{.q_heads = 48,
                                   .kv_heads = 0.5,
                                   .qk_dim = 10,
                                   .v_dim = 6,
                                   .q_len = 1,
                                   .kv_len = 100,
                                   .causal = false};
  const KernelCost c = kernel_cost(round_device(round_model(), 2), latent);
  EXPECT_NEAR(c.clocked.base(), (1.5 + 0.25 * 0.5) * 107 * 16 * 0.045, 1e-9);
  EXPECT_NEAR(c.memory.base(), 0.25 * 2 * 16 * (48 + 0.5 * 100), 1e-9);
}

}  // namespace
}  // namespace orrery::compute
