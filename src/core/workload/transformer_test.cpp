#include "core/workload/transformer.h"

#include <gtest/gtest.h>

#include "core/workload/model_math.h"
#include "core/workload/workload_fixture.h"

namespace orrery::workload {
namespace {

catalog::ModelShape llama70b() {
  catalog::ModelShape m;
  m.layers = 80;
  m.hidden = 8192;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.ffn = 28672;
  m.vocab = 128256;
  return m;
}

Flops total(const OpList& ops) {
  Flops sum;
  for (const Operation& op : ops.items()) sum += flops_of(op);
  return sum;
}

TEST(Transformer, layer_flops_agree_with_the_closed_form) {
  const catalog::ModelShape m = llama70b();
  LayerWork work;
  EndWork head;
  const double s = 8192;
  fill_layer_work(m, LayerKind::dense, false, {.microbatch = 2, .sequence = s}, {}, work);
  fill_head_work(m, {.microbatch = 2, .sequence = s}, {}, head);
  const Flops forward = total(work.forward) * 80 + total(head.forward);
  EXPECT_NEAR(forward / (forward_flops_per_token(m, s) * 2 * s), 1, 1e-3);
  // dgrad and wgrad of the products each take as much as the forward pass; flash backward takes 2.5
  // times.
  const Flops attention = total(work.attention_core);
  const Flops products = total(work.forward) - attention;
  EXPECT_NEAR(total(work.dgrad) / (products + 2.5 * attention), 1, 1e-12);
  EXPECT_NEAR(total(work.wgrad) / products, 1, 1e-12);
}

TEST(Transformer, tensor_and_context_parallelism_divide_the_work) {
  const catalog::ModelShape m = llama70b();
  LayerWork whole;
  LayerWork part;
  fill_layer_work(m, LayerKind::dense, false, {.sequence = 32768}, {}, whole);
  fill_layer_work(m, LayerKind::dense, false, {.sequence = 32768, .tp = 4, .cp = 2}, {}, part);
  EXPECT_NEAR(total(whole.forward) / total(part.forward), 8, 1e-9);
  EXPECT_NEAR(whole.messages.tp_tensor / part.messages.tp_tensor, 2, 1e-12);
}

TEST(Transformer, expert_rows_are_conserved_under_expert_parallelism) {
  catalog::ModelShape m = llama70b();
  m.experts = 64;
  m.top_k = 4;
  m.expert_ffn = 2048;
  LayerWork one;
  LayerWork eight;
  fill_layer_work(m, LayerKind::moe, false, {.sequence = 4096}, {}, one);
  fill_layer_work(m, LayerKind::moe, false, {.sequence = 4096, .ep = 8}, {}, eight);
  // Fewer, taller expert products: the same FLOPs per rank.
  EXPECT_NEAR(total(one.forward) / total(eight.forward), 1, 1e-12);
  EXPECT_DOUBLE_EQ(eight.messages.ep_tensor.base(), 4096.0 * 4 * 8192 * 2);
}

TEST(Transformer, quantised_products_need_passes_and_save_half) {
  const catalog::ModelShape m = llama70b();
  LayerWork wide;
  LayerWork narrow;
  fill_layer_work(m, LayerKind::dense, false, {.sequence = 4096}, {}, wide);
  fill_layer_work(m, LayerKind::dense, false,
                  {.sequence = 4096, .precision = catalog::Precision::mxfp8}, {}, narrow);
  EXPECT_GT(narrow.forward.size(), wide.forward.size());
  EXPECT_DOUBLE_EQ(narrow.saved[Saved::mlp_activation] * 2, wide.saved[Saved::mlp_activation]);
  EXPECT_NEAR(total(narrow.forward) / total(wide.forward), 1, 1e-12);
}

TEST(Transformer, frozen_weights_have_no_gradients) {
  LayerWork work;
  fill_layer_work(llama70b(), LayerKind::dense, false, {.sequence = 4096, .frozen = true}, {},
                  work);
  EXPECT_EQ(work.wgrad.size(), 0);
  EXPECT_GT(work.dgrad.size(), 0);
}

TEST(Transformer, precision_names_round_trip) {
  for (catalog::Precision p :
       {catalog::Precision::bf16, catalog::Precision::fp16, catalog::Precision::fp8,
        catalog::Precision::fp8_row, catalog::Precision::fp8_block, catalog::Precision::mxfp8,
        catalog::Precision::nvfp4}) {
    EXPECT_EQ(precision_from(to_text(p)), p);
  }
  EXPECT_EQ(precision_from("fp6"), std::nullopt);
  EXPECT_EQ(precision_from("fp8-row"), std::nullopt);  // the design file's spelling
  EXPECT_EQ(precision_from("int8"), std::nullopt);     // its products are not modelled
}

TEST(Transformer, unmodelled_precision_counts_as_bf16) {
  for (const catalog::Precision p :
       {catalog::Precision::fp32, catalog::Precision::tf32, catalog::Precision::int8,
        catalog::Precision::int4, catalog::Precision::bf16}) {
    EXPECT_EQ(modelled(p), catalog::Precision::bf16);
    EXPECT_EQ(product_dtype(modelled(p)), catalog::Dtype::bf16);
    EXPECT_FALSE(is_quantised(p));
  }
  EXPECT_EQ(modelled(catalog::Precision::mxfp8), catalog::Precision::mxfp8);
  EXPECT_TRUE(is_quantised(catalog::Precision::nvfp4));
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

// T = 2 x 512 / 2 = 512 tokens inside a block of four ranks; 128 per rank between blocks.
constexpr LayerSplit kSplit{.microbatch = 2, .sequence = 512, .tp = 4, .cp = 2};
constexpr double kT = 512, kLocal = 128;

TEST(Transformer, bf16_layer_saves_the_tensors_that_backward_reads) {
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

TEST(Transformer, without_sequence_parallelism_every_rank_saves_all_tokens) {
  LayerSplit split = kSplit;
  split.sequence_parallel = false;
  const SavedBytes s = layer(small_dense(), LayerKind::dense, split).saved;
  EXPECT_DOUBLE_EQ(s[Saved::layer_input], 2 * kT * 1024 * 2);
  EXPECT_DOUBLE_EQ(s[Saved::norm_output], kT * 1024 * 2);
}

// Inputs of products are saved in eight bits, everything else in sixteen; flash attention needs its
// output in sixteen bits besides the product's copy.
TEST(Transformer, fp8_products_save_fp8_inputs) {
  LayerSplit split = kSplit;
  split.precision = catalog::Precision::fp8;
  const SavedBytes s = layer(small_dense(), LayerKind::dense, split).saved;
  EXPECT_DOUBLE_EQ(s[Saved::norm_output], kLocal * 1024);
  EXPECT_DOUBLE_EQ(s[Saved::mlp_activation], kT * 1024);
  EXPECT_DOUBLE_EQ(s[Saved::attention_output], kT * 4 * 64 * 3);
  EXPECT_DOUBLE_EQ(s[Saved::layer_input], 2 * kLocal * 1024 * 2);
}

// Quantising reads 16 bits and writes the tensor and its transpose in 8 bits: in the forward pass
// the inputs of the four products, in the backward pass the gradients of their outputs.
TEST(Transformer, fp8_operand_is_read_once_and_written_twice) {
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
// one out. The backward pass of a norm reads two tensors, that of the activation reads three and
// writes two.
TEST(Transformer, pointwise_passes_move_each_tensor_once) {
  const LayerWork work = layer(small_dense(), LayerKind::dense, kSplit);
  const double stream = kLocal * 1024 * 2, rope = kT * 5 * 64 * 2, mlp = kT * 1024 * 2;
  EXPECT_DOUBLE_EQ(moved_by(work.forward).read, 2 * stream + rope + 2 * 2 * stream + 2 * mlp);
  EXPECT_DOUBLE_EQ(moved_by(work.forward).written, 2 * stream + rope + 2 * stream + mlp);
  EXPECT_DOUBLE_EQ(moved_by(work.dgrad).read, 2 * 2 * stream + rope + 2 * 2 * stream + 3 * mlp);
  EXPECT_DOUBLE_EQ(moved_by(work.dgrad).written, 2 * stream + rope + 2 * stream + 2 * mlp);
}

// With fewer KV heads than ranks, each rank keeps a whole one.
TEST(Transformer, kv_head_is_not_divided) {
  LayerSplit split = kSplit;
  split.tp = 8;
  const LayerWork work = layer(small_dense(), LayerKind::dense, split);
  EXPECT_DOUBLE_EQ(work.saved[Saved::qkv], kT * (2 + 2 * 1) * 64 * 2);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 2 * kT * 1 * 64 * 2);
}

TEST(Transformer, messages_carry_the_boundary_tensors) {
  const LayerWork work = layer(small_dense(), LayerKind::dense, kSplit);
  EXPECT_DOUBLE_EQ(work.messages.tp_tensor.base(), kT * 1024 * 2);
  EXPECT_DOUBLE_EQ(work.messages.tp_exchanges, 2);
  EXPECT_DOUBLE_EQ(work.messages.cp_tensor.base(), 2 * kT * 1 * 64 * 2) << "keys and values";
  EXPECT_DOUBLE_EQ(work.messages.ep_tensor.base(), 0);
  // Queries, keys and values of DeepSeek's heads are assembled before they are exchanged.
  const LayerWork latent = layer(small_latent(), LayerKind::dense, kSplit);
  EXPECT_DOUBLE_EQ(latent.messages.cp_tensor.base(), kT * 4 * (32 + 16 + 48) * 2);
}

// A window that is never reached changes no FLOPs; a shorter one reduces them.
TEST(Transformer, window_shortens_only_windowed_layers) {
  catalog::ModelShape m = small_dense();
  m.sliding_window = 64;
  const double full = computed_by(layer(m, LayerKind::dense, kSplit).attention_core);
  const double cut = computed_by(layer(m, LayerKind::dense, kSplit, {}, true).attention_core);
  // 512 queries of 64 keys, except for the first 64 queries, which see fewer.
  EXPECT_NEAR(cut / full, (64.0 * 65 / 2 + 448 * 64) / (512.0 * 513 / 2), 1e-12);
}

// Scores written to memory: two products over the square, a softmax between them, in half
// precision.
TEST(Transformer, unfused_attention_saves_its_scores) {
  const KernelStyle plain{.fused_attention = false};
  const LayerWork work = layer(small_dense(), LayerKind::dense, kSplit, plain);
  const double groups = 4 * 2 / 2.0;  // heads per rank x sequences / context ranks
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
TEST(Transformer, experts_compute_their_rows_without_tensor_exchange) {
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
  // The router's product and three products of the experts.
  EXPECT_DOUBLE_EQ(computed_by(alone.forward),
                   2 * (kT / 4) * 1024 * 16 + 2 * rows * 3 * 1024 * 512);
  double groups = 0;
  for (const Operation& op : alone.forward.items()) {
    if (const auto* g = std::get_if<Gemm>(&op)) groups = std::max(groups, g->groups);
  }
  EXPECT_EQ(groups, 4) << "16 experts over four ranks";
}

TEST(Transformer, shared_experts_process_every_token) {
  catalog::ModelShape m = small_experts();
  m.shared_experts = 2;
  const LayerWork with = layer(m, LayerKind::moe, kSplit);
  const LayerWork without = layer(small_experts(), LayerKind::moe, kSplit);
  EXPECT_DOUBLE_EQ(computed_by(with.forward) - computed_by(without.forward),
                   2 * kT * 3 * 1024 * (2 * 512 / 4.0));
  EXPECT_DOUBLE_EQ(with.messages.tp_exchanges, 2);
}

// Low-rank adapters: the input is read again, the output is read and written; backward does
// likewise.
TEST(Transformer, adapters_add_traffic_to_their_products) {
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

TEST(Transformer, latents_are_quantised_once) {
  LayerSplit split = kSplit;
  const LayerWork wide = layer(small_latent(), LayerKind::attention, split);
  split.precision = catalog::Precision::fp8;
  const LayerWork narrow = layer(small_latent(), LayerKind::attention, split);
  // The layer input once, both latents, and the output of four heads.
  const double inputs = kLocal * 1024 + kT * 384 + kT * 128 + kT * 4 * 48;
  EXPECT_DOUBLE_EQ(moved_by(narrow.forward).read - moved_by(wide.forward).read, 2 * inputs);
  EXPECT_DOUBLE_EQ(wide.saved[Saved::qkv],
                   kT * 4 * (2 * 48 + 48) * 2 + 2 * kLocal * (384 + 128) * 2);
  EXPECT_DOUBLE_EQ(narrow.saved[Saved::attention_output], kT * 4 * 48 * 3);
}

TEST(Transformer, hybrid_has_three_kinds_of_layers) {
  const auto parts = hybrid_parts(small_hybrid(), LayerKind::dense);
  EXPECT_EQ(parts[0].kind, LayerKind::state_space);
  EXPECT_EQ(parts[0].layers, 5);
  EXPECT_EQ(parts[1].kind, LayerKind::attention);
  EXPECT_EQ(parts[1].layers, small_hybrid().attention_layers());
  EXPECT_EQ(parts[2].kind, LayerKind::mlp);
  EXPECT_EQ(parts[2].layers, 4);
  EXPECT_EQ(hybrid_parts(small_hybrid(), LayerKind::moe)[2].kind, LayerKind::experts);
}

// In: gate and input of 512 each, B and C of two groups (one per rank) of 128, a step size per
// head; out: 512. States of every 128 tokens, in fp32, are written and read twice.
TEST(Transformer, scan_is_two_products_and_state_passes) {
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

// NVFP4 recipes for hybrids leave attention in 16 bits and a scan's output in 8.
TEST(Transformer, nvfp4_hybrid_keeps_wider_formats_of_its_recipe) {
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

TEST(Transformer, head_multiplies_by_the_vocabulary) {
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

TEST(Transformer, fp16_is_not_quantised) {
  EXPECT_FALSE(is_quantised(catalog::Precision::fp16));
  EXPECT_TRUE(is_quantised(catalog::Precision::fp8));
  EXPECT_EQ(product_dtype(catalog::Precision::fp16), catalog::Dtype::fp16);
}

// Queries and keys of latent attention are assembled before use: one more pass over both, for the
// heads of a rank.
TEST(Transformer, latent_attention_assembles_queries_and_keys_once) {
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

}  // namespace
}  // namespace orrery::workload
