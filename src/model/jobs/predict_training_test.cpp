#include "model/jobs/predict_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/workload/model_math.h"
#include "model/jobs/predict_serving.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TrainingQuery llama70b() {
  TrainingQuery q;
  q.model = *machine::known().catalog().model("llama-3-70b");
  q.accelerator = machine::known().catalog().accelerator("h100-sxm");
  q.gpus = 64;
  q.nic = gbits_per_s(400);
  q.sequence = 8192;
  q.batch = 256;
  q.framework = "megatron-bridge";
  q.release = "26.04";
  return q;
}

// Learned routing of experts is slightly uneven; forced routing and dense models are not.
TEST(PredictTraining, learnt_routing_is_slightly_imbalanced) {
  TrainingQuery q = llama70b();
  EXPECT_EQ(job_of(q).imbalance, 1);
  q.model = *machine::known().catalog().model("mixtral-8x7b");
  EXPECT_EQ(job_of(q).imbalance, 1.15);
  q.balanced_experts = true;
  EXPECT_EQ(job_of(q).imbalance, 1);
  EXPECT_EQ(job_of(q).gpus, 64);
  EXPECT_EQ(job_of(q).batch, 256);
  EXPECT_EQ(job_of(q).sequence, 8192);
  EXPECT_EQ(job_of(q).scaleup, 8) << "the accelerator's own";
  q.scaleup = 4;
  EXPECT_EQ(job_of(q).scaleup, 4);
}

TEST(PredictTraining, open_layouts_are_chosen_and_fit) {
  const auto p = predict_training(machine::known(), llama70b());
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->layout_chosen);
  EXPECT_TRUE(p->fits);
  EXPECT_LE(p->memory.peak, p->memory_limit);
  EXPECT_GT(p->counts.evaluated, 0);
  EXPECT_GT(p->mfu, 0.25);
  EXPECT_LT(p->mfu, 0.65);
  const double sum = std::accumulate(p->step.parts.begin(), p->step.parts.end(), 0.0);
  EXPECT_NEAR(sum / p->step.seconds, 1, 1e-9);
  EXPECT_LT(p->step_time_s.low, p->step_time_s.value);
  EXPECT_GT(p->step_time_s.high, p->step_time_s.value);
}

TEST(PredictTraining, more_of_any_resource_never_slows_the_best_layout) {
  const TrainingQuery q = llama70b();
  const double base = predict_training(machine::known(), q)->step.seconds;
  catalog::Accelerator faster = *q.accelerator;
  faster.memory_bandwidth *= 1.5;
  faster.memory *= 1.2;
  TrainingQuery better = q;
  better.accelerator = &faster;
  EXPECT_LE(predict_training(machine::known(), better)->step.seconds, base);
  better = q;
  better.nic = q.nic * 2;
  EXPECT_LE(predict_training(machine::known(), better)->step.seconds, base);
}

TEST(PredictTraining, impossible_jobs_are_refused) {
  TrainingQuery q = llama70b();
  q.accelerator = machine::known().catalog().accelerator("a100-80-sxm");
  q.precision = catalog::Precision::fp8;
  EXPECT_FALSE(predict_training(machine::known(), q));
  q = llama70b();
  q.model.state_space_layers = 10;  // of a scan whose shape is unknown
  EXPECT_FALSE(predict_training(machine::known(), q));
  for (const auto precision : {catalog::Precision::fp32, catalog::Precision::tf32,
                               catalog::Precision::int8, catalog::Precision::int4}) {
    q = llama70b();
    q.precision = precision;
    EXPECT_FALSE(predict_training(machine::known(), q)) << to_text(precision);
  }
  q = llama70b();
  q.layout = {.tp = 7, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  const auto refused = predict_training(machine::known(), q);
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().front().what.empty());
}

TEST(PredictTraining, intervals_widen_with_what_is_unseen) {
  TrainingQuery q = llama70b();
  const auto width = [](const TrainingQuery& query) {
    const Estimate e = predict_training(machine::known(), query)->step_time_s;
    return e.high / e.low;
  };
  q.layout = {.tp = 4, .pp = 8, .vp = 5, .cp = 1, .ep = 1, .microbatch = 1};
  const double published = width(q);
  q.release = "99.01";
  const double new_release = width(q);
  EXPECT_GT(new_release, published);
  q.framework = "never-heard-of";
  EXPECT_GT(width(q), new_release);
  q = llama70b();
  q.layout = {.tp = 4, .pp = 8, .vp = 5, .cp = 1, .ep = 1, .microbatch = 1};
  q.accelerator = machine::known().catalog().accelerator("mi300x");
  EXPECT_GT(width(q), published);
}

