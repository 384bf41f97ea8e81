#include "layers/training/step.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/workload/model_math.h"
#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/pipeline.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::job_of_gpt3;
using testing_support::mixtral;
using testing_support::Roofline;

double seconds(const TrainingJob& job, const Layout& l, const Roofline& r,
               const FrameworkModel& f = {}) {
  StepScratch scratch;
  EXPECT_EQ(refuse_layout(job, l), std::nullopt);
  return estimate_step(job, l, f, r.source(), scratch).seconds;
}

const Layout kPublished{.tp = 8, .pp = 8, .vp = 3, .recompute = catalog::Recompute::selective};

TEST(Step, every_second_is_attributed) {
  const TrainingJob job = job_of_gpt3();
  const FrameworkModel f{.step_overhead_s = 0.01, .straggler = 0.01, .tp_overlap = 0.3};
  StepScratch scratch;
  for (const Layout& l :
       {kPublished, Layout{.tp = 8, .dp = 8, .sharding = catalog::Sharding::zero3},
        Layout{.tp = 2, .pp = 4, .dp = 8, .recompute = catalog::Recompute::full}}) {
    const StepEstimate e = estimate_step(job, l, f, Roofline{}.source(), scratch);
    const double sum = std::accumulate(e.parts.begin(), e.parts.end(), 0.0);
    EXPECT_NEAR(sum / e.seconds, 1, 1e-9) << to_text(l);
  }
}

// Compute alone, without launches: the products of a step at the roofline's rate.
TEST(Step, matrix_time_agrees_with_the_closed_form) {
  TrainingJob job{.model = gpt(24, 8192, 64), .sequence = 2048, .batch = 8, .gpus = 1};
  const Roofline r{.bandwidth = 1e30, .launch = 0};
  const Layout l{.microbatch = 8, .sharding = catalog::Sharding::none};
  StepScratch scratch;
  const StepEstimate e = estimate_step(job, l, {.update_traffic = 0}, r.source(), scratch);
  const double tokens = 8.0 * 2048;
  const double flops =
      training_flops_per_token(job.model, job.sequence, workload::FlopConvention::causal_half)
          .base() *
      tokens;
  // Flash attention's backward pass repeats the scores: 3.5 forward passes where the model counts
  // 3.
  const double extra = 0.5 * 2 * 2.0 * job.model.hidden * (job.sequence / 2) * 24 * tokens;
  EXPECT_NEAR(e.seconds * r.flops / (flops + extra), 1, 2e-3);
}

TEST(Step, faster_machines_and_less_work_never_slow_it) {
  const TrainingJob job = job_of_gpt3();
  const Roofline base;
  const double t = seconds(job, kPublished, base);
  for (double f : {1.1, 2.0, 10.0}) {
    Roofline r = base;
    r.flops *= f;
    EXPECT_LE(seconds(job, kPublished, r), t);
    r = base;
    r.bandwidth *= f;
    EXPECT_LE(seconds(job, kPublished, r), t);
    r = base;
    r.link *= f;
    EXPECT_LE(seconds(job, kPublished, r), t);
    r = base;
    r.nic *= f;
    EXPECT_LE(seconds(job, kPublished, r), t);
  }
  TrainingJob less = job;
  less.batch = 32;
  EXPECT_LT(seconds(less, kPublished, base), t);
  less = job;
  less.sequence = 1024;
  EXPECT_LT(seconds(less, kPublished, base), t);
  Layout none = kPublished;
  none.recompute = catalog::Recompute::none;
  EXPECT_LE(seconds(job, none, base), t);
  Layout full = kPublished;
  full.recompute = catalog::Recompute::full;
  EXPECT_GE(seconds(job, full, base), t);
}

TEST(Step, grows_linearly_with_microbatches_past_the_bubble) {
  const Roofline r;
  const double t64 = seconds(job_of_gpt3(64, 64), kPublished, r);
  const double t128 = seconds(job_of_gpt3(64, 128), kPublished, r);
  const double t192 = seconds(job_of_gpt3(64, 192), kPublished, r);
  EXPECT_NEAR((t192 - t128) / (t128 - t64), 1, 1e-9);
}

