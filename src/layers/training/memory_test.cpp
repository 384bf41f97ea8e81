#include "layers/training/memory.h"

#include <gtest/gtest.h>

#include "core/workload/model_math.h"
#include "layers/training/stage_memory.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::job_of_gpt3;
using testing_support::mixtral;

Bytes peak(const TrainingJob& job, const Layout& l, const FrameworkModel& f = {}) {
  StepScratch scratch;
  return estimate_memory(job, l, f, scratch).peak;
}

// Korthikanti et al. table 2: s b h (34 + 5 a s / h) bytes a layer without parallelism.
TEST(Memory, ActivationsOfALayerAreKorthikantis) {
  const catalog::ModelShape m = gpt(1, 12288, 96);
  workload::LayerWork work;
  const workload::KernelStyle megatron_2022{.fused_attention = false, .dropout = true};
  fill_layer_work(m, workload::LayerKind::dense, false,
                  {.microbatch = 1, .sequence = 2048, .sequence_parallel = false}, megatron_2022,
                  work);
  const double expected = 2048 * 12288.0 * (34 + 5 * 96 * 2048 / 12288.0);
  EXPECT_NEAR(work.saved.total() / expected, 1, 1e-6);
}

TEST(Memory, SequenceParallelismDividesEverySavedTensor) {
  const catalog::ModelShape m = gpt(1, 12288, 96);
  const workload::KernelStyle style{.dropout = true};
  workload::LayerWork whole;
  workload::LayerWork split;
  fill_layer_work(m, workload::LayerKind::dense, false, {.sequence = 2048}, style, whole);
  fill_layer_work(m, workload::LayerKind::dense, false, {.sequence = 2048, .tp = 8}, style, split);
  EXPECT_NEAR(whole.saved.total() / split.saved.total(), 8, 1e-9);
}

// Rajbhandari et al. (arXiv 1910.02054): 2 + 2 + 12 bytes a parameter here kept as 2 + 4 + 12.
TEST(Memory, ShardingDividesTheStatesItNames) {
  const TrainingJob job{.model = gpt(32, 4096, 32), .sequence = 128, .batch = 8, .gpus = 8};
  StepScratch scratch;
  const auto stage = [&](catalog::Sharding s) {
    return estimate_memory(job, {.dp = 8, .sharding = s}, {}, scratch).stage;
  };
  const StageMemory none = stage(catalog::Sharding::none);
  EXPECT_DOUBLE_EQ(none.optimizer / none.weights, 6);
  EXPECT_DOUBLE_EQ(none.optimizer / stage(catalog::Sharding::zero1).optimizer, 8);
  EXPECT_DOUBLE_EQ(none.gradients / stage(catalog::Sharding::zero2).gradients, 8);
  EXPECT_LT(stage(catalog::Sharding::zero3).weights, none.weights * 0.25);
}

// Of 8 layers of gpt: zero3 keeps an eighth of all and two gathered layers, zero1 whole weights and
// gradients. In a pipeline what was gathered stays, and gradients are whole.
TEST(Memory, WhatAShardedStageHoldsByHand) {
  TrainingJob job{.model = gpt(8, 512, 8), .sequence = 128, .batch = 64, .gpus = 8};
  const FrameworkModel f{
      .weight_bytes = 2, .gradient_bytes = 4, .optimizer_bytes = 12, .gather_bytes = 3};
  StepScratch scratch;
  const auto at = [&](const Layout& l) { return estimate_memory(job, l, f, scratch).first; };
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double whole = 8 * c.dense_layer() + c.embedding;
  const StageMemory z3 = at({.dp = 8, .sharding = catalog::Sharding::zero3});
  EXPECT_DOUBLE_EQ(z3.weights.base(), whole / 8 * 2 + 2 * c.dense_layer() * 3);
  EXPECT_DOUBLE_EQ(z3.gradients.base(), whole / 8 * 4);
  EXPECT_DOUBLE_EQ(z3.optimizer.base(), whole / 8 * 12);
  const StageMemory z1 = at({.dp = 8, .sharding = catalog::Sharding::zero1});
  EXPECT_DOUBLE_EQ(z1.weights.base(), whole * 2);
  EXPECT_DOUBLE_EQ(z1.gradients.base(), whole * 4);
  const double half = 4 * c.dense_layer() + c.embedding;
  const StageMemory piped = at({.pp = 2, .dp = 4, .sharding = catalog::Sharding::zero3});
  EXPECT_DOUBLE_EQ(piped.weights.base(), half / 4 * 2 + half * 3);
  EXPECT_DOUBLE_EQ(piped.gradients.base(), half * 4);
  const Layout both{.pp = 2, .dp = 4, .schedule = catalog::Schedule::dualpipe};
  EXPECT_DOUBLE_EQ(at(both).weights.base(), half * 2 * 2) << "two stages a device";
  EXPECT_EQ(at(both).in_flight, 3);
  job.shard_group = 2;
  EXPECT_DOUBLE_EQ(at({.dp = 8, .sharding = catalog::Sharding::zero3}).optimizer.base(),
                   whole / 2 * 12);
  EXPECT_DOUBLE_EQ(at({.dp = 8, .sharding = catalog::Sharding::zero1}).optimizer.base(),
                   whole / 8 * 12)
      << "it is zero3's";
  job.task = TrainingTask::lora;
  EXPECT_EQ(at({.dp = 8}).gradients.base() + at({.dp = 8}).optimizer.base(), 0);
}

