// The kernels of a layer's passes, counted one by one: a product takes 1 second (2 in fp16),
// attention 10 and a memory pass a tenth.
#include <gtest/gtest.h>

#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::mixtral;
using workload::LayerKind;

OpCost tallied(const void*, const workload::Operation& op) {
  if (const auto* g = std::get_if<workload::Gemm>(&op)) {
    const double s = g->dtype == catalog::Dtype::fp16 ? 2 : 1;
    return {.seconds = s, .clocked = s / 2, .core_joules = 3, .memory_joules = 5};
  }
  if (const auto* a = std::get_if<workload::Attention>(&op)) {
    return {.seconds = a->window > 0 ? 4.0 : 10.0, .clocked = 7};
  }
  return {.seconds = 0.1, .clocked = 0, .core_joules = 0, .memory_joules = 11};
}

double seven(const void*, const workload::CollectiveCall&) { return 7; }

// A layer of gpt: norm, product, attention, product, residual; norm, product, activation, product,
// residual. Its mixer is the first five.
struct Tally {
  TrainingJob job{.model = gpt(4, 1024, 8), .sequence = 4096, .batch = 64, .gpus = 8};
  Layout layout{.dp = 8};
  FrameworkModel framework;
  StepScratch scratch;

  template <class Ask>
  LayerCost asked(Ask&& ask) {
    const LayoutGroups groups = groups_of(job, layout);
    const CostSource source{.kernel = tallied, .collective = seven};
    return ask(LayerQuery{job, layout, framework, groups, source});
  }
  LayerCost cost(LayerKind kind = LayerKind::dense) {
    return asked([&](const LayerQuery& q) { return layer_cost(q, kind, false, scratch); });
  }
};

void expect_pass(const PassCost& p, double matrix, double attention, double passes,
                 double expert_passes, double kernels) {
  EXPECT_NEAR(p.matrix.seconds, matrix, 1e-12);
  EXPECT_NEAR(p.attention.seconds, attention, 1e-12);
  EXPECT_NEAR(p.passes.seconds, passes, 1e-12);
  EXPECT_NEAR(p.expert_passes.seconds, expert_passes, 1e-12);
  EXPECT_NEAR(p.kernels, kernels, 1e-12);
}

catalog::ModelShape latent_gpt() {
  catalog::ModelShape m = gpt(4, 1024, 8);
  m.attention = catalog::AttentionKind::mla;
  m.q_lora_rank = 64;
  m.kv_lora_rank = 32;
  m.qk_nope_dim = 16;
  m.qk_rope_dim = 8;
  m.v_head_dim = 16;
  return m;
}

TEST(LayerKernels, kernels_of_a_dense_layer) {
  Tally t;
  const LayerCost c = t.cost();
  expect_pass(c.forward, 4, 10, 0.5, 0, 10);
  expect_pass(c.dgrad, 4, 10, 0.5, 0, 10);
  expect_pass(c.wgrad, 4, 0, 0, 0, 4);
  expect_pass(c.recompute, 0, 0, 0, 0, 0);
  EXPECT_EQ(c.forward.expert_layers, 0);
  EXPECT_NEAR(c.forward.matrix.clocked, 2, 1e-12);
  EXPECT_NEAR(c.forward.attention.clocked, 7, 1e-12);
  EXPECT_NEAR(c.forward.matrix.core_joules, 12, 1e-12);
  EXPECT_NEAR(c.forward.passes.memory_joules, 55, 1e-12);
}

