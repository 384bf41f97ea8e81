// Predictions put together by hand: intervals of a step and what widens and shifts them, requests
// of a benchmark, talks and prefixes that settle, sessions and their tier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/workload/model_math.h"
#include "layers/traffic/load.h"
#include "model/jobs/conversations.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/predict_sessions.h"
#include "model/jobs/predict_training.h"
#include "model/jobs/serve_adapters.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

using testing::Contains;
using testing::Not;

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

TEST(TrainingByHand, a_wish_is_complete_where_split_and_microbatch_are_given) {
  EXPECT_FALSE((LayoutWish{}).complete());
  EXPECT_TRUE((LayoutWish{.tp = 1, .pp = 1, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.pp = 1, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .vp = 2, .microbatch = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .pp = 1}).complete());
  EXPECT_FALSE((LayoutWish{.tp = 1, .pp = 2, .microbatch = 1}).complete()) << "chunks of stages";
  EXPECT_TRUE((LayoutWish{.tp = 1, .pp = 2, .vp = 1, .microbatch = 1}).complete());
}

TEST(TrainingByHand, what_no_row_is_of_is_named) {
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

// Width: errors of the family and of the accelerator and of all that was not seen, in quadrature.
TEST(TrainingByHand, intervals_are_errors_in_quadrature) {
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

// Of a layout that was chosen both ends are 2 % slower, 5.5 % with experts, and the middle stays
// inside.
TEST(TrainingByHand, a_chosen_layout_is_slower_at_both_ends) {
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

TEST(TrainingByHand, where_nothing_fits_the_leanest_is_told) {
  TrainingQuery q = small_training("llama-3-70b");
  q.layout = {.cp = 1};
  const auto p = predict_training(machine::known(), q);
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->fits);
  EXPECT_GT(p->memory.peak, p->memory_limit);
  ASSERT_FALSE(p->ranked.empty());
  for (const training::RankedLayout& l : p->ranked) EXPECT_GE(l.memory, p->ranked.front().memory);
}

ServingQuery small_serving(const std::string& engine = "vllm") {
  return {.model = *machine::known().catalog().model("llama-3-8b"),
          .accelerator = machine::known().catalog().accelerator("h100-sxm"),
          .engine = engine,
          .request = {.input = 600, .output = 40},
          .concurrency = 4};
}

// The first wave of requests waits behind the others of its burst; it counts as one of as many as a
// client sends, further ones than were run as the later of these.
TEST(ServingByHand, a_benchmark_is_its_burst_and_what_follows) {
  ServingQuery q = small_serving();
  q.request.requests_per_client = 8;
  const BenchmarkLoad load{.least_share = 0.5, .waves_most = 3, .seed = 5};
  const auto p = predict_benchmark(machine::known(), q, load);
  ASSERT_TRUE(p);
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs costs = serving_costs(machine::known(), q);
  serving::StepClock clock(replica, serving_source(costs), q.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(replica);
  policy.ignores_end = true;
  traffic::ReplicaSim sim(policy, clock);
  const auto requests = traffic::draw_requests(12, {.length = 600, .least_share = 0.5},
                                               {.length = 40, .least_share = 0.5}, 5);
  double burst = 0, later = 0, between = 0;
  for (const traffic::RequestRecord& r : run_closed(sim, requests, 4)) {
    (r.id < 4 ? burst : later) += r.ttft() / (r.id < 4 ? 4 : 8);
    between += r.tpot() / 12;
  }
  ASSERT_GT(burst, later * 1.05);
  const double seen = burst / 8 + later * 7 / 8;
  EXPECT_NEAR(p->tpot_s.value, between, 1e-12);
  EXPECT_NEAR(p->ttft_s.value,
              seen * replica.tuning.prompt_wait + around_first_token(replica).base() +
                  between * replica.tuning.poll_steps,
              1e-12);
}

// Where a device has no 16-bit products of the one kind, adapters run in those of the other.
TEST(ServingByHand, adapters_run_in_the_products_that_there_are) {
  ServingQuery q = small_serving();
  q.adapters = serving::AdapterSet{.count = 4, .slots = 2};
  catalog::Accelerator older = *q.accelerator;
  const auto bf16 = static_cast<std::size_t>(catalog::Dtype::bf16);
  EXPECT_DOUBLE_EQ(replica_of(machine::known(), q)->adapters.rate.base(),
                   0.2 * older.dense_peak[bf16]->base());
  older.dense_peak[bf16].reset();
  older.dense_peak[static_cast<std::size_t>(catalog::Dtype::fp16)] = tflops_per_s(100);
  q.accelerator = &older;
  q.precision = {.products = catalog::Dtype::fp16,
                 .experts = catalog::Dtype::fp16,
                 .kv = catalog::Dtype::fp16};
  const auto replica = replica_of(machine::known(), q);
  ASSERT_TRUE(replica);
  EXPECT_DOUBLE_EQ(replica->adapters.rate.base(), 0.2 * 100e12);
}

// Four rounds: what a replica carries, and what of the prefix its cache then has beside that.
TEST(ServingByHand, prefixes_settle_in_rounds) {
  ServingQuery q = small_serving();
  q.request = {.input = 2000, .output = 200, .cached_share = 0.5};
  q.adapters = serving::AdapterSet{.count = 20000, .slots = 16};
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const serving::ServingTarget target{.ttft_p99 = seconds(1)};
  serving::RequestShape own = q.request;
  for (int round = 0; round < 4; ++round) {
    const serving::ServingPoint most = capacity(replica, own, target, costs);
    ASSERT_GE(most.concurrency, 1);
    own.cached_share = 0.5 * prefix_found(replica.adapters, {.prefix = 1000,
                                                             .fresh = 1200,
                                                             .room = replica.memory.kv_tokens -
                                                                     most.running * (1000 + 100),
                                                             .running = most.running});
  }
  design::Serve serve;
  serving::RequestShape settled = q.request;
  settle_prefixes(settled, serve, replica, costs, target);
  EXPECT_DOUBLE_EQ(settled.cached_share, own.cached_share);
  EXPECT_LT(settled.cached_share, 0.45);
  serve.arrivals.turns = 3;
  serving::RequestShape talk = q.request;
  settle_prefixes(talk, serve, replica, costs, target);
  EXPECT_EQ(talk.cached_share, 0.5) << "of talks it is their history";
  serve.arrivals.turns = 1;
  serving::Replica plain = replica;
  plain.adapters = {};
  settle_prefixes(talk, serve, plain, costs, target);
  EXPECT_EQ(talk.cached_share, 0.5) << "one prefix for all";
}

// Three turns of 400 + 100: what a replica's cache has of them with what it then carries.
TEST(ServingByHand, talks_settle_in_rounds) {
  ServingQuery q = small_serving();
  design::Serve serve;
  serve.arrivals.turns = 3;
  serve.arrivals.think_time = seconds(20);
  serve.arrivals.input_tokens = 400;
  serve.arrivals.output_tokens = 100;
  serve.arrivals.shared_prefix = 0.25;
  serve.router = catalog::ServeRouter::session;
  q.request = {.input = 400 + 500, .output = 100, .cached_share = 0.5};
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  for (const std::optional<double> given : {std::optional<double>(), std::optional<double>(7)}) {
    serve.router = given ? catalog::ServeRouter::prefix : catalog::ServeRouter::session;
    const jobs::TalkAsk ask{
        .target = {.tpot_p99 = milliseconds(30)}, .peak = PerSecond(900), .replicas = given};
    traffic::TalkCase talk{.turns = 3, .think = 20, .prompt = 400, .output = 100, .at_home = true};
    talk.tokens = replica.memory.kv_tokens;
    serving::RequestShape own = q.request;
    std::vector<double> rounds;
    for (int round = 0; round < 20; ++round) {
      const serving::ServingPoint most = capacity(replica, own, ask.target, costs);
      talk.replicas = given.value_or(std::max(1.0, std::ceil(900 / (most.requests.base() * 0.8))));
      talk.rate = std::min(900 / talk.replicas, most.requests.base());
      talk.stay = (most.ttft + most.tpot * 99).base();
      own.cached_share = (0.25 * 400 / 3 + talk_found(talk) * 500) / 900;
      rounds.push_back(own.cached_share);
    }
    serving::RequestShape settled = q.request;
    settle_talks(settled, serve, replica, costs, ask);
    EXPECT_THAT(rounds, Contains(settled.cached_share));
    EXPECT_NE(settled.cached_share, q.request.cached_share);
  }
  serving::RequestShape as_it_was = q.request;
  serve.prefix_cache = false;
  settle_talks(as_it_was, serve, replica, costs, {.peak = PerSecond(9)});
  EXPECT_EQ(as_it_was.cached_share, 0.5);
  serve.prefix_cache = true;
  serve.arrivals.turns = 1;
  settle_talks(as_it_was, serve, replica, costs, {.peak = PerSecond(9)});
  EXPECT_EQ(as_it_was.cached_share, 0.5);
}

// 128 KiB of keys a token of the model: 32 layers x 8 heads x 128 x 2 of 2 bytes.
TEST(SessionsByHand, a_tier_has_blocks_up_to_a_most) {
  const ServingQuery q = small_serving();
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const auto law = [&](KvRoom room) { return kv_tier_law(q, room, replica, 16, costs); };
  const KvRoom room{
      .room = kib(128) * 160, .rate = kib(128) / seconds(1), .first_byte = milliseconds(3)};
  EXPECT_EQ(law(room).blocks, 10);
  EXPECT_DOUBLE_EQ(law(room).fetch_per_token, 1);
  EXPECT_DOUBLE_EQ(law(room).first_byte, 0.003);
  const double prompt =
      serving::step_time(replica, {.prompts = 1, .prompt_tokens = 1024}, costs).total.base();
  EXPECT_DOUBLE_EQ(law(room).compute_per_token, prompt / 1024);
  EXPECT_EQ(law({.room = Bytes(1e30), .rate = room.rate}).blocks, 100'000'000);
  const engines::KvTierLaw none = law({.rate = room.rate, .first_byte = room.first_byte});
  EXPECT_EQ(none.blocks, 0);
  EXPECT_EQ(none.first_byte, 0);
  EXPECT_EQ(none.fetch_per_token, 0);
  EXPECT_EQ(law({.room = room.room, .first_byte = room.first_byte}).blocks, 0);
}

TEST(SessionsByHand, users_talk_and_the_cache_finds_what_was_said) {
  for (const char* engine : {"vllm", "sglang"}) {
    const ServingQuery q = small_serving(engine);
    const traffic::SessionLoad load{.users = 2,
                                    .turns = 3,
                                    .think = 2,
                                    .prompt = {.length = 200},
                                    .output = {.length = 40},
                                    .requests = 30};
    const auto p = predict_sessions(
        machine::known(),
        {.query = q,
         .load = load,
         .kv = {.room = kib(128) * 1000, .rate = gbytes_per_s(10), .first_byte = microseconds(9)}});
    ASSERT_TRUE(p) << engine;
    const serving::Replica replica = replica_of(machine::known(), q).value();
    EXPECT_EQ(p->device_tokens, replica.memory.kv_tokens);
    EXPECT_EQ(p->tier_tokens, 992) << "62 blocks of sixteen";
    EXPECT_DOUBLE_EQ(p->fetch_of_token.base(), 131072 / 10e9);
    EXPECT_GT(p->compute_of_token, Seconds(0));
    EXPECT_GT(p->on_device, 0.8) << engine << ": nothing gave way";
    EXPECT_LE(p->on_device, 1);
    EXPECT_EQ(p->fetched, 0);
    EXPECT_EQ(p->latency.count, 20) << "the first third fills the cache";
    const machine::Costs device = serving_costs(machine::known(), q);
    EXPECT_EQ(p->error, serving_error(device.device(), q));
    serving::StepClock clock(replica, serving_source(device));
    engines::EnginePolicy policy = traffic::policy_of(replica);
    policy.prefix_cache = true;
    coarsen_blocks(policy);
    traffic::ReplicaSim sim(policy, clock);
    double first = 0;
    for (const traffic::RequestRecord& r : run_sessions(sim, load).records) {
      first += (r.ttft() + serving::kAheadSteps * r.tpot()) / 20;
    }
    first += (replica.engine.first_token + replica.tuning.first_token).base();
    EXPECT_NEAR(p->latency.ttft_mean, first, 1e-9) << engine;
  }
}

}  // namespace
}  // namespace orrery::jobs
