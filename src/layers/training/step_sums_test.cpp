// Sums over a step: parts that add up to its seconds for any layout, stages that have their layers,
// and how much of the replicas' traffic is hidden behind which pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/workload/model_math.h"
#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/memory.h"
#include "layers/training/pipeline.h"
#include "layers/training/search.h"
#include "layers/training/step.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::mixtral;
using testing_support::Roofline;

// A roofline whose collectives cost by their bytes alone, and that records the participating
// groups.
struct Flat {
  Roofline kernels;
  double per_byte = 1e-11;
  std::optional<workload::Collective> only = std::nullopt;
  mutable std::vector<workload::CollectiveCall> calls = {};

  static OpCost kernel(const void* context, const workload::Operation& op) {
    return Roofline::kernel(&static_cast<const Flat*>(context)->kernels, op);
  }
  static double collective(const void* context, const workload::CollectiveCall& call) {
    const auto& flat = *static_cast<const Flat*>(context);
    flat.calls.push_back(call);
    return call.kind == flat.only.value_or(call.kind) ? flat.per_byte * call.bytes.base() : 0;
  }
  StepEstimate step(const TrainingJob& job, const Layout& l, const FrameworkModel& f = {}) const {
    StepScratch scratch;
    EXPECT_EQ(refuse_layout(job, l), std::nullopt);
    return estimate_step(
        job, l, f, {.context = this, .kernel = &Flat::kernel, .collective = &Flat::collective},
        scratch);
  }
};

TrainingJob summed_job(int gpus, int batch) {
  return {.model = gpt(24, 2048, 16), .sequence = 2048, .batch = batch, .gpus = gpus, .scaleup = 8};
}

// Every exposed second is in a part, and the parts add up to the step.
TEST(StepSums, parts_add_up_to_the_step) {
  const Flat machine;
  TrainingJob experts{.model = mixtral(), .sequence = 2048, .batch = 64, .gpus = 16, .scaleup = 8};
  const FrameworkModel f{.host_launch_s = 1e-6, .step_overhead_s = 0.01, .straggler = 0.01};
  const auto expect_sum = [&](const TrainingJob& job, const Layout& l) {
    const StepEstimate e = machine.step(job, l, f);
    const double sum = std::accumulate(e.parts.begin(), e.parts.end(), 0.0);
    EXPECT_NEAR(sum, e.seconds, 1e-9 * e.seconds) << to_text(l);
    return e;
  };
  const StepEstimate context = expect_sum(summed_job(16, 64), {.tp = 2, .dp = 2, .cp = 4});
  EXPECT_GT(context.part(StepPhase::cp), 0.01 * context.seconds);
  EXPECT_GT(context.part(StepPhase::tp), 0);
  EXPECT_NEAR(
      context.communication_s,
      context.part(StepPhase::tp) + context.part(StepPhase::cp) + context.part(StepPhase::dp),
      1e-12);
  expect_sum(summed_job(16, 64), {.tp = 2, .pp = 4, .cp = 2});
  expect_sum(summed_job(16, 64), {.pp = 4, .vp = 3, .dp = 4});
  const StepEstimate routed = expect_sum(experts, {.tp = 2, .dp = 8, .ep = 8});
  EXPECT_GT(routed.part(StepPhase::ep), 0);
  expect_sum(experts, {.tp = 2, .dp = 4, .cp = 2, .ep = 4});
}

// Eight layers on each of three stages, six on each of four: a middle stage has nothing else.
TEST(StepSums, middle_stages_hold_only_layers) {
  const Flat machine;
  const FrameworkModel f{.pp_overlap = 1};
  const StageTimes three = machine.step(summed_job(3, 6), {.pp = 3}, f).stages.middle;
  const StageTimes four = machine.step(summed_job(4, 8), {.pp = 4}, f).stages.middle;
  ASSERT_GT(three.forward, 0);
  EXPECT_NEAR(three.forward / 8, four.forward / 6, 1e-12);
  EXPECT_NEAR(three.dgrad / 8, four.dgrad / 6, 1e-12);
  EXPECT_NEAR(three.wgrad / 8, four.wgrad / 6, 1e-12);
}

// Thirteen layers and a head of about two on four stages: at most four each, so the last has one
// besides its head, and the middle ones four.
TEST(StepSums, uneven_layers_are_balanced_with_the_head) {
  const Flat machine;
  const FrameworkModel f{.pp_overlap = 1};
  TrainingJob job = summed_job(4, 8);
  const StepEstimate even = machine.step(job, {.pp = 4}, f);
  const double layer = even.stages.middle.forward / 6;
  const double head = even.stages.last.forward - even.stages.middle.forward;
  const auto total = [](const StageTimes& t) { return t.total(); };
  const double weight =
      (total(even.stages.last) - total(even.stages.middle)) / (total(even.stages.middle) / 6);
  ASSERT_GT(weight, 1.5);
  ASSERT_LT(weight, 2.9);
  job.model.layers = 13;
  const StepEstimate uneven = machine.step(job, {.pp = 4}, f);
  EXPECT_NEAR(uneven.stages.middle.forward / layer, 4, 1e-6);
  EXPECT_NEAR((uneven.stages.last.forward - head) / layer, std::floor(4 - weight), 1e-6);
}

