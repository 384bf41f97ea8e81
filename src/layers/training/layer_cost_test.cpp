// The communication of a layer, with collectives that take whole seconds.
#include "layers/training/layer_cost.h"

#include <gtest/gtest.h>

#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layout.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::mixtral;

// Attention takes a second, other kernels nothing. A gather takes 2, a scatter 3, a sum 4, a send 5
// and an exchange among experts 7, times the share of `whole` that is sent.
struct Counted {
  mutable double sent = 0;

  static OpCost kernel(const void*, const workload::Operation& op) {
    return {.seconds = std::holds_alternative<workload::Attention>(op) ? 1.0 : 0.0};
  }
  static double collective(const void* context, const workload::CollectiveCall& call) {
    static_cast<const Counted*>(context)->sent = call.bytes.base();
    switch (call.kind) {
      case workload::Collective::all_gather:
        return 2;
      case workload::Collective::reduce_scatter:
        return 3;
      case workload::Collective::all_reduce:
        return 4;
      case workload::Collective::send_recv:
        return 5;
      case workload::Collective::all_to_all:
        return 7;
      default:
        return 1000;
    }
  }
};

struct LayerAsk {
  TrainingJob job{.model = gpt(4, 1024, 8), .sequence = 4096, .batch = 64, .gpus = 64};
  Layout layout;
  FrameworkModel framework;
  Counted counted;

  LayerCost cost(workload::LayerKind kind = workload::LayerKind::dense) {
    const LayoutGroups groups = groups_of(job, layout);
    const CostSource source{
        .context = &counted, .kernel = Counted::kernel, .collective = Counted::collective};
    StepScratch scratch;
    return layer_cost({job, layout, framework, groups, source}, kind, false, scratch);
  }
};

TEST(LayerCosts, tensor_parallel_blocks_exchange_twice_a_pass) {
  LayerAsk a;
  EXPECT_EQ(a.cost().forward.tp, 0);
  a.layout.tp = 8;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 2 * (2 + 3));
  EXPECT_DOUBLE_EQ(a.cost().dgrad.tp, 2 * (2 + 3));
  EXPECT_EQ(a.cost().wgrad.tp, 0);
  a.framework = {.tp_overlap = 0.25, .tp_bulk_share = 0.5, .async_tp_overlap = 0.6};
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 10 * 0.75);
  a.job.recipe.tp_overlap = false;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 10 * 0.875) << "of the habit, what the bulk still hides";
  a.job.recipe.tp_overlap = true;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 10 * 0.75);
  a.framework.tp_overlap = 0;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 10 * 0.4) << "as others do";
  a.job.recipe.tp_overlap.reset();
  a.layout.async_tp = true;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 10 * 0.4);
  a.framework.tp_overlap = 0.8;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 10 * (1 - 0.8)) << "the larger of the two";
  a.framework = {};
  a.layout.sequence_parallel = false;
  EXPECT_DOUBLE_EQ(a.cost().forward.tp, 2 * 4);
}

// c - 1 sends around the ring, twice as many bytes in the backward pass; attention hides a share,
// and takes 2.5 times as long in the backward pass.
TEST(LayerCosts, ring_of_context_parallelism_hides_behind_attention) {
  LayerAsk a;
  a.layout.cp = 4;
  EXPECT_DOUBLE_EQ(a.cost().forward.attention.seconds, 1);
  EXPECT_DOUBLE_EQ(a.cost().forward.cp, 3 * 5);
  EXPECT_DOUBLE_EQ(a.cost().dgrad.cp, 2 * 3 * 5);
  a.framework.cp_overlap = 0.5;
  EXPECT_DOUBLE_EQ(a.cost().forward.cp, 15 - 0.5);
  EXPECT_DOUBLE_EQ(a.cost().dgrad.cp, 30 - 0.5 * 2.5);
  a.framework.cp_overlap = 14;
  EXPECT_DOUBLE_EQ(a.cost().forward.cp, 1);
  EXPECT_EQ(a.cost().dgrad.cp, 0) << "and never less";
  // In order, the last rank has (2c - 1)/c of the mean work; attention then hides more.
  a.framework = {.cp_overlap = 1, .cp_in_order = true};
  EXPECT_DOUBLE_EQ(a.cost().forward.attention.seconds, 1.75);
  EXPECT_DOUBLE_EQ(a.cost().forward.cp, 15 - 1.75);
  a.framework = {.attention_factor = 3};
  EXPECT_DOUBLE_EQ(a.cost().forward.attention.seconds, 3);
}

