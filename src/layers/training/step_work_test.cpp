// The work of a step that its clock is asked about, gradients added apart, and owners of states.
#include <gtest/gtest.h>

#include "core/workload/model_math.h"
#include "layers/training/step.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::mixtral;

// Every product takes a second, attention ten, and a pass a nanosecond a byte; what the clock was
// asked is kept.
struct Asking {
  mutable OpCost busy;
  mutable double waiting = 0;
  double clock = 1;

  static OpCost kernel(const void*, const workload::Operation& op) {
    if (std::holds_alternative<workload::Gemm>(op)) return {.seconds = 1, .clocked = 0.5};
    if (std::holds_alternative<workload::Attention>(op)) return {.seconds = 10, .clocked = 4};
    return {.seconds = 1e-9 * bytes_of(op).base()};
  }
  static double collective(const void*, const workload::CollectiveCall&) { return 0; }
  static ClockAnswer answer(const void* at, const OpCost& busy, double waiting) {
    const auto* self = static_cast<const Asking*>(at);
    self->busy = busy;
    self->waiting = waiting;
    return {.clock = self->clock, .watts = 321};
  }
  StepEstimate step(const TrainingJob& job, const Layout& l, const FrameworkModel& f = {}) const {
    StepScratch scratch;
    EXPECT_EQ(refuse_layout(job, l), std::nullopt);
    const CostSource source{
        .context = this, .kernel = kernel, .collective = collective, .clock = answer};
    return estimate_step(job, l, f, source, scratch);
  }
};

TrainingJob dense_work() { return {.model = gpt(8, 64, 4), .sequence = 64, .batch = 8, .gpus = 2}; }

// A layer of gpt has 4 products each way and of weights, and attention twice; the head three.
TEST(StepWork, a_dense_models_products_and_attention) {
  const Asking a;
  const FrameworkModel f{.update_traffic = 0};
  const StepEstimate e = a.step(dense_work(), {.dp = 2}, f);
  EXPECT_EQ(e.microbatches, 4);
  EXPECT_NEAR(a.busy.clocked, 4 * (8 * (12 * 0.5 + 2 * 4.0) + 3 * 0.5), 1e-9);
  EXPECT_EQ(e.watts, 321);
  EXPECT_EQ(e.clock, 1);
  EXPECT_NEAR(a.waiting, 0, 1e-9);
  // On two stages each device does half of it.
  const TrainingJob job = dense_work();
  const StepEstimate piped = a.step(job, {.pp = 2}, f);
  EXPECT_NEAR(a.busy.clocked, 8 / 2.0 * (8 * 14.0 + 1.5), 1e-9);
  EXPECT_NEAR(a.waiting, piped.seconds - a.busy.seconds, 1e-9);
  EXPECT_GT(a.waiting, 0);
}

// With experts: router and two grouped in the place of the MLP's two products. Three layers are
// dense.
TEST(StepWork, layers_with_experts_are_in_it) {
  const Asking a;
  TrainingJob job{.model = mixtral(), .sequence = 64, .batch = 8, .gpus = 2};
  job.model.first_dense_layers = 3;
  a.step(job, {.dp = 2}, {.update_traffic = 0});
  EXPECT_NEAR(a.busy.clocked, 4 * (3 * (12 * 0.5 + 8) + 29 * (15 * 0.5 + 8) + 1.5), 1e-9);
}

TEST(StepWork, a_lower_clock_stretches_the_step) {
  Asking a;
  const FrameworkModel f{.update_traffic = 0};
  const double full = a.step(dense_work(), {.dp = 2}, f).seconds;
  const double clocked = a.busy.clocked;
  a.clock = 0.5;
  const StepEstimate e = a.step(dense_work(), {.dp = 2}, f);
  EXPECT_NEAR(e.seconds, full + clocked, 1e-9);
  EXPECT_EQ(e.clock, 0.5);
}

