// A layer's saved tensors, messages and passes over memory, tensor by tensor as a reader of the
// papers would count them (Korthikanti et al., arXiv 2205.05198, with flash attention).
#include <gtest/gtest.h>

#include "core/workload/model_math.h"
#include "core/workload/transformer.h"

namespace orrery::workload {
namespace {

// 1,024 wide, 16 heads of 64 of which 4 are of keys, a gated MLP of 4,096.
catalog::ModelShape small_dense() {
  catalog::ModelShape m;
  m.layers = 8;
  m.hidden = 1024;
  m.heads = 16;
  m.kv_heads = 4;
  m.head_dim = 64;
  m.ffn = 4096;
  m.vocab = 32000;
  return m;
}

catalog::ModelShape small_experts() {
  catalog::ModelShape m = small_dense();
  m.experts = 16;
  m.top_k = 2;
  m.expert_ffn = 512;
  return m;
}

// DeepSeek's attention, small.
catalog::ModelShape small_latent() {
  catalog::ModelShape m = small_dense();
  m.attention = catalog::AttentionKind::mla;
  m.kv_heads = 16;
  m.q_lora_rank = 384;
  m.kv_lora_rank = 128;
  m.qk_nope_dim = 32;
  m.qk_rope_dim = 16;
  m.v_head_dim = 48;
  return m;
}

struct Moved {
  double read = 0;
  double written = 0;
};

Moved moved_by(const OpList& list) {
  Moved sum;
  for (const Operation& op : list.items()) {
    if (const auto* pass = std::get_if<MemoryPass>(&op)) {
      sum.read += pass->read.base();
      sum.written += pass->written.base();
    }
  }
  return sum;
}

double computed_by(const OpList& list) {
  double sum = 0;
  for (const Operation& op : list.items()) sum += flops_of(op).base();
  return sum;
}

LayerWork layer(const catalog::ModelShape& m, LayerKind kind, const LayerSplit& split,
                const KernelStyle& style = {}, bool windowed = false) {
  LayerWork work;
  fill_layer_work(m, kind, windowed, split, style, work);
  return work;
}

// T = 2 x 512 / 2 = 512 tokens inside a block of four ranks, 128 of them between blocks.
constexpr LayerSplit kSplit{.microbatch = 2, .sequence = 512, .tp = 4, .cp = 2};
constexpr double kT = 512, kLocal = 128;

TEST(LayerLaws, sixteen_bit_tensors_that_backward_reads_again) {
  const SavedBytes s = layer(small_dense(), LayerKind::dense, kSplit).saved;
  EXPECT_DOUBLE_EQ(s[Saved::layer_input], 2 * kLocal * 1024 * 2) << "of both norms";
  EXPECT_DOUBLE_EQ(s[Saved::norm_output], kLocal * 1024 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::mlp_input], kLocal * 1024 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::qkv], kT * (4 + 2 * 1) * 64 * 2) << "4 of 16 and 1 of 4 heads";
  EXPECT_DOUBLE_EQ(s[Saved::attention_output], kT * 4 * 64 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::attention_scores], kT * 4 * 4) << "a logarithm of a sum in fp32";
  EXPECT_DOUBLE_EQ(s[Saved::mlp_up], kT * 2 * 1024 * 2) << "gate and up, a quarter of each";
  EXPECT_DOUBLE_EQ(s[Saved::mlp_activation], kT * 1024 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::routed_tokens] + s[Saved::dropout_masks], 0);
}

TEST(LayerLaws, without_sequence_parallelism_every_rank_keeps_all_tokens) {
  LayerSplit split = kSplit;
  split.sequence_parallel = false;
  const SavedBytes s = layer(small_dense(), LayerKind::dense, split).saved;
  EXPECT_DOUBLE_EQ(s[Saved::layer_input], 2 * kT * 1024 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::norm_output], kT * 1024 * 2);
}