// Gradients that are made tensor by tensor: the update's, where it is the larger moment, or those
// that the first microbatch left.
TEST(Memory, LazyGradientsAreThereAtTheUpdateOrNotAtAll) {
  TrainingJob job{.model = gpt(8, 512, 8), .sequence = 16, .batch = 1, .gpus = 1};
  const FrameworkModel f{.gradient_bytes = 4, .lazy_gradients = true, .update_gradient_bytes = 6};
  StepScratch scratch;
  const auto now = [&] {
    return estimate_memory(job, {.sharding = catalog::Sharding::none}, f, scratch).stage;
  };
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double whole = 8 * c.dense_layer() + c.embedding;
  EXPECT_TRUE(now().peak_at_update);
  EXPECT_DOUBLE_EQ(now().gradients.base(), whole * 6 + 2 * c.embedding);
  EXPECT_EQ(now().activations.base() + now().logits.base(), 0);
  job.sequence = 1 << 16;
  EXPECT_FALSE(now().peak_at_update);
  EXPECT_EQ(now().gradients.base(), 0) << "of one microbatch";
  EXPECT_GT(now().activations.base(), 0);
  job.batch = 2;
  EXPECT_DOUBLE_EQ(now().gradients.base(), whole * 4);
}

// Of a share of the layers what is kept lies between all and none of it, in proportion; full
// recompute keeps one layer whole beside it.
TEST(Memory, PartialRecomputeKeepsItsShare) {
  const TrainingJob job = job_of_gpt3(64, 64);
  StepScratch scratch;
  const auto kept = [&](double share) {
    const Layout l{
        .tp = 8, .pp = 8, .recompute = catalog::Recompute::full, .recompute_share = share};
    return estimate_memory(job, l, {}, scratch).first.activations.base();
  };
  // Of none recomputed all is kept, and one layer is whole beside it: of 12 layers of 8
  // microbatches.
  const double all = estimate_memory(job, {.tp = 8, .pp = 8}, {}, scratch).first.activations.base();
  const double input = 2048.0 * 12288 * 2 / 8;
  EXPECT_NEAR(kept(0) / (all + (all - 8 * input) / (12 * 8)), 1, 1e-9);
  EXPECT_GT(kept(0), 2 * kept(1));
  for (const double share : {0.25, 0.5, 0.9}) {
    EXPECT_NEAR(kept(share) / (kept(0) * (1 - share) + kept(1) * share), 1, 1e-9) << share;
  }
}

TEST(Memory, NoMoreIsInFlightThanThereAreMicrobatches) {
  StepScratch scratch;
  for (const int vp : {1, 3}) {
    const Layout l{.tp = 8, .pp = 8, .vp = vp};
    EXPECT_DOUBLE_EQ(estimate_memory(job_of_gpt3(64, 2), l, {}, scratch).first.in_flight, 2) << vp;
  }
}

TEST(Memory, EveryStageIsThere) {
  StepScratch scratch;
  const TrainingJob job = job_of_gpt3(64, 64);
  const Layout l{.tp = 8, .pp = 8};
  const auto stages = memory_by_stage(job, l, {}, scratch);
  const MemoryEstimate e = estimate_memory(job, l, {}, scratch);
  ASSERT_EQ(stages.size(), 8U);
  EXPECT_EQ(stages.front().total(), e.first.total());
  EXPECT_EQ(stages.back().total(), e.last.total());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(stages[static_cast<std::size_t>(i)].in_flight, 8 - i);
    EXPECT_EQ(stages[static_cast<std::size_t>(i)].logits.base() > 0, i == 7);
    EXPECT_LE(stages[static_cast<std::size_t>(i)].total(), e.peak);
  }
}

TEST(Memory, IsMonotoneInMicrobatchSequenceAndDepth) {
  const TrainingJob job = job_of_gpt3(64, 128);
  Layout l{.tp = 8, .pp = 8};
  Bytes before = peak(job, l);
  for (int b : {2, 4, 8}) {
    l.microbatch = b;
    const Bytes now = peak(job, l);
    EXPECT_GT(now, before);
    before = now;
  }
  TrainingJob longer = job;
  longer.sequence = 4096;
  EXPECT_GT(peak(longer, l), before);
  Layout full = l;
  full.recompute = catalog::Recompute::full;
  EXPECT_LT(peak(job, full), before);
}

TEST(Memory, FirstStageHoldsMostInFlight) {
  StepScratch scratch;
  const TrainingJob job = job_of_gpt3(64, 64);
  const MemoryEstimate e = estimate_memory(job, {.tp = 8, .pp = 8}, {}, scratch);
  EXPECT_DOUBLE_EQ(e.first.in_flight, 8);
  EXPECT_DOUBLE_EQ(e.last.in_flight, 1);
  // Interleaving adds (p-1)/(p v) to the first stage: arXiv 2104.04473 section 2.2.
  const MemoryEstimate v = estimate_memory(job, {.tp = 8, .pp = 8, .vp = 3}, {}, scratch);
  EXPECT_NEAR(v.first.in_flight, 8 * (1 + 7.0 / (8 * 3)), 1e-9);
}

TEST(Memory, ExpertsAreShardedOverTheirOwnReplicas) {
  const TrainingJob job{.model = mixtral(), .sequence = 1024, .batch = 64, .gpus = 64};
  StepScratch scratch;
  const StageMemory ep1 = estimate_memory(job, {.dp = 64}, {}, scratch).stage;
  const StageMemory ep8 = estimate_memory(job, {.dp = 64, .ep = 8}, {}, scratch).stage;
  EXPECT_LT(ep8.weights, ep1.weights * 0.2);
  // Their optimizer has 64 / 8 replicas to be divided by: the same share a device.
  EXPECT_NEAR(ep8.optimizer / ep1.optimizer, 1, 1e-9);
}

}  // namespace
}  // namespace orrery::training
