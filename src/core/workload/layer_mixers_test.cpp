// Mixers other than plain attention, adapters, and the two ends of a model: kernel by kernel.
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

// Products as "m x k x n format", attention by its heads and widths, passes by their bytes.
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

// Rows are quantised with 2.5 of the least traffic: 5 bytes in and 5 out an element. Six heads of
// 8 + 3 and 5; 6 tokens between blocks, 12 inside.
TEST(LayerMixers, latent_attention_kernel_by_kernel) {
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

TEST(LayerMixers, latent_attention_whose_queries_come_from_the_stream) {
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

// 5 heads of 7: 35. Three groups' B and C of 9: 54. In: 2 x 35 + 54 + 5 = 129. Four bits are
// quantised with 1.5 of 2 bytes in and 1 out; the product out in eight with 1.25 of 2 and 2.
// Inputs 12 x 35 x 2 = 840 and 12 x 54 x 2 = 1296, states 12 / 128 x 35 x 9 x 4 = 118.125;
// the scan moves twice its least: in (2 x 2136 + 236.25) x 2, out (840 + 236.25) x 2.
TEST(LayerMixers, a_scan_in_four_bits_kernel_by_kernel) {
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
  // A group is not divided: in 2 x 35 + 2 x 1 x 9 + 5 = 93.
  catalog::ModelShape one = uneven_scan();
  one.scan_groups = 1;
  const LayerWork whole = mixer(one, LayerKind::state_space, split_in(catalog::Precision::bf16), 2);
  EXPECT_EQ(briefs(whole.forward)[1], "12 x 48 x 93 bf16");
  EXPECT_DOUBLE_EQ(whole.saved[Saved::attention_output], 840);
}

// Attention and the ways into the experts' space stay in sixteen bits, and after them it is four
// again.
TEST(LayerMixers, formats_of_a_hybrid_in_four_bits) {
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

// Beside queries, keys and values 12 x (48 + 100) x 2 in and 12 x 100 x 2 out, x 1.5; backward
// 12 x (2 x 48 + 100) x 2 in and 12 x 48 x 2 out.
TEST(LayerMixers, adapters_kernel_by_kernel) {
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
  // Beside an MLP as told: 12 x (48 + 140) x 2 x 1.5 in, 12 x 140 x 2 x 1.5 out.
  EXPECT_EQ(briefs(mixer(uneven(), LayerKind::mlp, split).forward)[2], "6768 -> 5040");
  split.adapters_on_mlp = false;
  EXPECT_EQ(mixer(uneven(), LayerKind::mlp, split).forward.size(), 5) << "none";
}

// Beside the experts' products, over the 18 rows of all eight: 18 x (48 + 44) x 2 x 1.5 in and
// 18 x 44 x 3 out, then 18 x (22 + 48) x 3 in and 18 x 48 x 3 out. Backward 18 x (2 x 22 + 48) x 3
// in and 18 x 22 x 3 out, then 18 x (2 x 48 + 44) x 3 in and 18 x 48 x 3 out.
TEST(LayerMixers, frozen_experts_have_adapters_where_told_and_no_gradients) {
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

// One list is used for layer after layer: nothing of the one before is left.
TEST(LayerMixers, what_was_in_the_lists_before_is_gone) {
  catalog::ModelShape m = uneven_latent();
  m.experts = 8;
  m.top_k = 3;
  m.expert_ffn = 22;
  const LayerSplit split = split_in(catalog::Precision::bf16);
  const LayerWork fresh = mixer(uneven_scan(), LayerKind::state_space, split);
  LayerWork used;
  const KernelStyle style{.pointwise_traffic = 1.5};
  fill_layer_work(m, LayerKind::moe, false, split, style, used);
  EXPECT_GT(used.latent_up.size() * used.expert_dgrad.size() * used.expert_activation.size(), 0);
  fill_layer_work(uneven_scan(), LayerKind::state_space, false, split, style, used);
  for (const auto list :
       {&LayerWork::forward, &LayerWork::dgrad, &LayerWork::wgrad, &LayerWork::expert_forward,
        &LayerWork::expert_dgrad, &LayerWork::attention_core, &LayerWork::latent_up,
        &LayerWork::norms, &LayerWork::expert_activation}) {
    EXPECT_EQ(briefs(used.*list), briefs(fresh.*list));
  }
  EXPECT_EQ(used.saved.bytes, fresh.saved.bytes);
  EXPECT_EQ(used.messages.ep_tensor, Bytes(0));
  EXPECT_EQ(used.messages.cp_tensor, Bytes(0));
}

// 12 tokens x 165 words of this rank; a third of 18 bytes each a pass.
TEST(LayerMixers, both_ends_kernel_by_kernel) {
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

// Traffic of quantising 12 x 48 elements by default: 2 bytes in, two copies out, times the
// precision's factor 1, 2.5, 1.25, 1.25 or 1.5.
TEST(LayerMixers, each_precision_has_its_own_traffic_to_quantise) {
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

TEST(LayerMixers, formats_of_products_by_precision) {
  using enum catalog::Precision;
  using catalog::Dtype;
  for (const auto p : {fp8, fp8_row, fp8_block, mxfp8}) EXPECT_EQ(product_dtype(p), Dtype::fp8);
  for (const auto p : {fp32, tf32, bf16}) EXPECT_EQ(product_dtype(p), Dtype::bf16);
  for (const auto p : {nvfp4, int4}) EXPECT_EQ(product_dtype(p), Dtype::fp4);
  EXPECT_EQ(product_dtype(int8), Dtype::int8);
  for (const auto p : {fp16, fp8, fp8_row, fp8_block, nvfp4}) EXPECT_EQ(modelled(p), p);
  for (const auto p : {fp8, fp8_row, fp8_block, mxfp8, nvfp4}) EXPECT_TRUE(is_quantised(p));
}

TEST(LayerMixers, saved_tensors_by_their_names) {
  EXPECT_STREQ(to_text(Saved::layer_input), "layer input");
  EXPECT_STREQ(to_text(Saved::norm_output), "norm output");
  EXPECT_STREQ(to_text(Saved::qkv), "queries, keys, values");
  EXPECT_STREQ(to_text(Saved::attention_output), "attention output");
  EXPECT_STREQ(to_text(Saved::attention_scores), "softmax");
  EXPECT_STREQ(to_text(Saved::mlp_input), "MLP input");
  EXPECT_STREQ(to_text(Saved::mlp_up), "MLP up projection");
  EXPECT_STREQ(to_text(Saved::mlp_activation), "MLP activation");
  EXPECT_STREQ(to_text(Saved::routed_tokens), "routed tokens");
  EXPECT_STREQ(to_text(Saved::dropout_masks), "dropout masks");
}

TEST(LayerMixers, a_hybrid_whose_every_layer_feeds) {
  catalog::ModelShape m = uneven_scan();  // 9 layers, 4 of them scans
  const auto parts = hybrid_parts(m, LayerKind::dense);
  EXPECT_EQ(parts[0].layers, 4);
  EXPECT_EQ(parts[1].layers, 5);
  EXPECT_EQ(parts[2].layers, 9);
  EXPECT_EQ(LayerShare{}.layers, 0);
}

// A split or a style of which nothing else is said.
TEST(LayerMixers, a_split_is_of_one_rank_unless_told) {
  const LayerSplit s;
  EXPECT_EQ(s.microbatch, 1);
  EXPECT_EQ(s.sequence, 0);
  EXPECT_EQ(s.tp * s.cp * s.ep, 1);
  EXPECT_TRUE(s.sequence_parallel);
  EXPECT_EQ(s.imbalance, 1);
  EXPECT_FALSE(s.frozen || s.adapters_on_mlp);
  const KernelStyle k;
  EXPECT_TRUE(k.fused_attention && k.fused_pointwise && !k.dropout);
  EXPECT_EQ(k.pointwise_traffic * k.permute_traffic * k.scan_traffic, 1);
  EXPECT_EQ(k.loss_bytes, 16);
  EXPECT_EQ(LayerMessages{}.tp_exchanges, 0);
  const LayerWork none;
  EXPECT_EQ(none.forward.size() + none.mixer_forward + none.mixer_dgrad + none.mixer_wgrad, 0);
}

}  // namespace
}  // namespace orrery::workload