// Mixtral: rope in addition in the mixer; norm, router, two grouped products, residual; and for
// experts the scores, two moves and the activation.
TEST(LayerKernels, kernels_of_a_moe_layer) {
  Tally t;
  t.job.model = mixtral();
  t.framework.grouped_16bit = 1.5;
  t.framework.grouped_8bit = 4;
  LayerCost c = t.cost(LayerKind::moe);
  expect_pass(c.forward, 3 + 2 * 1.5, 10, 0.5, 0.4, 11 + 4);
  expect_pass(c.dgrad, 6, 10, 0.5, 0.4, 15);
  expect_pass(c.wgrad, 6, 0, 0, 0, 5);
  EXPECT_EQ(c.forward.expert_layers, 1);
  EXPECT_EQ(c.dgrad.expert_layers, 1);
  EXPECT_EQ(c.wgrad.expert_layers, 1);
  EXPECT_NEAR(c.forward.matrix.clocked, 3, 1e-12) << "stretched with its time";
  EXPECT_NEAR(c.forward.matrix.core_joules, 15, 1e-12) << "the energy is not";
  t.job.precision = catalog::Precision::fp16;
  EXPECT_NEAR(t.cost(LayerKind::moe).forward.matrix.seconds, 2 * 6, 1e-12);
  t.job.precision = catalog::Precision::fp8;
  EXPECT_NEAR(t.cost(LayerKind::moe).forward.matrix.seconds, 3 + 2 * 4, 1e-12);
  // If the whole step is one graph, the experts' passes are fused, except those with biases.
  t.job.precision = catalog::Precision::bf16;
  t.framework.graph_passes = 0.25;
  EXPECT_NEAR(t.cost(LayerKind::moe).forward.expert_passes.seconds, 0.4, 1e-12);
  t.job.recipe.graph.whole_step = true;
  EXPECT_NEAR(t.cost(LayerKind::moe).forward.expert_passes.seconds, 0.1, 1e-12);
  t.job.model.biased_experts = true;
  EXPECT_NEAR(t.cost(LayerKind::moe).forward.expert_passes.seconds, 0.5, 1e-12);
}

TEST(LayerKernels, modules_named_by_the_recipe_are_recomputed) {
  Tally t;
  t.layout.recompute = catalog::Recompute::selective;
  RecomputeModules& r = t.job.recipe.recompute;
  r.named = true;
  expect_pass(t.cost().recompute, 0, 0, 0, 0, 0);
  r.norms = true;
  expect_pass(t.cost().recompute, 0, 0, 0.2, 0, 2);
  r = {.named = true, .attention_core = true};
  expect_pass(t.cost().recompute, 0, 10, 0, 0, 1);
  r = {.named = true, .mlp = true};
  expect_pass(t.cost().recompute, 2, 0, 0.3, 0, 5);
  r = {.named = true, .activation = true, .experts = true};
  expect_pass(t.cost().recompute, 0, 0, 0, 0, 0);
  t.job.model = latent_gpt();
  r = {.named = true, .latent_up = true};
  expect_pass(t.cost().recompute, 2, 0, 0, 0, 2);
}

TEST(LayerKernels, expert_modules_named_by_the_recipe_are_recomputed) {
  Tally t;
  t.job.model = mixtral();
  t.layout = {.dp = 8, .ep = 4, .recompute = catalog::Recompute::selective};
  RecomputeModules& r = t.job.recipe.recompute;
  r = {.named = true, .experts = true};
  LayerCost c = t.cost(LayerKind::moe);
  expect_pass(c.recompute, 3, 0, 0.2, 0.4, 5 + 4);
  EXPECT_EQ(c.recompute.expert_layers, 1);
  EXPECT_NEAR(c.forward.ep, 14, 1e-12);
  EXPECT_NEAR(c.recompute.ep, 14, 1e-12) << "they are sent again";
  r = {.named = true, .activation = true};
  c = t.cost(LayerKind::moe);
  expect_pass(c.recompute, 0, 0, 0.1, 0, 1);
  EXPECT_EQ(c.recompute.ep, 0);
  r = {.named = true, .mlp = true};
  expect_pass(t.cost(LayerKind::moe).recompute, 0, 0, 0, 0, 0);
  r = {.named = true, .activation = true, .experts = true};
  expect_pass(t.cost(LayerKind::experts).recompute, 3, 0, 0.2, 0.4, 9);
  r = {.named = true, .attention_core = true};
  expect_pass(t.cost(LayerKind::experts).recompute, 0, 0, 0, 0, 0);
}

TEST(LayerKernels, selective_recompute_follows_the_framework) {
  Tally t;
  t.layout.recompute = catalog::Recompute::selective;
  expect_pass(t.cost().recompute, 0, 0, 0, 0, 0);  // flash attention keeps no scores
  t.framework.style.fused_attention = false;
  expect_pass(t.cost().recompute, 2, 0, 0.1, 0, 3);
  t.framework.style.fused_attention = true;
  t.framework.selective = Selective::passes;
  expect_pass(t.cost().recompute, 0, 0, 0.5, 0, 5);
  t.framework.selective = Selective::alternate_products;
  expect_pass(t.cost().recompute, 2, 0, 0.5, 0, 5);
  t.job.model = mixtral();
  expect_pass(t.cost(LayerKind::moe).recompute, 2.5, 0, 0.5, 0.4, 7.5);
  t.framework.selective = Selective::passes;
  expect_pass(t.cost(LayerKind::moe).recompute, 0, 0, 0.5, 0.4, 7.5);
  // Latents up, and the passes: norm, three products of latents with a norm between each, ...
  t.job.model = latent_gpt();
  const LayerCost latent = t.cost();
  EXPECT_NEAR(latent.recompute.matrix.seconds, 2, 1e-12);
  EXPECT_NEAR(latent.recompute.passes.seconds, latent.forward.passes.seconds, 1e-12);
  EXPECT_NEAR(latent.recompute.kernels, latent.forward.kernels / 2, 1e-12);
}