// Sets of four of sixteen ranks, where only sums across sets take time: four sets sum a quarter of
// the gradients each, four bytes per parameter, and the backward pass hides its share.
TEST(StepSums, hybrid_shard_reduction_hides_behind_backward) {
  const Flat machine{.per_byte = 1e-10, .only = workload::Collective::all_reduce};
  TrainingJob job = summed_job(16, 64);
  job.shard_group = 4;
  const Layout l{.dp = 16, .sharding = catalog::Sharding::zero3};
  const StepEstimate whole = machine.step(job, l);
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double sum = 1e-10 * (24 * c.dense_layer() + c.embedding) * 4 / 4;
  EXPECT_NEAR(whole.part(StepPhase::dp), sum, 1e-9);
  for (const workload::CollectiveCall& call : machine.calls) {
    EXPECT_EQ(call.group.ranks, 4);
    // Domains have eight of the sixteen ranks: a set is entirely inside one, and two of the four
    // sets share one.
    const bool across = call.kind == workload::Collective::all_reduce;
    EXPECT_EQ(call.group.per_domain, across ? 2 : 4);
  }
  const StageTimes& t = whole.stages.first;
  const double hidden = 0.1 * (t.dgrad + t.wgrad);
  ASSERT_LT(hidden, sum);
  EXPECT_NEAR(machine.step(job, l, {.dp_overlap = 0.1}).part(StepPhase::dp), sum - hidden, 1e-9);
  EXPECT_EQ(machine.step(job, l, {.dp_overlap = 2 * sum / hidden}).part(StepPhase::dp), 0);
}

// One all-reduce of all parameters over sixteen ranks in two domains, without sharding.
struct Exposed {
  double all = 0;
  double some = 0;
  double crowded = 0;
};
Exposed exposed_of(const TrainingJob& job, const Layout& l, double overlap, double contention) {
  const Flat machine;
  const auto dp = [&](const FrameworkModel& f) {
    return machine.step(job, l, f).part(StepPhase::dp);
  };
  return {.all = dp({}),
          .some = dp({.dp_overlap = overlap}),
          .crowded = dp({.dp_overlap = overlap, .contention = contention})};
}

// Hidden traffic that leaves its domain slows concurrent products by its share of contention.
TEST(StepSums, contention_slows_only_hidden_traffic) {
  const Layout l{.dp = 16, .sharding = catalog::Sharding::none};
  const TrainingJob job = summed_job(16, 64);
  const Flat machine;
  const StageTimes pass = machine.step(job, l).stages.first;
  const Exposed e = exposed_of(job, l, 0.1, 0.5);
  ASSERT_GT(e.some, 0.05 * e.all);
  ASSERT_LT(e.some, 0.95 * e.all);
  EXPECT_NEAR(e.all - e.some, 0.1 * (pass.dgrad + pass.wgrad), 1e-9);
  EXPECT_NEAR(e.crowded, e.some + 0.5 * (e.all - e.some), 1e-9);
  TrainingJob near = job;
  near.gpus = 8;
  near.batch = 32;
  const Exposed inside = exposed_of(near, {.dp = 8, .sharding = catalog::Sharding::none}, 0.1, 0.5);
  EXPECT_EQ(inside.crowded, inside.some) << "nothing leaves the domain";
}

// Two chunks per stage: all but one chunk's share can hide behind the passes of as many
// microbatches as come in turn: four stages' worth, or all of them if there are fewer.
TEST(StepSums, interleaved_chunks_hide_gradient_traffic) {
  for (const int microbatches : {2, 4, 12}) {
    TrainingJob job = summed_job(16, 4 * microbatches);
    job.model.vocab = 64;
    const Layout l{.pp = 4, .vp = 2, .dp = 4, .sharding = catalog::Sharding::none};
    const Flat machine{.per_byte = 1e-9};
    const StepEstimate bare = machine.step(job, l);
    const double all = bare.part(StepPhase::dp);
    const double turns = std::min(4, microbatches);
    const SlowestStage at =
        pipeline_time(bare.stages, microbatches, 2, catalog::Schedule::interleaved).slowest;
    const StageTimes slowest = at == SlowestStage::first    ? bare.stages.first
                               : at == SlowestStage::middle ? bare.stages.middle
                                                            : bare.stages.last;
    const double pass = slowest.dgrad + slowest.wgrad;
    // So much that hiding ends with what is queued, not with the last chunk.
    const double overlap = 0.9 * all / (pass * turns);
    const double window = overlap * pass / 2;
    const double expected = std::max({0.0, all / 2 - window, all - window * ((2 - 1) * turns + 1)});
    ASSERT_GT(expected, 0);
    const double got = machine.step(job, l, {.dp_overlap = overlap}).part(StepPhase::dp);
    EXPECT_NEAR(got / expected, 1, 1e-6) << microbatches;
  }
}