// Gradients that a pass of their own adds: read and written once a microbatch, all of a rank's.
TEST(StepWork, added_gradients_are_of_dense_and_expert_parameters) {
  const Asking a;
  TrainingJob job{.model = mixtral(), .sequence = 64, .batch = 8, .gpus = 2};
  const FrameworkModel plain{.update_traffic = 0};
  const FrameworkModel adds{.update_traffic = 0, .accumulate_traffic = 12};
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double all = 32 * c.moe_layer(8) + 2 * c.embedding;
  const StepEstimate before = a.step(job, {.dp = 2}, plain);
  const double busy = a.busy.seconds;
  const StepEstimate after = a.step(job, {.dp = 2}, adds);
  EXPECT_NEAR(after.part(StepPhase::passes) - before.part(StepPhase::passes), 4 * 12e-9 * all,
              1e-6 * all * 1e-9);
  EXPECT_NEAR(a.busy.seconds - busy, 4 * 12e-9 * all, 1e-6 * all * 1e-9);
  job.task = TrainingTask::lora;
  const double frozen = a.step(job, {.dp = 2}, plain).seconds;
  EXPECT_EQ(a.step(job, {.dp = 2}, adds).seconds, frozen) << "frozen weights have none";
}

// Of four stages: embedding and two layers, two layers, two layers, two layers and the head.
TEST(StepWork, added_gradients_of_every_stage) {
  const Asking a;
  TrainingJob job = dense_work();
  job.gpus = 4;
  job.model.tied_embeddings = false;
  const FrameworkModel plain{.update_traffic = 0};
  const FrameworkModel adds{.update_traffic = 0, .accumulate_traffic = 12};
  const workload::ParameterCount c = workload::count_parameters(job.model);
  a.step(job, {.pp = 4}, plain);
  const double busy = a.busy.seconds;
  const StepEstimate e = a.step(job, {.pp = 4}, adds);
  const double all = 8 * c.dense_layer() + 2 * c.embedding;
  EXPECT_NEAR(a.busy.seconds - busy, 8 / 4.0 * 12e-9 * all, 1e-12 * all);
  const StepEstimate bare = a.step(job, {.pp = 4}, plain);
  const auto more = [&](const StageTimes PipelineStages::* stage) {
    return ((e.stages.*stage).wgrad - (bare.stages.*stage).wgrad) / 12e-9;
  };
  EXPECT_NEAR(more(&PipelineStages::first), 2 * c.dense_layer() + c.embedding, 1e-3);
  EXPECT_NEAR(more(&PipelineStages::middle), 2 * c.dense_layer(), 1e-3);
  EXPECT_NEAR(more(&PipelineStages::last), 2 * c.dense_layer() + c.embedding, 1e-3);
}

// The first stage's states: two layers and the embedding, of four replicas a quarter.
TEST(StepWork, the_optimizer_is_the_first_stages) {
  const Asking a;
  TrainingJob job = dense_work();
  job.gpus = 8;
  job.model.tied_embeddings = false;
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double first = 4 * c.dense_layer() + c.embedding;
  EXPECT_NEAR(a.step(job, {.pp = 2, .dp = 4}, {.update_traffic = 30}).part(StepPhase::optimizer),
              30e-9 * first / 4, 1e-12);
  EXPECT_NEAR(a.step(job, {.dp = 8}, {.update_traffic = 30}).part(StepPhase::optimizer),
              30e-9 * (8 * c.dense_layer() + 2 * c.embedding) / 8, 1e-12);
  EXPECT_NEAR(a.step(job, {.dp = 8, .sharding = catalog::Sharding::none}, {.update_traffic = 30})
                  .part(StepPhase::optimizer),
              30e-9 * (8 * c.dense_layer() + 2 * c.embedding), 1e-12);
}

TEST(StepWork, an_estimate_of_nothing) {
  const StepEstimate e;
  EXPECT_EQ(e.seconds + e.watts + e.communication_s, 0);
  EXPECT_EQ(e.clock, 1);
  EXPECT_EQ(e.microbatches, 0);
}

}  // namespace
}  // namespace orrery::training
