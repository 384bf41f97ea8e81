// Each part of a step by hand: what one mechanism adds, on a machine whose collectives cost in
// proportion to their bytes, by kind and by group.
#include <gtest/gtest.h>

#include <cmath>

#include "core/workload/model_math.h"
#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/pipeline.h"
#include "layers/training/step.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::mixtral;
using testing_support::Roofline;
using workload::Collective;

// Kernels as on a roofline; each kind of collective has its own price per byte, times the ranks.
struct Priced {
  Roofline kernels;

  static double price(Collective kind) {
    switch (kind) {
      case Collective::all_gather:
        return 1e-12;
      case Collective::reduce_scatter:
        return 3e-12;
      case Collective::all_reduce:
        return 7e-12;
      default:
        return 0;
    }
  }
  static OpCost kernel(const void* context, const workload::Operation& op) {
    return Roofline::kernel(&static_cast<const Priced*>(context)->kernels, op);
  }
  static double collective(const void*, const workload::CollectiveCall& call) {
    return price(call.kind) * call.bytes.base() * call.group.ranks;
  }
  CostSource source() const {
    return {.context = this, .kernel = &Priced::kernel, .collective = &Priced::collective};
  }
};

StepEstimate priced(const TrainingJob& job, const Layout& l, const FrameworkModel& f = {}) {
  StepScratch scratch;
  EXPECT_EQ(refuse_layout(job, l), std::nullopt);
  const Priced machine;
  return estimate_step(job, l, f, machine.source(), scratch);
}

StepEstimate rooflined(const TrainingJob& job, const Layout& l, const FrameworkModel& f = {}) {
  StepScratch scratch;
  EXPECT_EQ(refuse_layout(job, l), std::nullopt);
  const Roofline machine;
  return estimate_step(job, l, f, machine.source(), scratch);
}

TrainingJob dense_job(int gpus = 8) {
  return {.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 4 * gpus, .gpus = gpus};
}

TrainingJob moe_job() { return {.model = mixtral(), .sequence = 2048, .batch = 16, .gpus = 8}; }
const Layout kExperts{.dp = 8, .ep = 8};

double kernels_of(const StepEstimate& e) {
  return e.part(StepPhase::matrix) + e.part(StepPhase::attention) + e.part(StepPhase::passes);
}

TEST(StepParts, framework_factor_slows_kernels_but_not_messages) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 32, .gpus = 8};
  const Layout l{.tp = 8};
  const StepEstimate bare = rooflined(job, l);
  const StepEstimate slow = rooflined(job, l, {.kernel_factor = 1.5});
  for (const StepPhase p : {StepPhase::matrix, StepPhase::attention, StepPhase::passes}) {
    EXPECT_GT(bare.part(p), 0);
    EXPECT_NEAR(slow.part(p), 1.5 * bare.part(p), 1e-12);
  }
  EXPECT_GT(bare.part(StepPhase::tp), 0);
  EXPECT_EQ(slow.part(StepPhase::tp), bare.part(StepPhase::tp));
}

TEST(StepParts, release_overhead_applies_to_dispatch_and_expert_passes) {
  const StepEstimate one = rooflined(moe_job(), kExperts);
  const StepEstimate two = rooflined(moe_job(), kExperts, {.overhead_factor = 2});
  const StepEstimate three = rooflined(moe_job(), kExperts, {.overhead_factor = 3});
  EXPECT_NEAR(three.part(StepPhase::ep), 3 * one.part(StepPhase::ep), 1e-12);
  EXPECT_EQ(three.part(StepPhase::matrix), one.part(StepPhase::matrix));
  const double more = two.part(StepPhase::passes) - one.part(StepPhase::passes);
  EXPECT_GT(more, 0);
  EXPECT_LT(more, one.part(StepPhase::passes));
  EXPECT_NEAR(three.part(StepPhase::passes) - one.part(StepPhase::passes), 2 * more, 1e-9);
}

