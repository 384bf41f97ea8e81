// Layers on stages and what a stage holds, by hand; a layout's groups and what refuses it.
#include "layers/training/stages.h"

#include <gtest/gtest.h>

#include <array>

#include "core/workload/model_math.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::mixtral;

using Thirds = std::array<double, 3>;
Thirds dealt(int layers, int pp, int vp, double head) {
  const StageLayers s = stage_layers(layers, pp, vp, head);
  return {s.first, s.middle, s.last};
}

TEST(Stages, LayersAreDealtEvenlyOrWithEndsAsSlotsOrBalanced) {
  EXPECT_EQ(dealt(96, 1, 1, 1), (Thirds{96, 0, 96}));
  EXPECT_EQ(dealt(96, 8, 3, 2), (Thirds{12, 12, 12})) << "the head on top of the last";
  EXPECT_EQ(dealt(126, 16, 8, 1), (Thirds{7, 8, 7})) << "Llama 3: 126 + 2 on 16 x 8";
  // 61 layers and a head of one: 8 a stage at the most, the last 7 beside the head; of the other 54
  // the middles have 8 each and the first what is left.
  EXPECT_EQ(dealt(61, 8, 1, 1), (Thirds{6, 8, 7}));
  EXPECT_EQ(dealt(61, 2, 1, 3), (Thirds{32, 0, 29}));
  EXPECT_EQ(dealt(61, 2, 1, 40), (Thirds{50, 0, 11}));
}

// The middle is the fullest of several: where they differ, all but one of them have a layer less.
TEST(Stages, NoLayerIsLostAndNoStageIsFullerThanItMust) {
  for (const int pp : {2, 3, 4, 6, 8}) {
    for (int layers = 4 * pp; layers < 6 * pp + 7; ++layers) {
      for (const double head : {0.5, 1.0, 2.5}) {
        const StageLayers s = stage_layers(layers, pp, 1, head);
        const double sum = s.first + (pp - 2) * s.middle + s.last;
        EXPECT_GE(sum, layers) << layers << " on " << pp;
        EXPECT_LE(sum, layers + pp - 2) << layers << " on " << pp;
        EXPECT_LE(s.last, pp > 2 ? s.middle : s.first) << layers << " on " << pp;
      }
    }
  }
}

// The stages of a model together: its layers, the embedding, and a head that is another's copy
// where it is tied and stands on another stage.
TEST(Stages, HoldTheModelTogether) {
  TrainingJob job{.model = gpt(8, 64, 4)};
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const auto held = [&](StagePlace place, double layers, int tp = 1) {
    return stage_parameters(job, {.tp = tp}, place, layers);
  };
  const double layer = c.dense_layer();
  EXPECT_DOUBLE_EQ(held(StagePlace::only, 8).dense, 8 * layer + c.embedding);
  EXPECT_DOUBLE_EQ(held(StagePlace::first, 2).dense, 2 * layer + c.embedding);
  EXPECT_DOUBLE_EQ(held(StagePlace::middle, 2).dense, 2 * layer);
  EXPECT_DOUBLE_EQ(held(StagePlace::last, 2).dense, 2 * layer + c.embedding) << "a copy";
  EXPECT_DOUBLE_EQ(held(StagePlace::first, 2, 4).dense, (2 * layer + c.embedding) / 4);
  EXPECT_EQ(held(StagePlace::only, 8).expert, 0);
  EXPECT_EQ(held(StagePlace::only, 8).layer_expert, 0);
  EXPECT_DOUBLE_EQ(held(StagePlace::only, 8, 2).layer_dense, layer / 2);
  EXPECT_DOUBLE_EQ(held(StagePlace::only, 8, 2).largest_tensor, 51200.0 * 64 / 2);
  job.model.tied_embeddings = false;
  EXPECT_DOUBLE_EQ(held(StagePlace::only, 8).dense, 8 * layer + 2 * c.embedding);
  EXPECT_DOUBLE_EQ(held(StagePlace::last, 2).dense, 2 * layer + c.embedding);
  job.model.vocab = 100;
  EXPECT_DOUBLE_EQ(held(StagePlace::only, 8).largest_tensor, 64.0 * 256) << "of the MLP";
}

// The first dense layers lie on the first stage; experts are divided by ep and not by tp; modules
// that predict further tokens are on the last.
TEST(Stages, ExpertsAndPredictionModulesLieWhereTheyBelong) {
  TrainingJob job{.model = mixtral(), .train_mtp = false};
  job.model.first_dense_layers = 3;
  job.model.mtp_layers = 1;
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const Layout l{.tp = 2, .ep = 4};
  const auto held = [&](StagePlace place, double layers) {
    return stage_parameters(job, l, place, layers);
  };
  const double dense = c.dense_layer() / 2;
  const double routed = c.moe_layer(0) / 2;
  const double experts = c.expert * 8 / 4;
  EXPECT_DOUBLE_EQ(held(StagePlace::first, 8).dense, 3 * dense + 5 * routed + c.embedding / 2);
  EXPECT_DOUBLE_EQ(held(StagePlace::first, 8).expert, 5 * experts);
  EXPECT_DOUBLE_EQ(held(StagePlace::first, 2).expert, 0) << "all of them dense";
  EXPECT_DOUBLE_EQ(held(StagePlace::middle, 8).dense, 8 * routed);
  EXPECT_DOUBLE_EQ(held(StagePlace::middle, 8).expert, 8 * experts);
  EXPECT_DOUBLE_EQ(held(StagePlace::middle, 8).layer_dense, routed);
  EXPECT_DOUBLE_EQ(held(StagePlace::middle, 8).layer_expert, experts);
  const StageParameters plain = held(StagePlace::last, 8);
  job.train_mtp = true;
  const StageParameters more = held(StagePlace::last, 8);
  EXPECT_DOUBLE_EQ(more.expert - plain.expert, experts);
  EXPECT_DOUBLE_EQ(more.dense - plain.dense, routed + 2.0 * 4096 * 4096 / 2);
  EXPECT_DOUBLE_EQ(held(StagePlace::middle, 8).expert, 8 * experts) << "none in the middle";
}

