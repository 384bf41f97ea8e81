// Layers on stages and what a stage holds, by hand; a layout's groups and why it is refused.
#include "layers/training/stages.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/workload/model_math.h"
#include "layers/training/layout.h"
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

TEST(Stages, layers_are_dealt_evenly_or_with_ends_as_slots_or_balanced) {
  EXPECT_EQ(dealt(96, 1, 1, 1), (Thirds{96, 0, 96}));
  EXPECT_EQ(dealt(96, 8, 3, 2), (Thirds{12, 12, 12})) << "the head on top of the last";
  EXPECT_EQ(dealt(126, 16, 8, 1), (Thirds{7, 8, 7})) << "Llama 3: 126 + 2 on 16 x 8";
  // 61 layers and a head worth one: at most 8 per stage, the last has 7 and the head; of the other
  // 54 the middle stages have 8 each and the first the rest.
  EXPECT_EQ(dealt(61, 8, 1, 1), (Thirds{6, 8, 7}));
  EXPECT_EQ(dealt(61, 2, 1, 3), (Thirds{32, 0, 29}));
  EXPECT_EQ(dealt(61, 2, 1, 40), (Thirds{50, 0, 11}));
}

// `middle` is the fullest of several: if they differ, all but one of them have a layer less.
TEST(Stages, no_layer_is_lost_and_no_stage_is_fuller_than_it_must) {
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

// The stages of a model together: its layers, the embedding, and a head that is a copy if it is
// tied and on another stage.
TEST(Stages, hold_the_model_together) {
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

// The first dense layers are on the first stage; experts are divided by ep and not by tp;
// prediction modules are on the last.
TEST(Stages, experts_and_prediction_modules_are_on_their_stages) {
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

std::vector<double> split_layers(int layers, int pp, int vp, double head) {
  const StageLayers s = stage_layers(layers, pp, vp, head);
  return {s.first, s.middle, s.last};
}

TEST(Stages, uneven_stages_are_balanced_with_the_head) {
  using V = std::vector<double>;
  // 14 + 2 on 4 x 4: the ends are slots, whatever the head costs.
  EXPECT_EQ(split_layers(14, 4, 4, 2.5), (V{3, 4, 3}));
  // 12 on 4 x 2 divides neither way: (12 + 2.5) / 4 is at most 4 per stage, the last has 1 and the
  // head.
  EXPECT_EQ(split_layers(12, 4, 2, 2.5), (V{3, 4, 1}));
  EXPECT_EQ(split_layers(3, 2, 1, 10), (V{3, 0, 0})) << "a heavy head has a stage to itself";
  EXPECT_EQ(split_layers(12, 4, 3, 9), (V{3, 3, 3})) << "even stages, the head on top";
  EXPECT_EQ(split_layers(13, 1, 1, 9), (V{13, 0, 13}));
  // (11 + 1) / 3 is 4: the last has 3; of 8 the middle has 4, the first the rest.
  EXPECT_EQ(split_layers(11, 3, 1, 1), (V{4, 4, 3}));
  // (7 + 0.5) / 5: at most 2, the last has 1; 6 over 4 stages are two each, which leaves none for
  // the first.
  EXPECT_EQ(split_layers(7, 5, 1, 0.5), (V{2, 2, 1}));
}

}  // namespace
}  // namespace orrery::training