// A host so slow that every pass waits for it: three passes through 32 expert layers, twice.
TEST(StepParts, expert_host_time_is_paid_three_times_per_layer) {
  TrainingJob job = moe_job();
  FrameworkModel f{.expert_host_s = 10, .router_share = 0.3, .overlap_host = 0.25};
  const auto waited = [&] {
    const StepEstimate e = rooflined(job, kExperts, f);
    EXPECT_EQ(e.microbatches, 2);
    return e.part(StepPhase::host) + kernels_of(e) + e.part(StepPhase::ep);
  };
  const double eager = 2 * 3 * 32 * 10;
  EXPECT_NEAR(waited(), eager, 1e-6);
  job.padded_experts = true;
  EXPECT_NEAR(waited(), eager / 2, 1e-6);
  job.recipe.a2a_overlap = true;
  EXPECT_NEAR(waited(), eager / 8, 1e-6);
  job.padded_experts = false;
  job.recipe.a2a_overlap = false;
  EXPECT_NEAR(waited(), eager, 1e-6);
  job.recipe.graph = {.told = true, .router = true};
  EXPECT_NEAR(waited(), 0.7 * eager, 1e-6);
  job.recipe.graph = {};
  f.overhead_factor = 2;
  EXPECT_NEAR(waited(), 2 * eager, 1e-6);
}

TEST(StepParts, full_recompute_runs_the_layers_forward_again) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 4, .gpus = 1};
  Layout l{.sharding = catalog::Sharding::none};
  const StepEstimate none = rooflined(job, l);
  l.recompute = catalog::Recompute::full;
  const StepEstimate full = rooflined(job, l);
  const double again = full.part(StepPhase::recompute);
  EXPECT_NEAR(full.seconds - none.seconds, again, 1e-9);
  EXPECT_NEAR(full.stages.first.dgrad - none.stages.first.dgrad, again / 4, 1e-12);
  EXPECT_EQ(full.stages.first.forward, none.stages.first.forward);
  // The layers are most of the forward pass; the rest is the head over the vocabulary and the
  // embedding.
  EXPECT_LT(again / 4, full.stages.first.forward);
  EXPECT_GT(again / 4, 0.8 * full.stages.first.forward);
  EXPECT_EQ(full.part(StepPhase::matrix), none.part(StepPhase::matrix));
  // With early stop the last product is not repeated: tokens x 8192 x 2048, over 24 layers and 4
  // microbatches.
  const double product = 2.0 * 2048 * 8192 * 2048 / Roofline{}.flops + Roofline{}.launch;
  const double spared = again - rooflined(job, l, {.early_stop = true}).part(StepPhase::recompute);
  EXPECT_GT(spared, 4 * 24 * product * 0.999);
  EXPECT_LT(spared, 4 * 24 * product * 1.3);
}

// A byte of a gather costs 8e-12 s over eight ranks, one of a scatter 24e-12.
TEST(StepParts, sharded_weights_travel_layer_by_layer_each_microbatch) {
  const TrainingJob job = dense_job();
  Layout l{.dp = 8, .sharding = catalog::Sharding::zero3};
  const double layer = workload::count_parameters(job.model).dense_layer();
  const double gather = layer * 2 * 8e-12;
  const double scatter = layer * 4 * 24e-12;
  EXPECT_NEAR(priced(job, l).part(StepPhase::dp), 4 * 24 * (2 * gather + scatter), 1e-9);
  const FrameworkModel other{.reduce_bytes = 2, .gather_bytes = 1};
  EXPECT_NEAR(priced(job, l, other).part(StepPhase::dp), 4 * 24 * (gather + scatter / 2), 1e-9);
  // All of it is hidden: it only slows the concurrent compute.
  const FrameworkModel hides{.dp_overlap = 1e6, .contention = 0.1};
  EXPECT_NEAR(priced(job, l, hides).part(StepPhase::dp), 0.1 * 4 * 24 * (2 * gather + scatter),
              1e-9);
  // Weights that stay after the forward pass are not gathered again.
  l.sharding = catalog::Sharding::zero2;
  EXPECT_NEAR(priced(job, l).part(StepPhase::dp), 4 * 24 * (gather + scatter), 1e-9);
  TrainingJob frozen = job;
  frozen.task = TrainingTask::lora;
  l.sharding = catalog::Sharding::zero3;
  EXPECT_NEAR(priced(frozen, l).part(StepPhase::dp), 4 * 24 * 2 * gather, 1e-9);
}