// Inputs of products are kept in eight bits, what stays out of them in sixteen; flash attention
// needs its output in sixteen beside the product's copy.
TEST(LayerLaws, eight_bit_products_keep_eight_bit_inputs) {
  LayerSplit split = kSplit;
  split.precision = catalog::Precision::fp8;
  const SavedBytes s = layer(small_dense(), LayerKind::dense, split).saved;
  EXPECT_DOUBLE_EQ(s[Saved::norm_output], kLocal * 1024);
  EXPECT_DOUBLE_EQ(s[Saved::mlp_activation], kT * 1024);
  EXPECT_DOUBLE_EQ(s[Saved::attention_output], kT * 4 * 64 * 3);
  EXPECT_DOUBLE_EQ(s[Saved::layer_input], 2 * kLocal * 1024 * 2);
}

// Quantising reads sixteen bits and writes the tensor and its transpose in eight; forward the
// inputs of the four products, backward the gradients of their outputs.
TEST(LayerLaws, an_eight_bit_operand_is_read_once_and_written_twice) {
  LayerSplit split = kSplit;
  const LayerWork wide = layer(small_dense(), LayerKind::dense, split);
  split.precision = catalog::Precision::fp8;
  const LayerWork narrow = layer(small_dense(), LayerKind::dense, split);
  const double inputs = kT * (1024 + 4 * 64 + 1024 + 1024);
  EXPECT_DOUBLE_EQ(moved_by(narrow.forward).read - moved_by(wide.forward).read, 2 * inputs);
  EXPECT_DOUBLE_EQ(moved_by(narrow.forward).written - moved_by(wide.forward).written, 2 * inputs);
  const double outputs = kT * (6 * 64 + 1024 + 2 * 1024 + 1024);
  EXPECT_DOUBLE_EQ(moved_by(narrow.dgrad).read - moved_by(wide.dgrad).read, 2 * outputs);
  EXPECT_DOUBLE_EQ(moved_by(narrow.dgrad).written - moved_by(wide.dgrad).written, 2 * outputs);
}

// Norm: in and out; rope: queries and keys; residual: two in, one out; activation: gate and up in,
// one out. Backward of a norm reads two, of the activation three and writes two.
TEST(LayerLaws, passes_between_products_move_each_tensor_once) {
  const LayerWork work = layer(small_dense(), LayerKind::dense, kSplit);
  const double stream = kLocal * 1024 * 2, rope = kT * 5 * 64 * 2, mlp = kT * 1024 * 2;
  EXPECT_DOUBLE_EQ(moved_by(work.forward).read, 2 * stream + rope + 2 * 2 * stream + 2 * mlp);
  EXPECT_DOUBLE_EQ(moved_by(work.forward).written, 2 * stream + rope + 2 * stream + mlp);
  EXPECT_DOUBLE_EQ(moved_by(work.dgrad).read, 2 * 2 * stream + rope + 2 * 2 * stream + 3 * mlp);
  EXPECT_DOUBLE_EQ(moved_by(work.dgrad).written, 2 * stream + rope + 2 * stream + 2 * mlp);
}

// Fewer key heads than ranks: each keeps a whole one.
TEST(LayerLaws, a_head_of_keys_is_not_divided) {
  LayerSplit split = kSplit;
  split.tp = 8;
  const LayerWork work = layer(small_dense(), LayerKind::dense, split);
  EXPECT_DOUBLE_EQ(work.saved[Saved::qkv], kT * (2 + 2 * 1) * 64 * 2);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 2 * kT * 1 * 64 * 2);
}

