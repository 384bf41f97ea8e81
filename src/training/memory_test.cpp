#include "training/memory.h"

#include <gtest/gtest.h>

#include "training/test_support.h"

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