TEST(StepParts, shard_traffic_hides_behind_its_own_pass) {
  const TrainingJob job = dense_job();
  const Layout l{.dp = 8, .sharding = catalog::Sharding::zero3};
  const StepEstimate bare = priced(job, {.dp = 8, .sharding = catalog::Sharding::none});
  const double layer = workload::count_parameters(job.model).dense_layer();
  const double forward = 24 * layer * 2 * 8e-12;
  const double backward = 24 * layer * (2 * 8e-12 + 4 * 24e-12);
  const FrameworkModel f{.dp_overlap = 0.02, .contention = 0.5};
  const StageTimes& t = bare.stages.first;
  const double behind = 0.02 * t.forward;
  const double behind_back = 0.02 * (t.dgrad + t.wgrad);
  ASSERT_LT(behind, forward);
  ASSERT_LT(behind_back, backward);
  EXPECT_NEAR(priced(job, l, f).part(StepPhase::dp),
              4 * (forward - 0.5 * behind + backward - 0.5 * behind_back), 1e-9);
}

TEST(StepParts, replicas_sum_once_a_step) {
  const TrainingJob job = dense_job();
  const double all = workload::count_parameters(job.model).total;
  const auto dp = [&](catalog::Sharding s, const FrameworkModel& f = {}) {
    return priced(job, {.dp = 8, .sharding = s}, f).part(StepPhase::dp);
  };
  EXPECT_NEAR(dp(catalog::Sharding::none) / (all * 4 * 56e-12), 1, 2e-4);
  EXPECT_NEAR(dp(catalog::Sharding::zero1) / (all * (4 * 24e-12 + 2 * 8e-12)), 1, 2e-4);
  EXPECT_NEAR(
      dp(catalog::Sharding::zero1, {.reduces_whole = true}) / (all * (4 * 56e-12 + 2 * 8e-12)), 1,
      2e-4);
  TrainingJob frozen = job;
  frozen.task = TrainingTask::lora;
  EXPECT_EQ(priced(frozen, {.dp = 8}).part(StepPhase::dp), 0);
}

// Sums hide behind the last backward pass, gathers behind the forward pass.
TEST(StepParts, replicas_hide_behind_the_passes_of_one_microbatch) {
  const TrainingJob job = dense_job();
  const StepEstimate shown = priced(job, {.dp = 8});
  const StageTimes& t = shown.stages.first;
  const double all = workload::count_parameters(job.model).total;
  const FrameworkModel f{.dp_overlap = 0.1};
  const double sums = all * 4 * 24e-12;
  const double gathers = all * 2 * 8e-12;
  ASSERT_LT(0.1 * (t.dgrad + t.wgrad), sums);
  ASSERT_LT(0.1 * t.forward, gathers);
  EXPECT_NEAR(shown.part(StepPhase::dp) - priced(job, {.dp = 8}, f).part(StepPhase::dp),
              0.1 * (t.dgrad + t.wgrad + t.forward), 1e-9);
}

// Sets of 8 of 32 ranks gather among themselves; four sets sum an eighth each, by all-reduce.
TEST(StepParts, shard_sets_sum_their_shares_of_the_gradients) {
  TrainingJob job = dense_job(32);
  const Layout l{.dp = 32, .sharding = catalog::Sharding::zero3};
  job.shard_group = 8;
  const workload::ParameterCount count = workload::count_parameters(job.model);
  const double inside = 4 * 24 * count.dense_layer() * (2 * 2 * 8e-12 + 4 * 24e-12);
  const double across = count.total * 4 / 8 * 7e-12 * 4;
  EXPECT_NEAR(priced(job, l).part(StepPhase::dp) / (inside + across), 1, 1e-5);
  // A single set has no other to sum with.
  job.shard_group = 32;
  EXPECT_NEAR(priced(job, l).part(StepPhase::dp),
              4 * 24 * count.dense_layer() * (2 * 2 + 4 * 3.0) * 32e-12, 1e-9);
}