TEST(LayerLaws, messages_are_the_tensors_at_the_edges) {
  const LayerWork work = layer(small_dense(), LayerKind::dense, kSplit);
  EXPECT_DOUBLE_EQ(work.messages.tp_tensor.base(), kT * 1024 * 2);
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 2);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 2 * kT * 1 * 64 * 2) << "keys and values";
  EXPECT_DOUBLE_EQ(work.messages.ep_tensor.base(), 0);
  // Queries, keys and values of DeepSeek's heads are made whole before they go round.
  const LayerWork latent = layer(small_latent(), LayerKind::dense, kSplit);
  EXPECT_DOUBLE_EQ(latent.messages.cp_tensor.base(), kT * 4 * (32 + 16 + 48) * 2);
}

// The same FLOPs whatever the window is called, fewer where it cuts.
TEST(LayerLaws, a_window_cuts_the_pairs_of_a_windowed_layer_alone) {
  catalog::ModelShape m = small_dense();
  m.sliding_window = 64;
  const double full = computed_by(layer(m, LayerKind::dense, kSplit).attention_core);
  const double cut = computed_by(layer(m, LayerKind::dense, kSplit, {}, true).attention_core);
  // 512 queries of 64 keys, but for the first 64 that see fewer.
  EXPECT_NEAR(cut / full, (64.0 * 65 / 2 + 448 * 64) / (512.0 * 513 / 2), 1e-12);
}

// Scores written out: two products over the square, a softmax between them, in half precision.
TEST(LayerLaws, unfused_attention_keeps_its_scores) {
  const KernelStyle plain{.fused_attention = false};
  const LayerWork work = layer(small_dense(), LayerKind::dense, kSplit, plain);
  const double groups = 4 * 2 / 2.0;  // heads of the rank x sequences / context ranks
  const double scores = groups * 512 * 512 * 2;
  EXPECT_DOUBLE_EQ(work.saved[Saved::attention_scores], scores);
  EXPECT_DOUBLE_EQ(computed_by(work.attention_core), 2 * 2 * groups * 512 * 512 * 64);
  KernelStyle dropped = plain;
  dropped.dropout = true;
  const LayerWork masked = layer(small_dense(), LayerKind::dense, kSplit, dropped);
  EXPECT_DOUBLE_EQ(masked.saved[Saved::attention_scores], 2.5 * scores) << "and a copy and a mask";
  EXPECT_DOUBLE_EQ(masked.saved[Saved::dropout_masks], 2 * kLocal * 1024);
}

// Each of four ranks routes a quarter of the tokens, to two experts each.
TEST(LayerLaws, experts_get_their_rows_and_no_tensor_exchange) {
  LayerSplit split = kSplit;
  split.ep = 4;
  split.imbalance = 1.5;
  const LayerWork work = layer(small_experts(), LayerKind::moe, split);
  const double rows = kT / 4 * 2 * 1.5;
  EXPECT_DOUBLE_EQ(work.messages.ep_tensor.base(), rows * 1024 * 2);
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 1) << "attention's alone";
  EXPECT_DOUBLE_EQ(work.saved[Saved::routed_tokens], rows * 1024 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::mlp_up], rows * 2 * 512 * 2);
  EXPECT_DOUBLE_EQ(work.saved[Saved::mlp_activation], rows * 512 * 2);
  const LayerWork alone = layer(small_experts(), LayerKind::experts, split);
  // The router's product and three of the experts.
  EXPECT_DOUBLE_EQ(computed_by(alone.forward),
                   2 * (kT / 4) * 1024 * 16 + 2 * rows * 3 * 1024 * 512);
  double groups = 0;
  for (const Operation& op : alone.forward.items()) {
    if (const auto* g = std::get_if<Gemm>(&op)) groups = std::max(groups, g->groups);
  }
  EXPECT_EQ(groups, 4) << "16 experts over four ranks";
}

TEST(LayerLaws, shared_experts_are_an_mlp_of_all_tokens) {
  catalog::ModelShape m = small_experts();
  m.shared_experts = 2;
  const LayerWork with = layer(m, LayerKind::moe, kSplit);
  const LayerWork without = layer(small_experts(), LayerKind::moe, kSplit);
  EXPECT_DOUBLE_EQ(computed_by(with.forward) - computed_by(without.forward),
                   2 * kT * 3 * 1024 * (2 * 512 / 4.0));
  EXPECT_DOUBLE_EQ(with.messages.tp_exchanges, 2);
}