TEST(PredictTraining, power_is_between_idle_and_the_limit) {
  const auto p = predict_training(machine::known(), llama70b());
  EXPECT_GT(p->watts.value, 300);
  EXPECT_LE(p->watts.value, 705);
  EXPECT_NEAR(p->energy_per_step.base(), p->watts.value * p->step.seconds * 64, 1);
}

// Published sizes: 31.6 B with 3.6 B active, 120.6 B, and 35 B.
TEST(PredictTraining, hybrids_have_their_published_size) {
  const auto billions = [](std::string_view id) {
    return workload::count_parameters(*machine::known().catalog().model(id)).total / 1e9;
  };
  EXPECT_NEAR(billions("nemotron-3-nano-30b-a3b"), 31.6, 0.6);
  EXPECT_NEAR(billions("nemotron-3-super-120b-a12b"), 122, 5);
  EXPECT_NEAR(billions("qwen3.5-35b-a3b"), 35, 1.5);
}

// Two predictions of a hybrid each pass an attention layer, an expert layer and the head, in 16
// bits.
TEST(PredictTraining, multi_token_prediction_of_hybrids_costs_time) {
  TrainingQuery q = llama70b();
  q.model = *machine::known().catalog().model("nemotron-3-super-120b-a12b");
  q.accelerator = machine::known().catalog().accelerator("gb300");
  q.precision = catalog::Precision::mxfp8;
  q.layout = {.tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 64, .microbatch = 1};
  q.batch = 512;
  q.scaleup = 72;
  q.train_mtp = true;
  const double with = predict_training(machine::known(), q)->step.seconds;
  q.train_mtp = false;
  const double without = predict_training(machine::known(), q)->step.seconds;
  EXPECT_GT(with / without, 1.05);
  EXPECT_LT(with / without, 1.2);
  // In hybrids, NVFP4 leaves much in wider formats, so it gains less than its products would.
  q.precision = catalog::Precision::nvfp4;
  const double narrow = predict_training(machine::known(), q)->step.seconds;
  EXPECT_LT(narrow, 1.02 * without);
  EXPECT_GT(narrow, 0.85 * without);
}

// The best of many layouts may only look best, so its interval leans to the slow side.
TEST(PredictTraining, interval_of_a_chosen_layout_leans_to_the_slow_side) {
  TrainingQuery q = llama70b();
  const auto chosen = predict_training(machine::known(), q);
  ASSERT_TRUE(chosen);
  const training::Layout& l = chosen->layout;
  q.layout = {
      .tp = l.tp, .pp = l.pp, .vp = l.vp, .cp = l.cp, .ep = l.ep, .microbatch = l.microbatch};
  q.layout.sharding = l.sharding;
  q.layout.recompute = l.recompute;
  const auto given = predict_training(machine::known(), q);
  ASSERT_TRUE(given);
  const auto slow = [](const Estimate& e) { return e.high / e.value; };
  const auto fast = [](const Estimate& e) { return e.value / e.low; };
  EXPECT_GT(slow(chosen->step_time_s), slow(given->step_time_s) * 1.015);
  EXPECT_LT(fast(chosen->step_time_s), slow(chosen->step_time_s));
}

// 92 layers on 4 stages leave 23 per stage, which no usual number of chunks divides.
TEST(PredictTraining, unusual_layer_counts_are_still_cut_into_chunks) {
  TrainingQuery q = llama70b();
  q.model.layers = 92;
  q.layout = {.tp = 8, .pp = 4};
  const auto most = [&] { return std::ranges::max(space_of(q, job_of(q)).vp); };
  EXPECT_EQ(most(), 23);
  q.model.layers = 96;
  EXPECT_EQ(most(), 8);
  q.layout.pp.reset();
  q.model.layers = 92;
  EXPECT_EQ(most(), 4);
}