TEST(StepParts, optimizer_passes_over_what_a_rank_owns) {
  const TrainingJob job = dense_job();
  const double all = workload::count_parameters(job.model).total;
  const auto pass = [&](catalog::Sharding s, double traffic) {
    return rooflined(job, {.dp = 8, .sharding = s}, {.update_traffic = traffic})
        .part(StepPhase::optimizer);
  };
  const Roofline r;
  EXPECT_NEAR((pass(catalog::Sharding::none, 34) - r.launch) / (34 * all / r.bandwidth), 1, 2e-4);
  EXPECT_NEAR((pass(catalog::Sharding::none, 17) - r.launch) / (17 * all / r.bandwidth), 1, 2e-4);
  for (const auto s :
       {catalog::Sharding::zero1, catalog::Sharding::zero2, catalog::Sharding::zero3}) {
    EXPECT_NEAR((pass(s, 34) - r.launch) / (34 * all / 8 / r.bandwidth), 1, 2e-4);
  }
  TrainingJob sets = job;
  sets.shard_group = 4;
  const double owned =
      rooflined(sets, {.dp = 8, .sharding = catalog::Sharding::zero3}).part(StepPhase::optimizer);
  EXPECT_NEAR((owned - r.launch) / (34 * all / 4 / r.bandwidth), 1, 2e-4);
  TrainingJob frozen = job;
  frozen.task = TrainingTask::lora;
  EXPECT_EQ(rooflined(frozen, {.dp = 8}).part(StepPhase::optimizer), 0);
}

TEST(StepParts, experts_have_their_own_replicas) {
  TrainingJob job = moe_job();
  job.gpus = 16;
  const Layout l{.dp = 16, .ep = 8};
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double experts = 32 * c.expert;  // one of eight per rank
  const double rest = c.total - 32 * 8 * c.expert;
  const Roofline r;
  const StepEstimate e = rooflined(job, l);
  EXPECT_NEAR(
      (e.part(StepPhase::optimizer) - r.launch) / (34 * (rest / 16 + experts / 2) / r.bandwidth), 1,
      2e-4);
  const double sums = (rest * 16 + experts * 2) * (4 * 3e-12 + 2 * 1e-12);
  EXPECT_NEAR(priced(job, l).part(StepPhase::dp) / sums, 1, 2e-4);
}

TEST(StepParts, ends_are_on_their_stages) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 16, .gpus = 4};
  const Layout l{.pp = 4};
  const FrameworkModel f{.pp_overlap = 1};
  StepScratch scratch;
  const Roofline machine;
  const StepEstimate e = estimate_step(job, l, f, machine.source(), scratch);
  const LayoutGroups groups = groups_of(job, l);
  const CostSource source = machine.source();
  const LayerQuery q{job, l, f, groups, source};
  const LayerCost head = head_cost(q, scratch);
  const LayerCost embedding = embedding_cost(q, scratch);
  EXPECT_NEAR(e.stages.first.forward - e.stages.middle.forward, embedding.forward.kernel_seconds(1),
              1e-12);
  EXPECT_NEAR(e.stages.last.forward - e.stages.middle.forward, head.forward.kernel_seconds(1),
              1e-12);
  EXPECT_NEAR(e.stages.last.dgrad - e.stages.middle.dgrad, head.dgrad.kernel_seconds(1), 1e-12);
  EXPECT_NEAR(e.stages.last.wgrad - e.stages.middle.wgrad, head.wgrad.kernel_seconds(1), 1e-12);
  // The last stage is the slowest, so its products are those of the step.
  EXPECT_NEAR(kernels_of(e),
              16 * (e.stages.last.forward + e.stages.last.dgrad + e.stages.last.wgrad), 1e-9);
}

