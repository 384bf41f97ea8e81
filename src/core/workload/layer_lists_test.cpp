// Every kernel of a layer, one by one, with its shape and its bytes worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/workload/transformer.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

struct Written {
  std::string operator()(const Gemm& g) const {
    constexpr const char* kPasses[] = {"forward", "dgrad", "wgrad"};
    return fmt::format("{} x [{}, {}, {}] {} {}", g.groups, g.m, g.n, g.k, to_text(g.dtype),
                       kPasses[static_cast<std::size_t>(g.pass)]);
  }
  std::string operator()(const Attention& a) const {
    return fmt::format("{} x {} of {} heads, {} and {} wide, {} of {}, window {}{}{} {}", a.batch,
                       a.q_heads, a.kv_heads, a.qk_dim, a.v_dim, a.q_len, a.kv_len, a.window,
                       a.causal ? " causal" : "", a.backward ? " backward" : "", to_text(a.dtype));
  }
  std::string operator()(const MemoryPass& p) const {
    return fmt::format("{} -> {}", p.read.base(), p.written.base());
  }
};

Lines lines_of(const OpList& list) {
  Lines lines;
  for (const Operation& op : list.items()) lines.push_back(std::visit(Written{}, op));
  return lines;
}

// 48 wide; 12 heads of 10, of which 4 are of keys; a gated MLP of 140; 330 words.
catalog::ModelShape odd_dense() {
  catalog::ModelShape m;
  m.layers = 9;
  m.hidden = 48;
  m.heads = 12;
  m.kv_heads = 4;
  m.head_dim = 10;
  m.ffn = 140;
  m.vocab = 330;
  return m;
}

// T = 3 x 20 / 5 = 12 tokens inside a block of two ranks, 6 of them between blocks.
const LayerSplit kOddSplit{.microbatch = 3, .sequence = 20, .tp = 2, .cp = 5};
// What is between the products moves half as much again as it must.
const KernelStyle kOddStyle{.pointwise_traffic = 1.5};

LayerWork listed(const catalog::ModelShape& m, LayerKind kind, const LayerSplit& split,
                 const KernelStyle& style = kOddStyle, bool windowed = false) {
  LayerWork work;
  fill_layer_work(m, kind, windowed, split, style, work);
  return work;
}

// Norm: 6 x 48 x 2 bytes x 1.5 = 864. Queries, keys, values: (6 + 2 x 2) x 10 = 100. Rope: 12 x 8
// heads x 10 x 2 x 1.5 = 2880. Gate and up: 2 x 70; activation: 12 x 70 x 2 x 1.5 = 2520 a tensor.
TEST(LayerLists, a_dense_layer_in_sixteen_bits) {
  const LayerWork work = listed(odd_dense(), LayerKind::dense, kOddSplit);
  EXPECT_THAT(lines_of(work.forward),
              ElementsAre("864 -> 864", "1 x [12, 100, 48] bf16 forward", "2880 -> 2880",
                          "0.6 x 6 of 2 heads, 10 and 10 wide, 20 of 20, window 0 causal bf16",
                          "1 x [12, 48, 60] bf16 forward", "1728 -> 864", "864 -> 864",
                          "1 x [12, 140, 48] bf16 forward", "5040 -> 2520",
                          "1 x [12, 48, 70] bf16 forward", "1728 -> 864"));
  EXPECT_THAT(
      lines_of(work.dgrad),
      ElementsAre("1728 -> 864", "1 x [12, 48, 100] bf16 dgrad", "2880 -> 2880",
                  "0.6 x 6 of 2 heads, 10 and 10 wide, 20 of 20, window 0 causal backward bf16",
                  "1 x [12, 60, 48] bf16 dgrad", "1728 -> 864", "1728 -> 864",
                  "1 x [12, 48, 140] bf16 dgrad", "7560 -> 5040", "1 x [12, 70, 48] bf16 dgrad",
                  "1728 -> 864"));
  EXPECT_THAT(lines_of(work.wgrad),
              ElementsAre("1 x [48, 100, 12] bf16 wgrad", "1 x [60, 48, 12] bf16 wgrad",
                          "1 x [48, 140, 12] bf16 wgrad", "1 x [70, 48, 12] bf16 wgrad"));
  EXPECT_THAT(lines_of(work.attention_core),
              ElementsAre("0.6 x 6 of 2 heads, 10 and 10 wide, 20 of 20, window 0 causal bf16"));
  EXPECT_THAT(lines_of(work.norms), ElementsAre("864 -> 864", "864 -> 864"));
  EXPECT_THAT(lines_of(work.latent_up), IsEmpty());
  EXPECT_THAT(lines_of(work.expert_forward), IsEmpty());
  EXPECT_THAT(lines_of(work.expert_dgrad), IsEmpty());
  EXPECT_THAT(lines_of(work.expert_activation), IsEmpty());
  EXPECT_EQ(work.mixer_forward, 6);
  EXPECT_EQ(work.mixer_dgrad, 6);
  EXPECT_EQ(work.mixer_wgrad, 2);
}