// 64 GPUs in domains of 8, tp 4, cp 2, dp 4, pp 2: ranks are numbered tp, cp, dp, pp.
TEST(LayoutGroups, LieOnDomainsByTheirStride) {
  const auto same = [](const workload::GroupShape& g, int ranks, int per_domain) {
    EXPECT_EQ(g.ranks, ranks);
    EXPECT_EQ(g.per_domain, per_domain);
  };
  const TrainingJob job{.model = mixtral(), .gpus = 64, .scaleup = 8};
  const LayoutGroups g = groups_of(job, {.tp = 4, .pp = 2, .dp = 4, .cp = 2, .ep = 8});
  same(g.tp, 4, 4);
  same(g.cp, 2, 2);
  same(g.dp, 8, 2);
  same(g.ep, 8, 8);
  same(g.expert_dp, 4, 1);
  same(g.pp, 2, 1);
  same(groups_of(job, {.tp = 64}).tp, 64, 8);
  same(groups_of(job, {.tp = 64}).pp, 1, 1);
  // Of an NVL72's 72 a job of 128 fills 64 twice; a job that fits is in one domain, whatever it is.
  const TrainingJob wide{.model = mixtral(), .gpus = 128, .scaleup = 72};
  same(groups_of(wide, {.dp = 128}).dp, 128, 64);
  const TrainingJob odd{.model = mixtral(), .gpus = 36, .scaleup = 72};
  same(groups_of(odd, {.dp = 36}).dp, 36, 36);
}

TEST(LayoutFaults, EveryOneIsFoundAndTheNextOnePasses) {
  const TrainingJob gpt3 = testing_support::job_of_gpt3();
  const auto of = [&](const Layout& l) { return layout_fault(gpt3, l); };
  EXPECT_EQ(of({.tp = 8, .pp = 8}), LayoutFault::none);
  EXPECT_EQ(of({.tp = 8, .pp = 8, .microbatch = 0}), LayoutFault::below_one);
  EXPECT_EQ(of({.tp = 8, .pp = 4}), LayoutFault::device_count);
  EXPECT_EQ(of({.tp = 64}), LayoutFault::heads);
  EXPECT_EQ(of({.tp = 2, .dp = 8, .cp = 4}), LayoutFault::none);
  EXPECT_EQ(of({.tp = 8, .dp = 8, .microbatch = 16}), LayoutFault::batch);
  EXPECT_EQ(of({.tp = 8, .dp = 8, .microbatch = 8}), LayoutFault::none);
  EXPECT_EQ(of({.tp = 8, .vp = 2, .dp = 8}), LayoutFault::interleave_without_pipeline);
  EXPECT_EQ(of({.tp = 8, .pp = 8, .vp = 5}), LayoutFault::chunks);
  EXPECT_EQ(of({.tp = 8, .dp = 8, .ep = 2}), LayoutFault::experts_of_dense_model);
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 96, .gpus = 24};
  EXPECT_EQ(layout_fault(job, {.dp = 24, .ep = 8}), LayoutFault::none);
  EXPECT_EQ(layout_fault(job, {.dp = 24, .ep = 3}), LayoutFault::experts);
  EXPECT_EQ(layout_fault(job, {.pp = 2, .dp = 12, .ep = 8}), LayoutFault::expert_ranks);
  EXPECT_EQ(layout_fault(job, {.pp = 2, .dp = 12, .ep = 4}), LayoutFault::none);
  job.sequence = 4097;
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12}), LayoutFault::sequence);
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12, .sequence_parallel = false}), LayoutFault::none);
  EXPECT_EQ(layout_fault(job, {.dp = 12, .cp = 2}), LayoutFault::sequence);
  job.sequence = 4096;
  job.model.kv_heads = 6;
  EXPECT_EQ(layout_fault(job, {.tp = 4, .dp = 6}), LayoutFault::kv_heads);
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12}), LayoutFault::none);
  job.model.kv_heads = 2;
  EXPECT_EQ(layout_fault(job, {.tp = 4, .dp = 6}), LayoutFault::none) << "each on two ranks";
  job.model.ffn = 14335;
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12}), LayoutFault::ffn);
  job.model.ffn = 14336;
  job.model.layers = 61;
  EXPECT_EQ(layout_fault(job, {.pp = 4, .vp = 2, .dp = 6}), LayoutFault::none) << "cut by hand";
  job.model.layers = 60;
  EXPECT_EQ(layout_fault(job, {.pp = 4, .vp = 2, .dp = 6}), LayoutFault::chunks);
  job.model.layers = 9;
  EXPECT_EQ(layout_fault(job, {.pp = 12, .dp = 2}), LayoutFault::layers);
  EXPECT_EQ(layout_fault(job, {.pp = 8, .dp = 3}), LayoutFault::none);
}

}  // namespace
}  // namespace orrery::training