TEST(StepParts, prediction_module_adds_a_layer_and_a_head) {
  TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 1, .gpus = 1};
  job.model.mtp_layers = 1;
  const Layout l{.sharding = catalog::Sharding::none};
  const FrameworkModel f{.update_traffic = 0};
  const StepEstimate with = rooflined(job, l, f);
  job.train_mtp = false;
  const StepEstimate without = rooflined(job, l, f);
  StepScratch scratch;
  const Roofline machine;
  const CostSource source = machine.source();
  const LayoutGroups groups = groups_of(job, l);
  const LayerQuery q{job, l, f, groups, source};
  const auto all = [](const LayerCost& c) {
    return c.forward.kernel_seconds(1) + c.dgrad.kernel_seconds(1) + c.wgrad.kernel_seconds(1);
  };
  const double layer = all(mean_layer_cost(q, workload::LayerKind::dense, scratch));
  EXPECT_NEAR(with.seconds - without.seconds, layer + all(head_cost(q, scratch)), 1e-9);
  job.train_mtp = true;
  job.model.mtp_layers = 2;
  EXPECT_NEAR(rooflined(job, l, f).seconds - without.seconds, 2 * (with.seconds - without.seconds),
              1e-9);
}

TEST(StepParts, transfers_hide_by_their_share) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 16, .gpus = 4};
  const double shown = rooflined(job, {.pp = 4}).part(StepPhase::pp);
  EXPECT_GT(shown, 0);
  EXPECT_NEAR(rooflined(job, {.pp = 4}, {.pp_overlap = 0.75}).part(StepPhase::pp), shown / 4,
              1e-12);
  // Every chunk has its own stage boundaries.
  EXPECT_NEAR(rooflined(job, {.pp = 4, .vp = 3}).part(StepPhase::pp), 3 * shown, 1e-12);
}

TEST(StepParts, overhead_is_once_a_step_and_stragglers_are_of_all_of_it) {
  const TrainingJob job = dense_job();
  const Layout l{.dp = 8};
  const StepEstimate bare = rooflined(job, l);
  const StepEstimate late = rooflined(job, l, {.step_overhead_s = 0.5, .straggler = 0.02});
  EXPECT_EQ(late.part(StepPhase::overhead), 0.5);
  const double spread = 0.02 * std::sqrt(2 * std::log(8.0));
  EXPECT_NEAR(late.seconds, (bare.seconds + 0.5) * (1 + spread), 1e-9);
  EXPECT_NEAR(late.part(StepPhase::straggler), (bare.seconds + 0.5) * spread, 1e-9);
  EXPECT_EQ(bare.communication_s, bare.part(StepPhase::dp));
}

// Records what the clock is called with, and applies its answer.
struct Clocked : Roofline {
  double answer = 1;
  mutable OpCost busy;
  mutable double waiting = 0;
  mutable int asked = 0;

  static ClockAnswer clock(const void* context, const OpCost& busy, double waiting) {
    const auto& m = *static_cast<const Clocked*>(static_cast<const Roofline*>(context));
    m.busy = busy;
    m.waiting = waiting;
    ++m.asked;
    return {.clock = m.answer, .watts = 555};
  }
  CostSource clocked() const {
    CostSource s = source();
    s.clock = &Clocked::clock;
    return s;
  }
};

TEST(StepParts, clock_is_computed_once_for_the_whole_step) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 16, .gpus = 4};
  const Layout l{.tp = 4};
  const FrameworkModel f{.step_overhead_s = 0.125};
  StepScratch scratch;
  Clocked machine;
  const StepEstimate full = estimate_step(job, l, f, machine.clocked(), scratch);
  EXPECT_EQ(machine.asked, 1);
  EXPECT_NEAR(machine.busy.seconds, kernels_of(full) + full.part(StepPhase::optimizer), 1e-9);
  EXPECT_NEAR(machine.waiting, full.part(StepPhase::tp) + full.part(StepPhase::dp) + 0.125, 1e-9);
  EXPECT_EQ(full.clock, 1);
  EXPECT_EQ(full.watts, 555);
  machine.answer = 0.5;
  const StepEstimate slow = estimate_step(job, l, f, machine.clocked(), scratch);
  EXPECT_EQ(slow.clock, 0.5);
  // Compute takes twice as long, memory and network traffic do not.
  EXPECT_NEAR(slow.seconds - full.seconds, machine.busy.clocked, 1e-9);
  EXPECT_EQ(slow.part(StepPhase::tp), full.part(StepPhase::tp));
}