// A plain MLP has one product up and its layer no rope. All 12 tokens between blocks: 12 x 48 x 2 x
// 1.5 = 1728. Attention is cut by the window of 7.
TEST(LayerLists, a_plain_layer_in_fp16_whose_stream_is_whole) {
  catalog::ModelShape m = odd_dense();
  m.gated_mlp = false;
  m.sliding_window = 7;
  LayerSplit split = kOddSplit;
  split.sequence_parallel = false;
  split.precision = catalog::Precision::fp16;
  const LayerWork work = listed(m, LayerKind::dense, split, kOddStyle, true);
  EXPECT_THAT(lines_of(work.forward),
              ElementsAre("1728 -> 1728", "1 x [12, 100, 48] fp16 forward",
                          "0.6 x 6 of 2 heads, 10 and 10 wide, 20 of 20, window 7 causal fp16",
                          "1 x [12, 48, 60] fp16 forward", "3456 -> 1728", "1728 -> 1728",
                          "1 x [12, 70, 48] fp16 forward", "2520 -> 2520",
                          "1 x [12, 48, 70] fp16 forward", "3456 -> 1728"));
  EXPECT_THAT(
      lines_of(work.dgrad),
      ElementsAre("3456 -> 1728", "1 x [12, 48, 100] fp16 dgrad",
                  "0.6 x 6 of 2 heads, 10 and 10 wide, 20 of 20, window 7 causal backward fp16",
                  "1 x [12, 60, 48] fp16 dgrad", "3456 -> 1728", "3456 -> 1728",
                  "1 x [12, 48, 70] fp16 dgrad", "5040 -> 2520", "1 x [12, 70, 48] fp16 dgrad",
                  "3456 -> 1728"));
  EXPECT_THAT(lines_of(work.norms), ElementsAre("1728 -> 1728", "1728 -> 1728"));
  EXPECT_DOUBLE_EQ(work.saved[Saved::mlp_up], 12 * 70 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::norm_output], 12 * 48 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::mlp_activation], 12 * 70 * 2);
}