TEST(LayerCosts, dispatch_and_combine_are_hidden_as_the_recipe_says) {
  LayerAsk a;
  a.job.model = mixtral();
  a.layout = {.dp = 64, .ep = 8};
  const auto ep = [&] { return a.cost(workload::LayerKind::moe).forward.ep; };
  EXPECT_DOUBLE_EQ(ep(), 2 * 7);
  EXPECT_DOUBLE_EQ(a.cost(workload::LayerKind::moe).dgrad.ep, 2 * 7);
  EXPECT_EQ(a.cost(workload::LayerKind::moe).forward.expert_layers, 1);
  EXPECT_EQ(a.cost(workload::LayerKind::dense).forward.ep, 0);
  a.framework = {.ep_overlap = 0.5, .ep_interleaved_overlap = 0.75};
  EXPECT_DOUBLE_EQ(ep(), 7);
  a.job.recipe.a2a_overlap = true;
  EXPECT_DOUBLE_EQ(ep(), 3.5);
  a.job.recipe.a2a_overlap = false;
  EXPECT_DOUBLE_EQ(ep(), 7);
  a.job.recipe.a2a_overlap.reset();
  a.layout.vp = 2;
  EXPECT_DOUBLE_EQ(ep(), 7) << "interleaved, but inside a domain";
  a.job.scaleup = 4;
  EXPECT_DOUBLE_EQ(ep(), 3.5) << "it leaves the domain";
  a.layout.vp = 1;
  EXPECT_DOUBLE_EQ(ep(), 7);
  a.layout.schedule = catalog::Schedule::dualpipe;
  EXPECT_DOUBLE_EQ(ep(), 3.5);
  a.layout = {.dp = 64, .ep = 1};
  EXPECT_EQ(ep(), 0);
}

// Two choices among eight experts on two domains: the one other domain is reached with probability
// 1 - 1/4, while 2 x 1/2 copies would leave: 0.75 of them cross. The collective library sends every
// copy.
TEST(LayerCosts, token_crosses_once_per_domain) {
  LayerAsk a;
  a.job.model = mixtral();
  a.job.scaleup = 4;
  a.layout = {.dp = 64, .ep = 8};
  const auto sent = [&](Dispatcher d) {
    a.job.recipe.dispatcher = d;
    a.cost(workload::LayerKind::moe);
    return a.counted.sent;
  };
  const double all = sent(Dispatcher::all_to_all);
  EXPECT_DOUBLE_EQ(sent(Dispatcher::deepep) / all, (1 - 0.25) / (2 * 0.5));
  a.job.model.expert_groups = 4;
  a.job.model.expert_groups_per_token = 1;
  EXPECT_DOUBLE_EQ(sent(Dispatcher::deepep) / all, 0.5 / (2 * 0.5)) << "one domain at the most";
  a.job.scaleup = 8;
  EXPECT_DOUBLE_EQ(sent(Dispatcher::deepep) / all, 1) << "nothing leaves";
}

