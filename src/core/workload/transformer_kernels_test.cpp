// A layer's operations, kernel by kernel: products, attention and memory passes of each mixer.
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

// Width 48; 12 heads of 10 with 4 KV heads; a gated MLP of 140; a vocabulary of 330.
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

// T = 3 x 20 / 5 = 12 tokens inside a block of two ranks; 6 per rank between blocks.
const LayerSplit kOddSplit{.microbatch = 3, .sequence = 20, .tp = 2, .cp = 5};
// Pointwise kernels move 1.5 times the minimum traffic.
const KernelStyle kOddStyle{.pointwise_traffic = 1.5};

LayerWork listed(const catalog::ModelShape& m, LayerKind kind, const LayerSplit& split,
                 const KernelStyle& style = kOddStyle, bool windowed = false) {
  LayerWork work;
  fill_layer_work(m, kind, windowed, split, style, work);
  return work;
}

// Norm: 6 x 48 x 2 bytes x 1.5 = 864. Queries, keys, values: (6 + 2 x 2) x 10 = 100. Rope: 12 x 8
// heads x 10 x 2 x 1.5 = 2880. Gate and up: 2 x 70; activation: 12 x 70 x 2 x 1.5 = 2520 per
// tensor.
TEST(TransformerKernels, dense_bf16_layer) {
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

// An ungated MLP has one up product, and its layer has no rope. All 12 tokens between blocks: 12 x
// 48 x 2 x 1.5 = 1728. The window of 7 limits attention.
TEST(TransformerKernels, dense_fp16_layer_without_sequence_parallelism) {
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

// 6 heads x 3 sequences / 5 = 3.6 squares of 20 x 20 in 2 bytes: 2880, x 1.5 = 4320 per pass; the
// mask adds half of that.
TEST(TransformerKernels, unfused_attention) {
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
  // The gate's activation is separate from its product: one more pass.
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
  // Without dropout there are neither masks nor their passes.
  const KernelStyle whole{.fused_attention = false, .pointwise_traffic = 1.5};
  const LayerWork kept = listed(odd_dense(), LayerKind::attention, kOddSplit, whole);
  EXPECT_THAT(lines_of(kept.attention_core),
              ElementsAre("3.6 x [20, 20, 10] bf16 forward", "4320 -> 4320",
                          "3.6 x [20, 10, 20] bf16 forward"));
  EXPECT_DOUBLE_EQ(kept.saved[Saved::attention_scores], 2880);
  EXPECT_EQ(kept.dgrad.size(), 10);
}

// 12 / 2 = 6 tokens are routed here to 3 experts each, the busiest rank gets a quarter more: 22.5
// rows; over the 2 experts of each of four ranks that is 11.25 per expert.
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

// Quantising blocks takes 1.25 times the minimum traffic: 2.5 bytes in and 2.5 out per element.
TEST(TransformerKernels, narrow_expert_products) {
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
TEST(TransformerKernels, routing_and_expert_memory_passes) {
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

TEST(TransformerKernels, full_width_experts_have_no_projections) {
  catalog::ModelShape m = odd_experts();
  m.expert_hidden = 0;
  m.shared_experts = 0;
  m.biased_experts = false;
  LayerSplit split = odd_expert_split();
  split.precision = catalog::Precision::bf16;
  split.ep = 16;  // more ranks than experts: each still has a whole expert
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

// Writes products as "m x k x n format", attention by its heads and widths, passes by their bytes.
std::string brief(const Operation& op) {
  if (const auto* g = std::get_if<Gemm>(&op)) {
    return fmt::format("{} x {} x {} {}{}", g->m, g->k, g->n, to_text(g->dtype),
                       g->groups == 1 ? "" : fmt::format(" of {}", g->groups));
  }
  if (const auto* a = std::get_if<Attention>(&op)) {
    return fmt::format("{} {} heads of {} and {} {}", a->q_heads, a->kv_heads, a->qk_dim, a->v_dim,
                       a->window);
  }
  const auto& p = std::get<MemoryPass>(op);
  return fmt::format("{} -> {}", p.read.base(), p.written.base());
}

std::vector<std::string> briefs(const OpList& list) {
  std::vector<std::string> all;
  for (const Operation& op : list.items()) all.push_back(brief(op));
  return all;
}

catalog::ModelShape uneven() {
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

catalog::ModelShape uneven_latent() {
  catalog::ModelShape m = uneven();
  m.attention = catalog::AttentionKind::mla;
  m.q_lora_rank = 36;
  m.kv_lora_rank = 14;
  m.qk_nope_dim = 8;
  m.qk_rope_dim = 3;
  m.v_head_dim = 5;
  return m;
}

catalog::ModelShape uneven_scan() {
  catalog::ModelShape m = uneven();
  m.state_space_layers = 4;
  m.scan_heads = 10;
  m.scan_head_dim = 7;
  m.scan_state = 9;
  m.scan_groups = 6;
  return m;
}

LayerSplit split_in(catalog::Precision precision) {
  return {.microbatch = 3, .sequence = 20, .tp = 2, .cp = 5, .precision = precision};
}

LayerWork mixer(const catalog::ModelShape& m, LayerKind kind, const LayerSplit& split,
                double scan_traffic = 1) {
  LayerWork work;
  const KernelStyle style{.pointwise_traffic = 1.5, .scan_traffic = scan_traffic};
  fill_layer_work(m, kind, true, split, style, work);
  return work;
}

// Quantising rows takes 2.5 times the minimum traffic: 5 bytes in and 5 out per element. Six heads
// of 8 + 3 and 5; 6 tokens between blocks, 12 inside.
TEST(TransformerKernels, latent_attention) {
  const LayerWork work =
      mixer(uneven_latent(), LayerKind::attention, split_in(catalog::Precision::fp8_row));
  EXPECT_THAT(
      briefs(work.forward),
      ElementsAre("864 -> 864", "1440 -> 1440", "6 x 48 x 36 fp8", "648 -> 648", "2160 -> 2160",
                  "12 x 36 x 66 fp8", "6 x 48 x 17 fp8", "252 -> 252", "840 -> 840",
                  "12 x 14 x 78 fp8", "4752 -> 4752", "6 6 heads of 11 and 5 0", "1800 -> 1800",
                  "12 x 30 x 48 fp8", "1728 -> 864"));
  EXPECT_THAT(
      briefs(work.dgrad),
      ElementsAre("1728 -> 864", "1080 -> 1080", "6 x 36 x 48 fp8", "1296 -> 648", "3960 -> 3960",
                  "12 x 66 x 36 fp8", "510 -> 510", "6 x 17 x 48 fp8", "504 -> 252", "4680 -> 4680",
                  "12 x 78 x 14 fp8", "4752 -> 4752", "6 6 heads of 11 and 5 0", "2880 -> 2880",
                  "12 x 48 x 30 fp8", "1728 -> 864"));
  EXPECT_THAT(briefs(work.wgrad),
              ElementsAre("48 x 6 x 36 fp8", "36 x 12 x 66 fp8", "48 x 6 x 17 fp8",
                          "14 x 12 x 78 fp8", "30 x 12 x 48 fp8"));
  EXPECT_THAT(briefs(work.latent_up), ElementsAre("12 x 36 x 66 fp8", "12 x 14 x 78 fp8"));
  EXPECT_DOUBLE_EQ(work.saved[Saved::qkv], 12 * 6 * (2 * 11 + 5) * 2 + 2 * 6 * (36 + 14) * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::attention_output], 12 * 30 * 3);
  EXPECT_DOUBLE_EQ(work.saved[Saved::attention_scores], 12 * 6 * 4);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 12 * 6 * 2 * (8 + 3 + 5));
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 1);
}

TEST(TransformerKernels, latent_attention_without_query_latent) {
  catalog::ModelShape m = uneven_latent();
  m.q_lora_rank = 0;
  const LayerWork work = mixer(m, LayerKind::attention, split_in(catalog::Precision::bf16));
  EXPECT_THAT(briefs(work.forward),
              ElementsAre("864 -> 864", "12 x 48 x 66 bf16", "6 x 48 x 17 bf16", "252 -> 252",
                          "12 x 14 x 78 bf16", "4752 -> 4752", "6 6 heads of 11 and 5 0",
                          "12 x 30 x 48 bf16", "1728 -> 864"));
  EXPECT_THAT(briefs(work.latent_up), ElementsAre("12 x 14 x 78 bf16"));
  EXPECT_DOUBLE_EQ(work.saved[Saved::qkv], 12 * 6 * (2 * 11 + 5) * 2 + 2 * 6 * 14 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::attention_output], 12 * 30 * 2);
}

// 5 heads of 7: 35. B and C of three groups of 9: 54. In: 2 x 35 + 54 + 5 = 129. Quantising to four
// bits takes 1.5 times 2 bytes in and 1 out; the output product in eight bits takes 1.25 times 2
// and 2. Inputs 12 x 35 x 2 = 840 and 12 x 54 x 2 = 1296, states 12 / 128 x 35 x 9 x 4 = 118.125;
// the scan moves twice its minimum: in (2 x 2136 + 236.25) x 2, out (840 + 236.25) x 2.
TEST(TransformerKernels, nvfp4_scan) {
  const LayerWork work =
      mixer(uneven_scan(), LayerKind::state_space, split_in(catalog::Precision::nvfp4), 2);
  EXPECT_THAT(briefs(work.forward), ElementsAre("864 -> 864", "1728 -> 864", "12 x 48 x 129 fp4",
                                                "3204 -> 3204", "9016.5 -> 2152.5", "2520 -> 1260",
                                                "1050 -> 1050", "12 x 35 x 48 fp8", "1728 -> 864"));
  EXPECT_THAT(briefs(work.dgrad), ElementsAre("1728 -> 864", "4644 -> 2322", "12 x 129 x 48 fp4",
                                              "6408 -> 3204", "22541.25 -> 5381.25", "3780 -> 2520",
                                              "1440 -> 1440", "12 x 48 x 35 fp8", "1728 -> 864"));
  EXPECT_THAT(briefs(work.wgrad), ElementsAre("48 x 12 x 129 fp4", "35 x 12 x 48 fp8"));
  EXPECT_DOUBLE_EQ(work.saved[Saved::qkv], 12 * 129 * 2 + 12 * 89 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::attention_output], 840 * 1.25);
  EXPECT_DOUBLE_EQ(work.saved[Saved::norm_output], 6 * 48 * 0.5);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 0);
  EXPECT_EQ(work.mixer_forward, work.forward.size());
  // A group cannot be divided: in 2 x 35 + 2 x 1 x 9 + 5 = 93.
  catalog::ModelShape one = uneven_scan();
  one.scan_groups = 1;
  const LayerWork whole = mixer(one, LayerKind::state_space, split_in(catalog::Precision::bf16), 2);
  EXPECT_EQ(briefs(whole.forward)[1], "12 x 48 x 93 bf16");
  EXPECT_DOUBLE_EQ(whole.saved[Saved::attention_output], 840);
}