// Low-rank adapters: the input read again, the output read and written; backward likewise.
TEST(LayerLaws, adapters_stand_beside_attention_and_where_told_beside_the_mlp) {
  LayerSplit frozen = kSplit;
  frozen.frozen = true;
  LayerSplit both = frozen;
  both.adapters_on_mlp = true;
  const LayerWork plain = layer(small_dense(), LayerKind::dense, kSplit);
  const LayerWork attention = layer(small_dense(), LayerKind::dense, frozen);
  const LayerWork mlp = layer(small_dense(), LayerKind::dense, both);
  const auto more = [&](const LayerWork& w) {
    return moved_by(w.forward).read - moved_by(plain.forward).read;
  };
  const double beside_attention = kT * 2 * ((1024 + 6 * 64) + (4 * 64 + 1024));
  EXPECT_DOUBLE_EQ(more(attention), beside_attention);
  EXPECT_DOUBLE_EQ(more(mlp), beside_attention + kT * 2 * ((1024 + 2048) + (1024 + 1024)));
  const double backward = moved_by(attention.dgrad).read - moved_by(plain.dgrad).read;
  EXPECT_DOUBLE_EQ(backward, kT * 2 * ((2 * 1024 + 6 * 64) + (2 * 4 * 64 + 1024)));
}

TEST(LayerLaws, latents_are_quantised_once_for_queries_and_keys) {
  LayerSplit split = kSplit;
  const LayerWork wide = layer(small_latent(), LayerKind::attention, split);
  split.precision = catalog::Precision::fp8;
  const LayerWork narrow = layer(small_latent(), LayerKind::attention, split);
  // The stream once, both latents, and the heads' output of four heads.
  const double inputs = kLocal * 1024 + kT * 384 + kT * 128 + kT * 4 * 48;
  EXPECT_DOUBLE_EQ(moved_by(narrow.forward).read - moved_by(wide.forward).read, 2 * inputs);
  EXPECT_DOUBLE_EQ(wide.saved[Saved::qkv],
                   kT * 4 * (2 * 48 + 48) * 2 + 2 * kLocal * (384 + 128) * 2);
  EXPECT_DOUBLE_EQ(narrow.saved[Saved::attention_output], kT * 4 * 48 * 3);
}

catalog::ModelShape small_hybrid() {
  catalog::ModelShape m = small_dense();
  m.layers = 12;
  m.state_space_layers = 5;
  m.mlp_only_layers = 4;
  m.scan_heads = 32;
  m.scan_head_dim = 64;
  m.scan_groups = 4;
  m.scan_state = 128;
  return m;
}

TEST(LayerLaws, a_hybrid_has_layers_of_three_kinds) {
  const auto parts = hybrid_parts(small_hybrid(), LayerKind::dense);
  EXPECT_EQ(parts[0].kind, LayerKind::state_space);
  EXPECT_EQ(parts[0].layers, 5);
  EXPECT_EQ(parts[1].kind, LayerKind::attention);
  EXPECT_EQ(parts[1].layers, small_hybrid().attention_layers());
  EXPECT_EQ(parts[2].kind, LayerKind::mlp);
  EXPECT_EQ(parts[2].layers, 4);
  EXPECT_EQ(hybrid_parts(small_hybrid(), LayerKind::moe)[2].kind, LayerKind::experts);
}