TEST(LayerKernels, full_recompute_stops_early_if_the_framework_does) {
  Tally t;
  t.layout = {.dp = 8, .recompute = catalog::Recompute::full, .recompute_share = 0.5};
  expect_pass(t.cost().recompute, 2, 5, 0.25, 0, 5);
  t.framework.early_stop = true;
  // Without the last product and the residual after it.
  expect_pass(t.cost().recompute, 1.5, 5, 0.2, 0, 4);
}

// Launches: 10 and 10 and 4, of which 5, 5 and 2 belong to the mixer.
TEST(LayerKernels, cuda_graph_removes_its_launches) {
  Tally t;
  GraphScope& g = t.job.recipe.graph;
  const auto launches = [&](LayerKind kind = LayerKind::dense) {
    const LayerCost c = t.cost(kind);
    return std::array<double, 3>{c.forward.kernels, c.dgrad.kernels, c.wgrad.kernels};
  };
  using Three = std::array<double, 3>;
  EXPECT_EQ(launches(), (Three{10, 10, 4}));
  g = {.told = true, .mixer = true};
  EXPECT_EQ(launches(), (Three{5, 5, 2}));
  g = {.told = true, .mlp = true};
  EXPECT_EQ(launches(), (Three{5, 5, 2}));
  g = {.told = true, .mixer = true, .mlp = true};
  EXPECT_EQ(launches(), (Three{0, 0, 0}));
  g = {.told = true, .whole_step = true};
  EXPECT_EQ(launches(), (Three{0, 0, 0}));
  t.job.model = mixtral();
  EXPECT_EQ(t.cost(LayerKind::moe).forward.expert_layers, 0);
  g = {.told = true, .mlp = true};
  EXPECT_EQ(launches(LayerKind::moe), (Three{15, 15, 5})) << "experts are no MLP";
  EXPECT_EQ(launches(LayerKind::experts), (Three{9, 9, 3}));
  g = {.told = true, .mixer = true, .router = true};
  EXPECT_EQ(launches(LayerKind::moe), (Three{9, 9, 3}));
  t.framework.router_share = 0.3;
  EXPECT_NEAR(t.cost(LayerKind::moe).forward.expert_layers, 0.7, 1e-12);
  EXPECT_NEAR(t.cost(LayerKind::moe).dgrad.expert_layers, 0.7, 1e-12);
}

TEST(LayerKernels, eager_kernels_launch_several_times) {
  Tally t;
  t.job.compiled = false;
  t.framework.eager_kernels = 3;
  EXPECT_NEAR(t.cost().forward.kernels, 30, 1e-12);
  EXPECT_NEAR(t.cost().wgrad.kernels, 12, 1e-12);
}

// Head: norm, product, loss; the backward pass likewise; embedding: one pass each way.
TEST(LayerKernels, kernels_of_embedding_and_head) {
  Tally t;
  const auto head = [&] {
    return t.asked([&](const LayerQuery& q) { return head_cost(q, t.scratch); });
  };
  const auto embedding = [&] {
    return t.asked([&](const LayerQuery& q) { return embedding_cost(q, t.scratch); });
  };
  expect_pass(head().forward, 1, 0, 0.2, 0, 3);
  expect_pass(head().dgrad, 1, 0, 0.2, 0, 3);
  expect_pass(head().wgrad, 1, 0, 0, 0, 1);
  expect_pass(embedding().forward, 0, 0, 0.1, 0, 1);
  expect_pass(embedding().dgrad, 0, 0, 0.1, 0, 1);
  expect_pass(embedding().wgrad, 0, 0, 0, 0, 0);
  t.job.compiled = false;
  t.framework.eager_kernels = 4;
  EXPECT_EQ(head().dgrad.kernels, 12);
  EXPECT_EQ(embedding().forward.kernels, 4);
  t.job.recipe.graph.whole_step = true;
  EXPECT_EQ(head().forward.kernels, 0);
  EXPECT_EQ(head().wgrad.kernels, 0);
}