// Attention and the projections into the experts' space stay in 16 bits; after them products are in
// 4 bits again.
TEST(TransformerKernels, nvfp4_hybrid_formats) {
  catalog::ModelShape m = uneven_scan();
  m.experts = 8;
  m.top_k = 3;
  m.expert_ffn = 22;
  m.expert_hidden = 16;
  const LayerWork work = mixer(m, LayerKind::experts, split_in(catalog::Precision::nvfp4));
  EXPECT_THAT(briefs(work.forward),
              ElementsAre("864 -> 864", "6 x 48 x 8 bf16", "6 x 48 x 16 bf16", "6 x 16 x 48 bf16",
                          "2.25 x 16 x 44 fp4 of 8", "2.25 x 22 x 16 fp4 of 8", "1728 -> 864"));
  // Only the experts' own inputs are quantised: 18 x 16 and 18 x 22 elements, 3 bytes in, 1.5 out.
  EXPECT_THAT(briefs(work.expert_forward),
              ElementsAre("1728 -> 1728", "576 -> 576", "576 -> 576", "864 -> 432", "2376 -> 1188",
                          "1188 -> 594"));
  const LayerWork mixed = mixer(m, LayerKind::attention, split_in(catalog::Precision::nvfp4));
  EXPECT_THAT(briefs(mixed.forward),
              ElementsAre("864 -> 864", "12 x 48 x 100 bf16", "2880 -> 2880",
                          "6 2 heads of 10 and 10 0", "12 x 60 x 48 bf16", "1728 -> 864"));
}