// 6 heads x 3 sequences / 5 = 3.6 squares of 20 x 20 in 2 bytes: 2880, x 1.5 = 4320 a pass; the
// mask is half as much again.
TEST(LayerLists, attention_before_it_was_fused) {
  const KernelStyle style{.fused_attention = false,
                          .fused_pointwise = false,
                          .dropout = true,
                          .pointwise_traffic = 1.5};
  const LayerWork work = listed(odd_dense(), LayerKind::dense, kOddSplit, style);
  const Lines core = {"3.6 x [20, 20, 10] bf16 forward", "4320 -> 4320", "4320 -> 6480",
                      "3.6 x [20, 10, 20] bf16 forward"};
  EXPECT_EQ(lines_of(work.attention_core), core);
  Lines forward = {"864 -> 864", "1 x [12, 100, 48] bf16 forward", "2880 -> 2880"};
  forward.insert(forward.end(), core.begin(), core.end());
  // The gate's own activation apart from the product with it: one pass more.
  for (const char* line : {"1 x [12, 48, 60] bf16 forward", "1728 -> 864", "864 -> 864",
                           "1 x [12, 140, 48] bf16 forward", "5040 -> 2520", "2520 -> 2520",
                           "1 x [12, 48, 70] bf16 forward", "1728 -> 864"}) {
    forward.emplace_back(line);
  }
  EXPECT_EQ(lines_of(work.forward), forward);
  EXPECT_THAT(lines_of(work.dgrad),
              ElementsAre("1728 -> 864", "1 x [12, 48, 100] bf16 dgrad", "2880 -> 2880",
                          "3.6 x [20, 20, 10] bf16 dgrad", "3.6 x [20, 10, 20] bf16 wgrad",
                          "6480 -> 4320", "8640 -> 4320", "3.6 x [20, 10, 20] bf16 dgrad",
                          "3.6 x [20, 10, 20] bf16 wgrad", "1 x [12, 60, 48] bf16 dgrad",
                          "1728 -> 864", "1728 -> 864", "1 x [12, 48, 140] bf16 dgrad",
                          "7560 -> 5040", "1 x [12, 70, 48] bf16 dgrad", "1728 -> 864"));
  EXPECT_DOUBLE_EQ(work.saved[Saved::attention_scores], 2.5 * 2880);
  EXPECT_DOUBLE_EQ(work.saved[Saved::mlp_up], 12 * 140 * 2 + 12 * 70 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::dropout_masks], 2 * 6 * 48);
  // Without dropout neither the masks nor their passes.
  const KernelStyle whole{.fused_attention = false, .pointwise_traffic = 1.5};
  const LayerWork kept = listed(odd_dense(), LayerKind::attention, kOddSplit, whole);
  EXPECT_THAT(lines_of(kept.attention_core),
              ElementsAre("3.6 x [20, 20, 10] bf16 forward", "4320 -> 4320",
                          "3.6 x [20, 10, 20] bf16 forward"));
  EXPECT_DOUBLE_EQ(kept.saved[Saved::attention_scores], 2880);
  EXPECT_EQ(kept.dgrad.size(), 10);
}

// 12 / 2 = 6 tokens are routed here to 3 experts each, the fullest rank a quarter more: 22.5 rows,
// over the 2 experts of each of four ranks 11.25.
catalog::ModelShape odd_experts() {
  catalog::ModelShape m = odd_dense();
  m.experts = 8;
  m.top_k = 3;
  m.expert_ffn = 22;
  m.expert_hidden = 16;
  m.shared_experts = 2;
  m.shared_expert_ffn = 26;
  m.biased_experts = true;
  return m;
}

LayerSplit odd_expert_split() {
  LayerSplit split = kOddSplit;
  split.ep = 4;
  split.imbalance = 1.25;
  split.precision = catalog::Precision::fp8_block;
  return split;
}

// Blocks are quantised with 1.25 of the least traffic: 2.5 bytes in, 2.5 out an element.
TEST(LayerLists, products_of_experts_that_work_in_a_narrower_space) {
  const KernelStyle style{.pointwise_traffic = 1.5, .permute_traffic = 3};
  const LayerWork work = listed(odd_experts(), LayerKind::experts, odd_expert_split(), style);
  EXPECT_THAT(
      lines_of(work.forward),
      ElementsAre("864 -> 864", "1 x [6, 8, 48] bf16 forward", "1 x [6, 16, 48] fp8 forward",
                  "1 x [6, 48, 16] fp8 forward", "2 x [11.25, 44, 16] fp8 forward",
                  "2 x [11.25, 16, 22] fp8 forward", "1440 -> 1440", "1 x [12, 52, 48] fp8 forward",
                  "1872 -> 936", "780 -> 780", "1 x [12, 48, 26] fp8 forward", "1728 -> 864"));
  EXPECT_THAT(
      lines_of(work.dgrad),
      ElementsAre("1728 -> 864", "1 x [6, 48, 8] bf16 dgrad", "1 x [6, 48, 16] fp8 dgrad",
                  "1 x [6, 16, 48] fp8 dgrad", "2 x [11.25, 16, 44] fp8 dgrad",
                  "2 x [11.25, 22, 16] fp8 dgrad", "1560 -> 1560", "1 x [12, 48, 52] fp8 dgrad",
                  "2808 -> 1872", "1440 -> 1440", "1 x [12, 26, 48] fp8 dgrad", "1728 -> 864"));
  EXPECT_THAT(lines_of(work.wgrad),
              ElementsAre("1 x [48, 8, 6] bf16 wgrad", "1 x [48, 16, 6] fp8 wgrad",
                          "1 x [16, 48, 6] fp8 wgrad", "2 x [16, 44, 11.25] fp8 wgrad",
                          "2 x [22, 16, 11.25] fp8 wgrad", "1 x [48, 52, 12] fp8 wgrad",
                          "1 x [26, 48, 12] fp8 wgrad"));
}