// A first stage ten times as slow as the last is never idle.
TEST(StepSums, slowest_stage_has_no_bubble) {
  const PipelineStages two{.first = {10, 10, 10}, .last = {1, 1, 1}, .count = 2};
  const PipelineTime t = pipeline_time(two, 4, 1, catalog::Schedule::one_f_one_b);
  EXPECT_DOUBLE_EQ(t.seconds, 120);
  EXPECT_DOUBLE_EQ(t.bubble, 0);
  EXPECT_EQ(t.slowest, SlowestStage::first);
  // Slow in forward only: 1 x 10 hides all of the last stage's 9 in the forward pass, and 2 of them
  // in the backward pass.
  const PipelineStages half{.first = {10, 1, 1}, .last = {3, 3, 3}, .count = 2};
  const PipelineTime u = pipeline_time(half, 4, 1, catalog::Schedule::one_f_one_b);
  EXPECT_DOUBLE_EQ(u.seconds, 4 * 12 + 7);
  EXPECT_DOUBLE_EQ(u.bubble, 7);
  // Weight gradients that could fill more than the bubble fill all of it: 6 + 1 idle, 2 x 5 to fill
  // with.
  const PipelineStages heavy{.first = {1, 1, 5}, .last = {1, 1, 5}, .count = 2};
  const PipelineTime v = pipeline_time(heavy, 4, 1, catalog::Schedule::zero_bubble);
  EXPECT_DOUBLE_EQ(v.seconds, 4 * 7);
  EXPECT_DOUBLE_EQ(v.bubble, 0);
}

// Gradients of an earlier microbatch are in memory together with the activations of the next: with
// them the backward pass is the larger moment, without them the update is.
TEST(StepSums, accumulated_gradients_count_in_backward) {
  TrainingJob job{.model = gpt(4, 1024, 16), .sequence = 512, .batch = 1, .gpus = 1};
  const FrameworkModel f{.gradient_bytes = 4, .lazy_gradients = true, .update_gradient_bytes = 4};
  const Layout l{.sharding = catalog::Sharding::none};
  StepScratch scratch;
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double whole = 4 * c.dense_layer() + c.embedding;
  const StageMemory one = estimate_memory(job, l, f, scratch).stage;
  EXPECT_TRUE(one.peak_at_update);
  EXPECT_DOUBLE_EQ(one.gradients.base(), 4 * whole + 2 * c.embedding);
  job.batch = 2;
  const StageMemory two = estimate_memory(job, l, f, scratch).stage;
  EXPECT_FALSE(two.peak_at_update);
  EXPECT_DOUBLE_EQ(two.gradients.base(), 4 * whole);
  EXPECT_GT(two.activations + two.logits, Bytes(2 * c.embedding));
}

// For every number of layers and the limit that just holds it, that many are recomputed.
TEST(StepSums, fewest_layers_that_fit_are_recomputed) {
  TrainingJob job{.model = gpt(8, 256, 8), .sequence = 4096, .batch = 16, .gpus = 8};
  LayoutSpace space{.tp = {1},
                    .pp = {1},
                    .vp = {1},
                    .cp = {1},
                    .ep = {1},
                    .microbatch = {1},
                    .sharding = {catalog::Sharding::zero1},
                    .recompute = {catalog::Recompute::full},
                    .schedule = {catalog::Schedule::one_f_one_b},
                    .sequence_parallel = {true}};
  space.partial_recompute = true;
  const FrameworkModel framework;
  const Roofline machine;
  const CostSource source = machine.source();
  StepScratch scratch;
  Layout l{.dp = 8, .recompute = catalog::Recompute::full};
  for (int layers = 1; layers <= 8; ++layers) {
    l.recompute_share = layers / 8.0;
    const Bytes held = estimate_memory(job, l, framework, scratch).peak;
    const SearchResult r = search_layouts({.job = job,
                                           .space = space,
                                           .framework = framework,
                                           .source = source,
                                           .memory_limit = held * (1 + 1e-6)},
                                          0, 1);
    ASSERT_EQ(r.best.size(), 1U) << layers;
    EXPECT_NEAR(r.best[0].layout.recompute_share, layers / 8.0, 1e-12);
    EXPECT_EQ(r.best[0].memory, held);
  }
}

}  // namespace
}  // namespace orrery::training