// With queries, keys and values: 12 x (48 + 100) x 2 in and 12 x 100 x 2 out, x 1.5; backward 12 x
// (2 x 48 + 100) x 2 in and 12 x 48 x 2 out.
TEST(TransformerKernels, adapters_on_attention) {
  LayerSplit split = split_in(catalog::Precision::bf16);
  split.frozen = true;
  split.adapters_on_mlp = true;
  const LayerWork work = mixer(uneven(), LayerKind::attention, split);
  EXPECT_THAT(
      briefs(work.forward),
      ElementsAre("864 -> 864", "12 x 48 x 100 bf16", "5328 -> 3600", "2880 -> 2880",
                  "6 2 heads of 10 and 10 0", "12 x 60 x 48 bf16", "3888 -> 1728", "1728 -> 864"));
  EXPECT_THAT(briefs(work.dgrad), ElementsAre("1728 -> 864", "12 x 100 x 48 bf16", "7056 -> 1728",
                                              "2880 -> 2880", "6 2 heads of 10 and 10 0",
                                              "12 x 48 x 60 bf16", "6048 -> 2160", "1728 -> 864"));
  EXPECT_THAT(briefs(work.wgrad), IsEmpty());
  // With an MLP, if requested: 12 x (48 + 140) x 2 x 1.5 in, 12 x 140 x 2 x 1.5 out.
  EXPECT_EQ(briefs(mixer(uneven(), LayerKind::mlp, split).forward)[2], "6768 -> 5040");
  split.adapters_on_mlp = false;
  EXPECT_EQ(mixer(uneven(), LayerKind::mlp, split).forward.size(), 5) << "none";
}