// An all-reduce of whole gradients sends them twice: 10 bytes per parameter with the gathers, not
// 6, in fewer steps.
TEST(PredictTraining, reducing_whole_gradients_takes_longer_than_shards) {
  TrainingQuery q = llama70b();
  q.framework = "megatron-deepspeed";
  q.accelerator = machine::known().catalog().accelerator("a100-80-sxm");
  const training::TrainingJob job = job_of(q);
  const machine::Costs costs = training_costs(machine::known(), q);
  const training::Layout l{.tp = 4, .pp = 2, .dp = 8};
  training::FrameworkModel f = framework_of(machine::known(), q);
  training::StepScratch scratch;
  const auto exposed = [&] {
    return estimate_step(job, l, f, training_source(costs), scratch).part(training::StepPhase::dp);
  };
  ASSERT_TRUE(f.reduces_whole);
  const double whole = exposed();
  f.reduces_whole = false;
  EXPECT_GT(whole, 1.3 * exposed());
  EXPECT_LT(whole, 1.7 * exposed());
}

// A family's name can outlive its software: on newer accelerators the name means its successor, and
// a release without rows is taken to be like its neighbour.
TEST(PredictTraining, framework_family_follows_release_and_accelerator) {
  TrainingQuery q = llama70b();
  q.framework = "megatron-lm";
  q.accelerator = machine::known().catalog().accelerator("a100-80-sxm");
  EXPECT_FALSE(framework_of(machine::known(), q).style.fused_attention);
  q.accelerator = machine::known().catalog().accelerator("h100-sxm");
  EXPECT_TRUE(framework_of(machine::known(), q).style.fused_attention);
  // A successor of the named framework counts as unseen.
  const auto seen = unseen_in(machine::known(), q);
  EXPECT_NE(std::ranges::find(seen, training::Unseen::framework), seen.end());
  // One host of Megatron-Core's rows ran with every overlap off; larger jobs do not.
  q.framework = "megatron-core";
  EXPECT_GT(framework_of(machine::known(), q).dp_overlap, 0);
  // A release of Megatron-Core ran inside the NeMo of its time.
  const auto family = [&](const char* release) {
    q.release = release;
    return framework_of(machine::known(), q).id;
  };
  EXPECT_EQ(family("0.8"), "nemo");
  EXPECT_EQ(family("0.10.0"), "nemo");
  EXPECT_EQ(family("0.14"), "megatron-bridge");
  EXPECT_EQ(family(""), "megatron-bridge");
  q.gpus = 8;
  EXPECT_EQ(framework_of(machine::known(), q).dp_overlap, 0);
  q.framework = "megatron-deepspeed";
  EXPECT_TRUE(framework_of(machine::known(), q).style.fused_attention);
  q.accelerator = machine::known().catalog().accelerator("a100-80-sxm");
  EXPECT_FALSE(framework_of(machine::known(), q).style.fused_attention);
  EXPECT_EQ(framework_of(machine::known(), q).pp_overlap, 0);
  const auto factor = [](std::string_view release) {
    return machine::known().training.release_factor("megatron-bridge", release);
  };
  EXPECT_EQ(factor("26.09"), factor("26.08"));
  EXPECT_EQ(factor("25.07"), factor("25.09"));
  EXPECT_EQ(factor("nightly"), factor("26.08"));
}

TEST(PredictTraining, layout_is_complete_with_splits_and_microbatch) {
  EXPECT_FALSE((LayoutWish{}).complete());
  EXPECT_TRUE((LayoutWish{.tp = 1, .pp = 1, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.pp = 1, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .vp = 2, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .pp = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .pp = 2, .microbatch = 1}).complete())
      << "chunks per stage are open";
  EXPECT_TRUE((LayoutWish{.tp = 1, .pp = 2, .vp = 1, .microbatch = 1}).complete());
}