// Each of four stages works its share of the whole; the ends' work counts once, not four times.
TEST(StepParts, stage_work_is_its_share_of_the_model) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 16, .gpus = 4};
  StepScratch scratch;
  const Clocked machine;
  const FrameworkModel f{.update_traffic = 0};
  const StepEstimate one = estimate_step(job, {.dp = 4, .sharding = catalog::Sharding::none}, f,
                                         machine.clocked(), scratch);
  const double alone = machine.busy.seconds - Roofline{}.launch;
  EXPECT_NEAR(alone, kernels_of(one), 1e-9);
  estimate_step(job, {.pp = 4}, f, machine.clocked(), scratch);
  EXPECT_NEAR(machine.busy.seconds - Roofline{}.launch, alone, 1e-6);
}

TEST(StepParts, attention_and_grouped_products_have_their_own_factors) {
  const TrainingJob dense{.model = gpt(24, 2048, 16), .sequence = 8192, .batch = 8, .gpus = 4};
  const Layout ring{.cp = 4};
  const double plain = rooflined(dense, ring).part(StepPhase::attention);
  EXPECT_NEAR(rooflined(dense, ring, {.attention_factor = 1.25}).part(StepPhase::attention),
              1.25 * plain, 1e-12);
  // The last of four ranks has 7 of 4 shares of a causal mask that is distributed in order.
  EXPECT_NEAR(rooflined(dense, ring, {.cp_in_order = true}).part(StepPhase::attention),
              1.75 * plain, 1e-12);
  const auto matrix = [](catalog::Precision p, const FrameworkModel& f) {
    TrainingJob job{.model = mixtral(), .sequence = 2048, .batch = 16, .gpus = 4};
    job.precision = p;
    return rooflined(job, {.dp = 4, .ep = 4}, f).part(StepPhase::matrix);
  };
  const double whole = matrix(catalog::Precision::bf16, {});
  const double grouped = matrix(catalog::Precision::bf16, {.grouped_16bit = 2}) - whole;
  EXPECT_GT(grouped, 0.5 * whole);
  EXPECT_LT(grouped, 0.95 * whole);
  EXPECT_EQ(matrix(catalog::Precision::bf16, {.grouped_8bit = 2}), whole);
  EXPECT_GT(matrix(catalog::Precision::fp8, {.grouped_8bit = 2}),
            1.3 * matrix(catalog::Precision::fp8, {}));
}

// A hybrid's module predicts two tokens in a row, and is an attention layer and an MLP layer.
TEST(StepParts, hybrid_prediction_module_is_passed_twice) {
  TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 1, .gpus = 1};
  job.model.state_space_layers = 11;
  job.model.mlp_only_layers = 11;
  job.model.scan_heads = 64;
  job.model.scan_head_dim = 64;
  job.model.scan_state = 128;
  job.model.scan_groups = 8;
  job.model.mtp_layers = 1;
  ASSERT_TRUE(job.model.has_scan());
  EXPECT_EQ(predictions_of(job.model), 2);
  StepScratch scratch;
  const Roofline machine;
  const CostSource source = machine.source();
  const Layout l{.sharding = catalog::Sharding::none};
  const FrameworkModel f;
  const LayoutGroups groups = groups_of(job, l);
  const LayerQuery q{job, l, f, groups, source};
  const double attention =
      layer_cost(q, workload::LayerKind::attention, false, scratch).forward.kernel_seconds(1);
  const double feed =
      layer_cost(q, workload::LayerKind::mlp, false, scratch).forward.kernel_seconds(1);
  EXPECT_NEAR(prediction_cost(q, {}, scratch).forward.kernel_seconds(1), 2 * (attention + feed),
              1e-12);
}

}  // namespace
}  // namespace orrery::training