// With the experts' products, over the 18 rows of all eight: 18 x (48 + 44) x 2 x 1.5 in and 18 x
// 44 x 3 out, then 18 x (22 + 48) x 3 in and 18 x 48 x 3 out. Backward 18 x (2 x 22 + 48) x 3 in
// and 18 x 22 x 3 out, then 18 x (2 x 48 + 44) x 3 in and 18 x 48 x 3 out.
TEST(TransformerKernels, frozen_experts_have_adapters_and_no_gradients) {
  catalog::ModelShape m = uneven();
  m.experts = 8;
  m.top_k = 3;
  m.expert_ffn = 22;
  LayerSplit split = split_in(catalog::Precision::bf16);
  split.frozen = true;
  split.adapters_on_mlp = true;
  const LayerWork work = mixer(m, LayerKind::experts, split);
  EXPECT_THAT(briefs(work.forward),
              ElementsAre("864 -> 864", "6 x 48 x 8 bf16", "2.25 x 48 x 44 bf16 of 8",
                          "2.25 x 22 x 48 bf16 of 8", "1728 -> 864"));
  EXPECT_THAT(briefs(work.expert_forward),
              ElementsAre("1728 -> 1728", "1728 -> 1728", "1728 -> 1728", "4968 -> 2376",
                          "2376 -> 1188", "3780 -> 2592"));
  EXPECT_THAT(briefs(work.expert_dgrad),
              ElementsAre("1728 -> 1728", "1728 -> 1728", "1728 -> 1728", "7560 -> 2592",
                          "3564 -> 2376", "4968 -> 1188"));
  EXPECT_THAT(briefs(work.wgrad), IsEmpty());
  split.adapters_on_mlp = false;
  EXPECT_EQ(mixer(m, LayerKind::experts, split).expert_forward.size(), 4)
      << "scores, two moves, activation";
}