TrainingQuery small_training(const std::string& model = "llama-3-8b") {
  TrainingQuery q{.model = *machine::known().catalog().model(model),
                  .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                  .gpus = 8,
                  .nic = gbits_per_s(400),
                  .sequence = 4096,
                  .batch = 16};
  q.layout = {.tp = 2, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  q.layout.sharding = catalog::Sharding::zero1;
  q.layout.recompute = catalog::Recompute::none;
  return q;
}

TEST(PredictTraining, unseen_parts_of_a_query_are_named) {
  using enum training::Unseen;
  TrainingQuery q = small_training();
  q.model.id = "never-seen";
  EXPECT_THAT(unseen_in(machine::known(), q), Contains(model));
  EXPECT_THAT(unseen_in(machine::known(), q), Not(Contains(layout)));
  q.layout.microbatch.reset();
  EXPECT_THAT(unseen_in(machine::known(), q), Contains(layout));
  catalog::Accelerator unknown = *q.accelerator;
  unknown.id = "never-seen";
  q.accelerator = &unknown;
  EXPECT_THAT(unseen_in(machine::known(), q), Contains(accelerator));
  q.framework = "never-seen";
  EXPECT_THAT(unseen_in(machine::known(), q), Contains(framework));
  EXPECT_THAT(unseen_in(machine::known(), q), Not(Contains(release)));
}

// Width: errors of the framework family, of the accelerator and of everything unseen, in
// quadrature.
TEST(PredictTraining, intervals_are_errors_in_quadrature) {
  for (const char* model : {"llama-3-8b", "mixtral-8x7b"}) {
    TrainingQuery q = small_training(model);
    q.gpus = 16;
    if (q.model.is_moe()) q.layout.ep = 8;
    const auto p = predict_training(machine::known(), q);
    ASSERT_TRUE(p) << to_text(p.error());
    const training::FrameworkModel family = framework_of(machine::known(), q);
    const double own = machine::known().training.accelerator("h100-sxm").error;
    double square = own * own;
    std::vector<double> families{
        family.error, std::max(family.error, machine::known().training.frameworks.front().error)};
    for (const training::Unseen kind : unseen_in(machine::known(), q)) {
      const double more = machine::known().training.unseen_width(kind, q.model.is_moe());
      square += more * more;
    }
    const bool stands_in = family.id != q.framework;
    const double width = std::sqrt(square + std::pow(families[stands_in ? 1 : 0], 2));
    const double step = p->step.seconds;
    EXPECT_EQ(p->step_time_s.value, step);
    EXPECT_NEAR(p->step_time_s.high / step, 1 + width, 1e-9);
    EXPECT_NEAR(step / p->step_time_s.low, 1 + width, 1e-9);
    EXPECT_EQ(p->step_time_s.basis, machine::known().training.knows_framework(q.framework)
                                        ? Basis::fitted
                                        : Basis::derived);
    const double tokens = 4096.0 * 16 / 16 / step;
    EXPECT_NEAR(p->tokens_per_s_per_gpu.value, tokens, 1e-9 * tokens);
    EXPECT_NEAR(p->tokens_per_s_per_gpu.high / tokens, 1 + width, 1e-9);
    EXPECT_NEAR(tokens / p->tokens_per_s_per_gpu.low, 1 + width, 1e-9);
    EXPECT_EQ(p->memory_bytes.value, p->memory.peak.base());
    EXPECT_NEAR(p->memory_bytes.high / p->memory_bytes.value, 1 + family.memory_error, 1e-9);
    EXPECT_NEAR(p->memory_bytes.low / p->memory_bytes.value, 1 - family.memory_error, 1e-9);
    EXPECT_NEAR(p->watts.high / p->watts.value, 1.06, 1e-9);
    EXPECT_NEAR(p->watts.low / p->watts.value, 0.94, 1e-9);
    EXPECT_NEAR(p->energy_per_step.base(), p->step.watts * step * 16, 1e-6);
    EXPECT_NEAR(p->memory_limit.base(), 0.96 * q.accelerator->memory.base(), 1);
  }
}

// Choosing a layout moves both ends of the interval 2 % to the slow side, 5.5 % for mixtures of
// experts; the value stays inside.
TEST(PredictTraining, choosing_a_layout_shifts_the_interval) {
  for (const char* model : {"llama-3-8b", "mixtral-8x7b"}) {
    TrainingQuery q = small_training(model);
    q.gpus = 16;
    q.layout = {.pp = 1, .cp = 1, .microbatch = 1};
    const auto p = predict_training(machine::known(), q);
    ASSERT_TRUE(p) << to_text(p.error());
    EXPECT_TRUE(p->layout_chosen);
    const TrainingPrediction same =
        describe(machine::known(), q, job_of(q), training_costs(machine::known(), q), p->layout);
    const double slower = q.model.is_moe() ? 1.055 : 1.02;
    EXPECT_EQ(p->step_time_s.value, same.step_time_s.value);
    EXPECT_NEAR(p->step_time_s.high, same.step_time_s.high * slower, 1e-9);
    EXPECT_NEAR(p->step_time_s.low, std::min(same.step_time_s.value, same.step_time_s.low * slower),
                1e-9);
    EXPECT_LT(same.step_time_s.low * slower, same.step_time_s.value);
    const Estimate& rate = same.tokens_per_s_per_gpu;
    EXPECT_NEAR(p->tokens_per_s_per_gpu.low, rate.low / slower, 1e-6);
    EXPECT_NEAR(p->tokens_per_s_per_gpu.high, std::max(rate.value, rate.high / slower), 1e-6);
    EXPECT_GT(rate.high / slower, rate.value);
  }
}

TEST(PredictTraining, leanest_layout_is_returned_if_none_fits) {
  TrainingQuery q = small_training("llama-3-70b");
  q.layout = {.cp = 1};
  const auto p = predict_training(machine::known(), q);
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->fits);
  EXPECT_GT(p->memory.peak, p->memory_limit);
  ASSERT_FALSE(p->ranked.empty());
  for (const training::RankedLayout& l : p->ranked) EXPECT_GE(l.memory, p->ranked.front().memory);
}