// Four scans with 2 products and 5 passes, three attentions with 2 and 2, three MLPs with 2 and 3.
catalog::ModelShape hybrid_gpt() {
  catalog::ModelShape m = gpt(10, 1024, 8);
  m.state_space_layers = 4;
  m.mlp_only_layers = 3;
  m.scan_heads = 16;
  m.scan_head_dim = 64;
  m.scan_groups = 2;
  m.scan_state = 32;
  m.mtp_layers = 3;
  m.sliding_window = 64;  // its attention does not use it
  return m;
}

// In four bits scans and MLPs quantise twice, attention does not; 14 of 88 layers stay in 16 bits.
TEST(LayerKernels, hybrid_cost_is_the_mean_layer) {
  Tally t;
  t.job.model = hybrid_gpt();
  const auto mean = [&] {
    return t.asked(
        [&](const LayerQuery& q) { return mean_layer_cost(q, LayerKind::dense, t.scratch); });
  };
  expect_pass(mean().forward, 2, 3, (4 * 5 + 3 * 2 + 3 * 3) * 0.1 / 10, 0, 5.8);
  t.job.precision = catalog::Precision::nvfp4;
  const double narrow = (4 * 7 + 3 * 2 + 3 * 5) * 0.1 / 10;
  EXPECT_NEAR(mean().forward.passes.seconds, narrow * 74 / 88 + 0.35 * 14 / 88, 1e-12);
  EXPECT_NEAR(mean().forward.matrix.seconds, 2, 1e-12);
}

TEST(LayerKernels, single_layer_model_is_windowed_or_full) {
  Tally t;
  t.job.model.layers = 1;
  t.job.model.sliding_window = 64;
  const auto mean = [&] {
    return t.asked(
        [&](const LayerQuery& q) { return mean_layer_cost(q, LayerKind::dense, t.scratch); });
  };
  EXPECT_NEAR(mean().forward.attention.seconds, 4, 1e-12);
  t.job.model.full_attention_every = 1;
  EXPECT_NEAR(mean().forward.attention.seconds, 10, 1e-12);
  t.job.model.layers = 4;
  t.job.model.full_attention_every = 4;
  EXPECT_NEAR(mean().forward.attention.seconds, (3 * 4 + 10) / 4.0, 1e-12);
}

// A hybrid's module is an attention and an MLP layer in 16 bits, run twice per prediction.
TEST(LayerKernels, prediction_modules_of_hybrids_and_of_others) {
  Tally t;
  t.job.model = hybrid_gpt();
  LayerCost main;
  main.forward.tp = 5;
  const auto prediction = [&] {
    return t.asked([&](const LayerQuery& q) { return prediction_cost(q, main, t.scratch); });
  };
  EXPECT_EQ(predictions_of(t.job.model), 6);
  expect_pass(prediction().forward, 6 * 4, 60, 6 * 0.5, 0, 6 * 10);
  t.job.precision = catalog::Precision::nvfp4;
  expect_pass(prediction().forward, 6 * 4, 60, 6 * 0.5, 0, 6 * 10);
  t.job.precision = catalog::Precision::fp16;
  expect_pass(prediction().forward, 6 * 8, 60, 6 * 0.5, 0, 6 * 10);
  t.job.model.experts = 4;
  t.job.model.top_k = 2;
  t.job.model.expert_ffn = 64;
  // Router and two grouped products instead of the MLP's two; norm and residual remain.
  expect_pass(prediction().forward, 6 * 2 * 5, 60, 6 * 0.4, 6 * 0.4, 6 * 14);
  t.job.model = gpt(4, 1024, 8);
  t.job.model.mtp_layers = 2;
  EXPECT_EQ(predictions_of(t.job.model), 2);
  EXPECT_EQ(prediction().forward.tp, 10);
}