// 12 tokens x 165 vocabulary entries of this rank; each pass moves a third of 18 bytes.
TEST(TransformerKernels, embedding_and_head) {
  const LayerSplit split = split_in(catalog::Precision::fp8);
  EndWork end;
  fill_head_work(uneven(), split, {.pointwise_traffic = 1.5, .loss_bytes = 18}, end);
  EXPECT_THAT(briefs(end.forward), ElementsAre("864 -> 864", "12 x 48 x 165 bf16", "11880 -> 0"));
  EXPECT_THAT(briefs(end.dgrad),
              ElementsAre("1728 -> 864", "12 x 165 x 48 bf16", "11880 -> 11880"));
  EXPECT_THAT(briefs(end.wgrad), ElementsAre("48 x 12 x 165 bf16"));
  EXPECT_EQ(end.logits, Bytes(12 * 165 * 2));
  fill_embedding_work(uneven(), split, end);
  EXPECT_THAT(briefs(end.forward), ElementsAre("1152 -> 1152"));
  EXPECT_THAT(briefs(end.dgrad), ElementsAre("2304 -> 1152"));
  EXPECT_THAT(briefs(end.wgrad), IsEmpty());
  EXPECT_EQ(end.logits, Bytes(0));
  fill_head_work(uneven(), split, {}, end);
  EXPECT_EQ(end.forward.size() + end.dgrad.size() + end.wgrad.size(), 7);
}

// Default traffic of quantising 12 x 48 elements: 2 bytes in, two copies out, times the precision's
// factor 1, 2.5, 1.25, 1.25 or 1.5.
TEST(TransformerKernels, quantisation_traffic_by_precision) {
  const auto first = [](catalog::Precision p) {
    LayerWork work;
    fill_layer_work(uneven(), LayerKind::mlp, false, split_in(p), {}, work);
    return briefs(work.forward)[1];
  };
  using enum catalog::Precision;
  EXPECT_EQ(first(fp8), "1152 -> 1152");
  EXPECT_EQ(first(fp8_row), "2880 -> 2880");
  EXPECT_EQ(first(fp8_block), "1440 -> 1440");
  EXPECT_EQ(first(mxfp8), "1440 -> 1440");
  EXPECT_EQ(first(nvfp4), "1728 -> 864");
  EXPECT_EQ(first(bf16), "12 x 48 x 140 bf16") << "none";
  EXPECT_EQ(first(fp16), "12 x 48 x 140 fp16");
}

TEST(TransformerKernels, product_formats_by_precision) {
  using enum catalog::Precision;
  using catalog::Dtype;
  for (const auto p : {fp8, fp8_row, fp8_block, mxfp8}) EXPECT_EQ(product_dtype(p), Dtype::fp8);
  for (const auto p : {fp32, tf32, bf16}) EXPECT_EQ(product_dtype(p), Dtype::bf16);
  for (const auto p : {nvfp4, int4}) EXPECT_EQ(product_dtype(p), Dtype::fp4);
  EXPECT_EQ(product_dtype(int8), Dtype::int8);
  for (const auto p : {fp16, fp8, fp8_row, fp8_block, nvfp4}) EXPECT_EQ(modelled(p), p);
  for (const auto p : {fp8, fp8_row, fp8_block, mxfp8, nvfp4}) EXPECT_TRUE(is_quantised(p));
}

}  // namespace
}  // namespace orrery::workload