// In: gate and input of 512 each, two groups' B and C (one group a rank) of 128, a step a head;
// out: 512. States of every 128 tokens, in fp32, made and read twice.
TEST(LayerLaws, a_scan_is_two_products_and_passes_over_its_states) {
  const LayerWork work = layer(small_hybrid(), LayerKind::state_space, kSplit);
  const double inner = 32 / 4.0 * 64, shared = 2 * 1 * 128, heads = 8;
  EXPECT_DOUBLE_EQ(computed_by(work.forward),
                   2 * kT * 1024 * (2 * inner + shared + heads) + 2 * kT * inner * 1024);
  const double stream = kLocal * 1024 * 2, mixed = kT * (inner + shared) * 2, x = kT * inner * 2;
  const double states = kT / 128 * inner * 128 * 4;
  EXPECT_DOUBLE_EQ(moved_by(work.forward).written, stream + mixed + (x + 2 * states) + x + stream);
  EXPECT_DOUBLE_EQ(moved_by(work.dgrad).written,
                   stream + mixed + 2.5 * (x + 2 * states) + 2 * x + stream);
  EXPECT_DOUBLE_EQ(work.saved[Saved::layer_input], stream) << "of one norm";
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 0);
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 1);
}

// NVFP4 recipes of hybrids leave attention in 16 bits and a scan's output in 8.
TEST(LayerLaws, a_hybrid_in_four_bits_has_wider_products_where_its_recipe_says) {
  LayerSplit split = kSplit;
  split.precision = catalog::Precision::nvfp4;
  const auto formats = [&](const catalog::ModelShape& m, LayerKind kind) {
    std::vector<catalog::Dtype> all;
    for (const Operation& op : layer(m, kind, split).forward.items()) {
      if (const auto* g = std::get_if<Gemm>(&op)) all.push_back(g->dtype);
    }
    return all;
  };
  using enum catalog::Dtype;
  EXPECT_EQ(formats(small_hybrid(), LayerKind::attention), (std::vector{bf16, bf16}));
  EXPECT_EQ(formats(small_hybrid(), LayerKind::state_space), (std::vector{fp4, fp8}));
  EXPECT_EQ(formats(small_dense(), LayerKind::attention), (std::vector{fp4, fp4}));
}

TEST(LayerLaws, the_head_is_a_product_with_the_vocabulary) {
  EndWork head;
  fill_head_work(small_dense(), kSplit, {}, head);
  EXPECT_DOUBLE_EQ(computed_by(head.forward), 2 * kT * 1024 * 8000);
  EXPECT_DOUBLE_EQ(head.logits.base(), kT * 8000 * 2);
  const double stream = kLocal * 1024 * 2, loss = kT * 8000 * 16 / 3;
  EXPECT_DOUBLE_EQ(moved_by(head.forward).read, stream + loss);
  EXPECT_DOUBLE_EQ(moved_by(head.dgrad).written, stream + loss);
  EndWork embedding;
  fill_embedding_work(small_dense(), kSplit, embedding);
  EXPECT_DOUBLE_EQ(moved_by(embedding.forward).written, kT * 1024 * 2);
}

TEST(LayerLaws, half_precision_of_either_kind_is_no_quantisation) {
  EXPECT_FALSE(is_quantised(catalog::Precision::fp16));
  EXPECT_TRUE(is_quantised(catalog::Precision::fp8));
  EXPECT_EQ(product_dtype(catalog::Precision::fp16), catalog::Dtype::fp16);
}

// Of a hybrid: attention in 7 of 12 layers less its scans, an MLP in 4, a scan in 5.
TEST(ModelLaws, a_hybrids_parameters_are_those_of_its_layers) {
  const catalog::ModelShape m = small_hybrid();
  const double attention = 1024.0 * 64 * (2 * 16 + 2 * 4);
  const double mlp = 3.0 * 1024 * 4096;
  const double inner = 32 * 64;
  const double scan = 1024.0 * (3 * inner + 2 * 4 * 128 + 32);
  const double layers = m.attention_layers() * attention + 4 * mlp + 5 * scan;
  const double rest = 2 * 32000.0 * 1024 + 1024 + 12 * 2 * 1024;  // ends and norms
  EXPECT_NEAR(count_parameters(m).total, layers + rest, 1);
}