TEST(Step, expert_parallelism_sends_what_it_must_and_forced_balance_is_faster) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 64, .gpus = 8};
  const Layout l{.dp = 8, .ep = 8};
  StepScratch scratch;
  const Roofline r;
  const StepEstimate even = estimate_step(job, l, {}, r.source(), scratch);
  EXPECT_GT(even.part(StepPhase::ep), 0);
  job.imbalance = 1.3;
  EXPECT_GT(estimate_step(job, l, {}, r.source(), scratch).seconds, even.seconds);
}

TEST(Step, lora_skips_the_gradients_of_frozen_weights) {
  TrainingJob job{.model = gpt(32, 4096, 32), .sequence = 2048, .batch = 16, .gpus = 8};
  const Layout l{.dp = 8, .microbatch = 2};
  const Roofline r;
  const double whole = seconds(job, l, r);
  job.task = TrainingTask::lora;
  const double lora = seconds(job, l, r);
  EXPECT_LT(lora, 0.85 * whole);
  EXPECT_GT(lora, 0.55 * whole);
}

TEST(Step, host_launch_is_a_floor) {
  const TrainingJob job{.model = gpt(12, 768, 12), .sequence = 1024, .batch = 1, .gpus = 1};
  const Layout l{.sharding = catalog::Sharding::none};
  const FrameworkModel slow{.host_launch_s = 1e-3};
  StepScratch scratch;
  const StepEstimate e = estimate_step(job, l, slow, Roofline{}.source(), scratch);
  EXPECT_GT(e.part(StepPhase::host), 0.8 * e.seconds);
}

TEST(Layout, indivisible_layout_is_refused) {
  const TrainingJob job = job_of_gpt3();
  const struct {
    Layout layout;
    const char* says;
  } cases[] = {
      {{.tp = 8, .pp = 8, .dp = 2}, "not 64 GPUs"},
      {{.tp = 64}, "does not divide 96 heads"},
      {{.tp = 8, .pp = 8, .vp = 5}, "does not divide the 12 layers"},
      {{.tp = 8, .dp = 8, .microbatch = 3}, "not a multiple"},
      {{.tp = 8, .dp = 8, .ep = 2}, "needs a model with experts"},
      {{.tp = 8, .vp = 2, .dp = 8}, "needs a pipeline"},
      {{.tp = 0}, "at least 1"},
  };
  for (const auto& c : cases) {
    const auto reason = refuse_layout(job, c.layout);
    ASSERT_TRUE(reason) << to_text(c.layout);
    EXPECT_NE(reason->find(c.says), std::string::npos) << *reason;
  }
  EXPECT_EQ(refuse_layout(job, kPublished), std::nullopt);
}

// Captured kernels take no host time: none with the whole step captured, less with the mixer
// captured.
TEST(Step, cuda_graph_removes_host_time) {
  TrainingJob job{.model = mixtral(), .sequence = 512, .batch = 8, .gpus = 8};
  const Layout l{.dp = 8, .ep = 8};
  const FrameworkModel f{.expert_host_s = 5e-3, .router_share = 0.3, .host_launch_s = 5e-4};
  const double eager = seconds(job, l, {}, f);
  job.recipe.graph = {.told = true, .mixer = true, .router = true};
  const double partial = seconds(job, l, {}, f);
  job.recipe.graph = {.told = true, .whole_step = true};
  const double whole = seconds(job, l, {}, f);
  EXPECT_LT(partial, 0.95 * eager);
  EXPECT_LT(whole, 0.8 * partial);
  EXPECT_NEAR(whole, seconds(job, l, {}, {}), 1e-9);
}

// Dispatch through the collective library sends every copy of a token; limited routing sends few.
TEST(Step, dispatchers_differ_in_what_crosses_the_network) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 32, .gpus = 32, .scaleup = 8};
  job.model.experts = 64;
  job.model.top_k = 8;
  job.model.expert_ffn = 2048;
  const Layout l{.dp = 32, .ep = 32};
  const auto with = [&](Dispatcher d) {
    job.recipe.dispatcher = d;
    return seconds(job, l, {});
  };
  EXPECT_LT(with(Dispatcher::deepep), 0.95 * with(Dispatcher::all_to_all));
  const double free = with(Dispatcher::deepep);
  job.model.expert_groups = 4;
  job.model.expert_groups_per_token = 1;
  EXPECT_LT(with(Dispatcher::deepep), free);
}