training::LayoutSpace wide_space() {
  return {.tp = {1, 2},
          .pp = {1, 4},
          .vp = {1, 3},
          .cp = {1, 5},
          .ep = {1, 6},
          .microbatch = {1, 7},
          .sharding = {catalog::Sharding::none, catalog::Sharding::zero1},
          .recompute = {catalog::Recompute::none, catalog::Recompute::full},
          .schedule = {catalog::Schedule::one_f_one_b, catalog::Schedule::dualpipe},
          .sequence_parallel = {true, false}};
}

TEST(PredictTraining, open_fields_keep_all_candidates) {
  const training::LayoutSpace all = narrowed(wide_space(), {});
  EXPECT_THAT(all.tp, ElementsAre(1, 2));
  EXPECT_THAT(all.vp, ElementsAre(1, 3));
  EXPECT_THAT(all.sequence_parallel, ElementsAre(true, false));
  EXPECT_TRUE(all.partial_recompute);
  EXPECT_FALSE(all.async_tp);
  EXPECT_THAT(narrowed(wide_space(), {.pp = 1}).vp, ElementsAre(1))
      << "one stage is not cut into chunks";
}

TEST(PredictTraining, given_fields_keep_one_candidate) {
  const training::LayoutSpace one = narrowed(wide_space(), {.tp = 2,
                                                            .pp = 4,
                                                            .vp = 3,
                                                            .cp = 5,
                                                            .ep = 6,
                                                            .microbatch = 7,
                                                            .sharding = catalog::Sharding::zero3,
                                                            .recompute = catalog::Recompute::full,
                                                            .schedule = catalog::Schedule::dualpipe,
                                                            .sequence_parallel = false,
                                                            .async_tp = true});
  EXPECT_THAT(one.tp, ElementsAre(2));
  EXPECT_THAT(one.pp, ElementsAre(4));
  EXPECT_THAT(one.vp, ElementsAre(3));
  EXPECT_THAT(one.cp, ElementsAre(5));
  EXPECT_THAT(one.ep, ElementsAre(6));
  EXPECT_THAT(one.microbatch, ElementsAre(7));
  EXPECT_THAT(one.sharding, ElementsAre(catalog::Sharding::zero3));
  EXPECT_THAT(one.recompute, ElementsAre(catalog::Recompute::full));
  EXPECT_THAT(one.schedule, ElementsAre(catalog::Schedule::dualpipe));
  EXPECT_THAT(one.sequence_parallel, ElementsAre(false));
  EXPECT_TRUE(one.async_tp);
  EXPECT_FALSE(one.partial_recompute);
}

TEST(PredictTraining, usual_space_honours_given_fields) {
  TrainingQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
                  .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                  .gpus = 16};
  q.sequence = 4096;
  q.batch = 32;
  const training::LayoutSpace usual = space_of(q, job_of(q));
  EXPECT_THAT(usual.cp, ElementsAre(1));
  EXPECT_THAT(usual.sharding, ElementsAre(catalog::Sharding::zero1));
  EXPECT_THAT(usual.schedule, ElementsAre(catalog::Schedule::one_f_one_b));
  EXPECT_THAT(usual.sequence_parallel, ElementsAre(true));
  q.layout.sharding = catalog::Sharding::zero3;
  EXPECT_THAT(space_of(q, job_of(q)).sharding, ElementsAre(catalog::Sharding::zero3));
}

}  // namespace
}  // namespace orrery::jobs