// The router: 6 passes over 6 x 8 scores of 4 bytes x 1.5 = 1728. Moved: 22.5 x 16 x 2 x 3 = 2160,
// twice. Biases: 22.5 x 44 x 2 = 1980 up and 22.5 x 16 x 2 = 720 down.
TEST(LayerLists, passes_over_memory_of_routing_and_experts) {
  const KernelStyle style{.pointwise_traffic = 1.5, .permute_traffic = 3};
  const LayerWork work = listed(odd_experts(), LayerKind::experts, odd_expert_split(), style);
  EXPECT_THAT(
      lines_of(work.expert_forward),
      ElementsAre("1728 -> 1728", "720 -> 720", "240 -> 240", "2160 -> 2160", "2160 -> 2160",
                  "900 -> 900", "2970 -> 1485", "7020 -> 7020", "1237.5 -> 1237.5"));
  EXPECT_THAT(
      lines_of(work.expert_dgrad),
      ElementsAre("1728 -> 1728", "240 -> 240", "720 -> 720", "2160 -> 2160", "2160 -> 2160",
                  "2475 -> 2475", "4455 -> 2970", "11070 -> 4050", "900 -> 900"));
  EXPECT_THAT(lines_of(work.expert_activation), ElementsAre("2970 -> 1485"));
  EXPECT_THAT(lines_of(work.norms), ElementsAre("864 -> 864"));
  EXPECT_EQ(work.mixer_forward + work.mixer_dgrad + work.mixer_wgrad, 0);
  const SavedBytes& s = work.saved;
  EXPECT_DOUBLE_EQ(s[Saved::layer_input], 6 * 48 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::norm_output], 0);
  EXPECT_DOUBLE_EQ(s[Saved::mlp_input], 6 * 48);
  EXPECT_DOUBLE_EQ(s[Saved::routed_tokens], 22.5 * 16);
  EXPECT_DOUBLE_EQ(s[Saved::mlp_up], 22.5 * 44 * 2 + 12 * 52 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::mlp_activation], 22.5 * 22 + 12 * 26);
  EXPECT_DOUBLE_EQ(s.total(), 576 + 288 + 360 + 1980 + 1248 + 495 + 312);
  EXPECT_DOUBLE_EQ(work.messages.ep_tensor.base(), 720);
  EXPECT_DOUBLE_EQ(work.messages.tp_tensor.base(), 12 * 48 * 2);
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 1);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 0);
}

TEST(LayerLists, experts_of_the_models_own_width_have_no_projections) {
  catalog::ModelShape m = odd_experts();
  m.expert_hidden = 0;
  m.shared_experts = 0;
  m.biased_experts = false;
  LayerSplit split = odd_expert_split();
  split.precision = catalog::Precision::bf16;
  split.ep = 16;  // more ranks than experts: each still has a whole one
  const LayerWork work = listed(m, LayerKind::experts, split);
  EXPECT_THAT(
      lines_of(work.forward),
      ElementsAre("864 -> 864", "1 x [6, 8, 48] bf16 forward", "1 x [22.5, 44, 48] bf16 forward",
                  "1 x [22.5, 48, 22] bf16 forward", "1728 -> 864"));
  EXPECT_THAT(lines_of(work.expert_forward),
              ElementsAre("1728 -> 1728", "2160 -> 2160", "2160 -> 2160", "2970 -> 1485"));
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 0) << "no block of theirs is split";
  EXPECT_DOUBLE_EQ(work.saved[Saved::routed_tokens], 22.5 * 48 * 2);
}

}  // namespace
}  // namespace orrery::workload