// Gradients of a chunk travel while the next chunks run: with six chunks on eight stages little
// more than one chunk's share is exposed, while a stage with a single chunk has no other pass to
// hide behind.
TEST(Step, chunks_hide_one_anothers_gradients) {
  const TrainingJob job = job_of_gpt3(1024, 256);
  const FrameworkModel f{.dp_overlap = 1};
  const Roofline r;
  StepScratch scratch;
  const auto exposed = [&](int vp) {
    const Layout l{.tp = 8, .pp = 8, .vp = vp, .dp = 16};
    return estimate_step(job, l, f, r.source(), scratch).part(StepPhase::dp);
  };
  EXPECT_GT(exposed(1), 0);
  EXPECT_LT(exposed(6), 0.3 * exposed(1));
  EXPECT_GT(exposed(6), 0.1 * exposed(1));
}

// The slowest of many equal parts sets the pace; a single one waits for none.
TEST(Step, stragglers_grow_with_the_machine) {
  const FrameworkModel f{.straggler = 0.01};
  StepScratch scratch;
  const auto share = [&](int gpus) {
    const TrainingJob job{.model = gpt(4, 2048, 16), .sequence = 2048, .batch = gpus, .gpus = gpus};
    const StepEstimate e = estimate_step(job, {.dp = gpus}, f, Roofline{}.source(), scratch);
    return e.part(StepPhase::straggler) / e.seconds;
  };
  EXPECT_EQ(share(1), 0);
  EXPECT_NEAR(share(8), 0.02, 0.001);
  EXPECT_NEAR(share(1024), 0.036, 0.002);
}

// Hidden traffic that leaves the domain slows the compute that hides it; inside the domain it does
// not.
TEST(Step, hidden_gradients_slow_the_step_where_they_leave_the_domain) {
  TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 256, .gpus = 16};
  StepScratch scratch;
  const Layout l{.dp = 16, .microbatch = 16};
  const auto exposed = [&](int scaleup, double contention) {
    job.scaleup = scaleup;
    const FrameworkModel f{.dp_overlap = 1, .contention = contention};
    return estimate_step(job, l, f, Roofline{.nic = 200e9}.source(), scratch).part(StepPhase::dp);
  };
  EXPECT_EQ(exposed(16, 0.2), 0);
  EXPECT_EQ(exposed(8, 0), 0);
  // Sums of 4 bytes per parameter, gathers of 2, all hidden.
  const double parameters = workload::count_parameters(job.model).total;
  EXPECT_NEAR(exposed(8, 0.2), 0.2 * 6 * parameters * 15 / 16 / 200e9, 1e-4);
}

// A separate pass over all gradients per microbatch, if products do not add them.
TEST(Step, gradients_that_are_added_apart_cost_a_pass_a_microbatch) {
  const TrainingJob job{.model = gpt(24, 2048, 16), .sequence = 2048, .batch = 8, .gpus = 1};
  const Layout l{.sharding = catalog::Sharding::none};
  const Roofline r;
  const double more =
      seconds(job, l, r, {.accumulate_traffic = 18}) - seconds(job, l, r, FrameworkModel{});
  const double parameters = workload::count_parameters(job.model).total;
  EXPECT_NEAR(more, 8 * (18 * parameters / r.bandwidth + r.launch), 1e-6);
}

// Tensor-parallel ranks send a share each, even if all of them need the whole.
TEST(Step, stages_send_each_activation_once) {
  TrainingJob job{.model = gpt(24, 8192, 64), .sequence = 2048, .batch = 64, .gpus = 64};
  Layout l{.tp = 8, .pp = 8};
  StepScratch scratch;
  const Roofline r{.link = 1e15};
  const auto sent = [&] {
    return estimate_step(job, l, {}, r.source(), scratch).part(StepPhase::pp);
  };
  const double shared = sent();
  EXPECT_NEAR(shared, 64 * 2 * (2048.0 * 8192 * 2 / 8 / 2 / r.nic + 1e-5), 1e-6);
  l.sequence_parallel = false;
  EXPECT_NEAR(sent(), shared + 64 * 2 * 1e-5, 1e-5);
  // Context-parallel ranks hold a part of the sequence each, and send that.
  l = {.tp = 8, .pp = 4, .cp = 2};
  EXPECT_NEAR(sent(), 64 * 2 * (2048.0 * 8192 * 2 / 2 / 8 / 2 / r.nic + 1e-5), 1e-6);
}