// Group-limited routing reaches at most as many domains as groups; zero means no limit.
TEST(LayerKernels, expert_groups_limit_the_traffic) {
  struct Sent {
    mutable double bytes = 0;
  } sent;
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 64, .gpus = 64, .scaleup = 2};
  const Layout layout{.dp = 64, .ep = 8};
  const FrameworkModel framework;
  const LayoutGroups groups = groups_of(job, layout);
  const CostSource source{.context = &sent,
                          .kernel = tallied,
                          .collective = [](const void* at, const workload::CollectiveCall& call) {
                            static_cast<const Sent*>(at)->bytes = call.bytes.base();
                            return 1.0;
                          }};
  StepScratch scratch;
  const auto share = [&](int all, int reached) {
    job.model.expert_groups = all;
    job.model.expert_groups_per_token = reached;
    layer_cost({job, layout, framework, groups, source}, LayerKind::moe, false, scratch);
    return sent.bytes / (4096.0 * 2 * 4096 * 2);
  };
  // Four domains, two choices: 3 (1 - (3/4)^2) others are reached, while 2 x 3/4 copies would
  // leave.
  const double open = 3 * (1 - 9.0 / 16) / 1.5;
  EXPECT_NEAR(share(0, 0), open, 1e-12);
  EXPECT_NEAR(share(8, 0), open, 1e-12);
  EXPECT_NEAR(share(0, 4), open, 1e-12);
  EXPECT_NEAR(share(8, 2), 0.5, 1e-12) << "4 x 2 / 8: one domain, with probability 3/4 another";
  EXPECT_NEAR(share(8, 1), 0.5, 1e-12) << "never less than one";
  EXPECT_NEAR(share(8, 3), 0.75, 1e-12);
  EXPECT_NEAR(share(8, 8), open, 1e-12);
}

TEST(LayerKernels, costs_add_and_scale_by_part) {
  const OpCost one{.seconds = 1, .clocked = 2, .core_joules = 3, .memory_joules = 4};
  OpCost sum = one * 10;
  sum += one;
  EXPECT_EQ(sum.seconds, 11);
  EXPECT_EQ(sum.clocked, 22);
  EXPECT_EQ(sum.core_joules, 33);
  EXPECT_EQ(sum.memory_joules, 44);
  EXPECT_EQ(one.at_clock(0.5), 3);
  const PassCost p{.matrix = one,
                   .attention = one * 2,
                   .passes = one * 3,
                   .expert_passes = one * 4,
                   .kernels = 5,
                   .expert_layers = 6,
                   .tp = 7,
                   .cp = 8,
                   .ep = 9};
  EXPECT_EQ(p.exposed(), 24);
  EXPECT_EQ(p.work().seconds, 10);
  EXPECT_EQ(p.work().core_joules, 30);
  EXPECT_EQ(p.kernel_seconds(1), 10);
  EXPECT_EQ(p.kernel_seconds(0.5), 30);
  PassCost q = p * 10;
  q += p;
  EXPECT_EQ(q.matrix.seconds, 11);
  EXPECT_EQ(q.attention.seconds, 22);
  EXPECT_EQ(q.passes.seconds, 33);
  EXPECT_EQ(q.expert_passes.seconds, 44);
  EXPECT_EQ(q.kernels, 55);
  EXPECT_EQ(q.expert_layers, 66);
  EXPECT_EQ(q.tp, 77);
  EXPECT_EQ(q.cp, 88);
  EXPECT_EQ(q.ep, 99);
  const LayerCost l{.forward = p, .dgrad = p * 2, .wgrad = p * 3, .recompute = p * 4};
  EXPECT_EQ(l.work().seconds, 100);
  LayerCost twice = l * 2;
  twice += l;
  EXPECT_EQ(twice.forward.tp, 21);
  EXPECT_EQ(twice.dgrad.tp, 42);
  EXPECT_EQ(twice.wgrad.tp, 63);
  EXPECT_EQ(twice.recompute.tp, 84);
}

// A collective of one rank, or of zero bytes, takes no time.
TEST(LayerKernels, single_rank_has_no_communication) {
  const CostSource source{.kernel = tallied, .collective = seven};
  using workload::Collective;
  EXPECT_EQ(source.collective_seconds({Collective::all_reduce, Bytes(5), {.ranks = 2}}), 7);
  EXPECT_EQ(source.collective_seconds({Collective::all_reduce, Bytes(5), {.ranks = 1}}), 0);
  EXPECT_EQ(source.collective_seconds({Collective::all_reduce, Bytes(0), {.ranks = 2}}), 0);
}

}  // namespace
}  // namespace orrery::training