TEST(ModelLaws, a_tied_head_is_counted_once_and_experts_have_their_own_width) {
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

// A module that guesses the next token but one: a layer like the others and a projection of 2h x h.
TEST(ModelLaws, a_module_that_guesses_is_a_layer_and_a_projection) {
  catalog::ModelShape m = small_dense();
  const double without = count_parameters(m).total;
  m.mtp_layers = 1;
  const double layer = 1024.0 * 64 * 40 + 3.0 * 1024 * 4096 + 2 * 1024;
  EXPECT_DOUBLE_EQ(count_parameters(m).total - without, layer + 2.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(count_parameters(m).active, without) << "no token passes through it";
}

TEST(ModelLaws, six_n_counts_what_a_token_meets) {
  const catalog::ModelShape m = small_experts();
  EXPECT_DOUBLE_EQ(training_flops_per_token(m, 512, FlopConvention::six_n).base(),
                   6 * count_parameters(m).active);
  EXPECT_LT(count_parameters(m).active, 0.7 * count_parameters(m).total);
}

// Two projections into the experts' narrower space, and experts of that width.
TEST(ModelLaws, experts_in_a_space_of_their_own_are_narrower) {
  catalog::ModelShape m = small_experts();
  const ParameterCount wide = count_parameters(m);
  m.expert_hidden = 256;
  const ParameterCount narrow = count_parameters(m);
  EXPECT_DOUBLE_EQ(wide.expert, 3.0 * 1024 * 512);
  EXPECT_DOUBLE_EQ(narrow.expert, 3.0 * 256 * 512);
  EXPECT_DOUBLE_EQ(wide.total - narrow.total,
                   8 * (16 * (wide.expert - narrow.expert) - 2.0 * 1024 * 256));
}

// Queries and keys of latent attention are put together before they are used: one pass more, over
// both, of the heads on a rank.
TEST(LayerLaws, latent_attention_assembles_queries_and_keys) {
  const LayerWork work = layer(small_latent(), LayerKind::dense, kSplit);
  const double assembled = 2 * kT * 4 * (32 + 16) * 2;
  int passes = 0;
  for (const Operation& op : work.forward.items()) {
    const auto* pass = std::get_if<MemoryPass>(&op);
    passes +=
        pass != nullptr && pass->read.base() == assembled && pass->written.base() == assembled;
  }
  EXPECT_EQ(passes, 1);
}

TEST(ModelLaws, queries_may_come_from_a_latent_or_from_the_stream) {
  catalog::ModelShape m = small_latent();
  const double kv = 1024.0 * (128 + 16) + 128.0 * 16 * (32 + 48) + 16.0 * 48 * 1024;
  EXPECT_DOUBLE_EQ(count_parameters(m).attention, 1024.0 * 384 + 384.0 * 16 * 48 + kv);
  m.q_lora_rank = 0;
  EXPECT_DOUBLE_EQ(count_parameters(m).attention, 1024.0 * 16 * 48 + kv);
}

// Of 8 layers with a window every second sees all; a window longer than the sequence cuts nothing.
TEST(ModelLaws, windowed_layers_see_their_window) {
  catalog::ModelShape m = small_dense();
  const double full = forward_flops_per_token(m, 512).base();
  m.sliding_window = 64;
  m.full_attention_every = 2;
  EXPECT_EQ(full_attention_layer_count(m), 4);
  EXPECT_EQ(windowed_layer_count(m), 4);
  // 2 FLOP x 16 heads x 2 x 64 a pair: 256 keys on average of all, 60 of a window of 64.
  const double pair = 2.0 * 16 * 2 * 64;
  EXPECT_DOUBLE_EQ(full - forward_flops_per_token(m, 512).base(), pair * 4 * (256 - 60));
  m.sliding_window = 4096;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(m, 512).base(), full);
}

}  // namespace
}  // namespace orrery::workload