// Shard sets of a node gather inside it and sum their gradients across nodes: faster than one set
// of all if the network is slow, and no faster than a free network would make it.
TEST(Step, hybrid_sharding_stays_inside_the_node) {
  TrainingJob job{.model = gpt(32, 4096, 32), .sequence = 2048, .batch = 64, .gpus = 64};
  const Layout l{.dp = 64, .sharding = catalog::Sharding::zero3};
  const Roofline slow{.nic = 5e9};
  const double all = seconds(job, l, slow);
  job.shard_group = 8;
  const double hybrid = seconds(job, l, slow);
  EXPECT_LT(hybrid, 0.8 * all);
  EXPECT_GT(hybrid, seconds(job, l, Roofline{.nic = 5e12}));
}

TEST(Step, named_modules_repeat_what_they_name) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 8, .gpus = 8};
  Layout l{.dp = 8, .ep = 8};
  const double none = seconds(job, l, {});
  l.recompute = catalog::Recompute::selective;
  job.recipe.recompute = {.named = true, .activation = true};
  const double activation = seconds(job, l, {});
  job.recipe.recompute = {.named = true, .experts = true};
  const double experts = seconds(job, l, {});
  EXPECT_GT(activation, none);
  EXPECT_GT(experts, 1.1 * activation);
}

// A scan's cost grows with the tokens, attention's with their square.
TEST(Step, hybrid_grows_slower_with_the_sequence) {
  TrainingJob job{.model = gpt(48, 4096, 32), .sequence = 8192, .batch = 4, .gpus = 1};
  const Layout l{.sharding = catalog::Sharding::none};
  const auto growth = [&] {
    job.sequence = 8192;
    const double once = seconds(job, l, {});
    job.sequence = 32768;
    return seconds(job, l, {}) / once;
  };
  const double attention = growth();
  job.model.state_space_layers = 22;
  job.model.mlp_only_layers = 22;
  job.model.scan_heads = 128;
  job.model.scan_head_dim = 64;
  job.model.scan_state = 128;
  job.model.scan_groups = 8;
  EXPECT_LT(growth(), 0.8 * attention);
}

// Every product takes a second, attention ten, and a pass a nanosecond per byte; the clock's inputs
// are recorded.
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

// A layer of gpt has 4 products in each of forward, dgrad and wgrad, and attention twice; the head
// has three.
TEST(Step, dense_model_work) {
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

// With experts: router and two grouped products instead of the MLP's two products. Three layers are
// dense.
TEST(Step, moe_layers_are_included) {
  const Asking a;
  TrainingJob job{.model = mixtral(), .sequence = 64, .batch = 8, .gpus = 2};
  job.model.first_dense_layers = 3;
  a.step(job, {.dp = 2}, {.update_traffic = 0});
  EXPECT_NEAR(a.busy.clocked, 4 * (3 * (12 * 0.5 + 8) + 29 * (15 * 0.5 + 8) + 1.5), 1e-9);
}

TEST(Step, lower_clock_stretches_the_step) {
  Asking a;
  const FrameworkModel f{.update_traffic = 0};
  const double full = a.step(dense_work(), {.dp = 2}, f).seconds;
  const double clocked = a.busy.clocked;
  a.clock = 0.5;
  const StepEstimate e = a.step(dense_work(), {.dp = 2}, f);
  EXPECT_NEAR(e.seconds, full + clocked, 1e-9);
  EXPECT_EQ(e.clock, 0.5);
}

// Gradients added by a separate pass: all of a rank's are read and written once per microbatch.
TEST(Step, accumulated_gradients_cover_dense_and_expert_parameters) {
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

// On four stages: embedding and two layers, two layers, two layers, two layers and the head.
TEST(Step, accumulated_gradients_of_every_stage) {
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

// The first stage's states: two layers and the embedding, a quarter for each of four replicas.
TEST(Step, optimizer_time_is_the_first_stages) {
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

}  // namespace
}  // namespace orrery::training