// Full recompute repeats the forward pass, including its communication, for a share of the layers.
TEST(LayerCosts, recompute_repeats_its_share_of_forward) {
  LayerAsk a;
  a.layout = {.tp = 8, .dp = 8, .recompute = catalog::Recompute::full};
  const LayerCost whole = a.cost();
  EXPECT_DOUBLE_EQ(whole.recompute.tp, whole.forward.tp);
  EXPECT_DOUBLE_EQ(whole.recompute.attention.seconds, 1);
  EXPECT_DOUBLE_EQ(whole.recompute.kernels, whole.forward.kernels);
  a.layout.recompute_share = 0.25;
  EXPECT_DOUBLE_EQ(a.cost().recompute.tp, whole.forward.tp / 4);
  a.framework.early_stop = true;
  EXPECT_LT(a.cost().recompute.kernels, whole.forward.kernels / 4) << "not its last product";
  a.framework = {};
  a.layout.recompute = catalog::Recompute::selective;
  EXPECT_EQ(a.cost().recompute.attention.seconds, 0) << "flash attention keeps no scores";
  a.framework.style.fused_attention = false;
  EXPECT_GT(a.cost().recompute.kernels, 0);
  a.layout.recompute = catalog::Recompute::none;
  EXPECT_EQ(a.cost().recompute.kernels, 0);
}

// Half of the layers have a window: their mean is half of each.
TEST(LayerCosts, windowed_and_full_layers_are_averaged) {
  LayerAsk a;
  a.job.model.sliding_window = 512;
  a.job.model.full_attention_every = 2;
  const LayoutGroups groups = groups_of(a.job, a.layout);
  const testing_support::Roofline roof{.bandwidth = 1e30, .launch = 0};
  const CostSource source = roof.source();
  const LayerQuery q{a.job, a.layout, a.framework, groups, source};
  StepScratch scratch;
  const auto kind = workload::LayerKind::dense;
  const double near = layer_cost(q, kind, true, scratch).forward.attention.seconds;
  const double full = layer_cost(q, kind, false, scratch).forward.attention.seconds;
  EXPECT_LT(near, 0.5 * full);
  EXPECT_NEAR(mean_layer_cost(q, kind, scratch).forward.attention.seconds, (near + full) / 2,
              1e-12);
  a.job.model.full_attention_every = 0;
  EXPECT_NEAR(mean_layer_cost(q, kind, scratch).forward.attention.seconds, near, 1e-15);
}

TEST(LayerCosts, split_follows_layout_and_job) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .imbalance = 1.2};
  const Layout l{.tp = 4, .cp = 2, .ep = 8, .microbatch = 3, .sequence_parallel = false};
  const workload::LayerSplit s = split_of(job, l);
  EXPECT_EQ(s.microbatch, 3);
  EXPECT_EQ(s.sequence, 4096);
  EXPECT_EQ(s.tp, 4);
  EXPECT_EQ(s.cp, 2);
  EXPECT_EQ(s.ep, 8);
  EXPECT_FALSE(s.sequence_parallel);
  EXPECT_EQ(s.imbalance, 1.2);
  EXPECT_FALSE(s.frozen);
  EXPECT_FALSE(s.adapters_on_mlp);
  job.task = TrainingTask::lora;
  job.recipe.lora_on_mlp = true;
  EXPECT_TRUE(split_of(job, l).frozen);
  EXPECT_TRUE(split_of(job, l).adapters_on_mlp);
}

TEST(LayerCosts, eager_execution_moves_more_bytes_and_launches_more) {
  TrainingJob job{.model = gpt(4, 1024, 8), .compiled = true};
  const FrameworkModel f{.style = {.pointwise_traffic = 2, .loss_bytes = 10}, .eager_traffic = 1.5};
  EXPECT_EQ(style_of(f, job).pointwise_traffic, 2);
  job.compiled = false;
  EXPECT_EQ(style_of(f, job).pointwise_traffic, 3);
  EXPECT_EQ(style_of(f, job).loss_bytes, 15);
  EXPECT_FALSE(style_of(f, job).fused_pointwise);
  LayerAsk a;
  const double compiled = a.cost().forward.kernels;
  a.job.compiled = false;
  a.framework.eager_kernels = 3;
  EXPECT_GE(a.cost().forward.kernels, 3 * compiled);
}

}  // namespace
}  // namespace orrery::training
