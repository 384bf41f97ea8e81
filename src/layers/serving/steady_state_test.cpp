// The closed forms of steady_state.h and disaggregated.h, worked out on a device with simple steps:
// a millisecond of host time, 0.1 ms per decoding request, 1 us per prompt token.
#include "layers/serving/steady_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "layers/serving/disaggregated.h"

namespace orrery::serving {
namespace {

ServingCosts simple_costs() {
  ServingCosts costs;
  costs.kernel = [](const workload::Operation& op) {
    const auto* a = std::get_if<workload::Attention>(&op);
    if (!a) return ServingOpCost{};
    return ServingOpCost{.time = Seconds(a->causal ? a->batch * a->q_len * 1e-6 : a->batch * 1e-4)};
  };
  costs.collective = [](const workload::CollectiveCall& c) {
    return Seconds(c.bytes.base() > 0 ? 1e-5 : 0);
  };
  // The power shows which step it was: 300 W plus 1 W per microsecond of kernels.
  costs.settle = [](const ServingOpCost& c, Seconds waiting) {
    return SettledWork{.time = c.time + waiting, .power = Watts(300 + c.time.base() * 1e6)};
  };
  return costs;
}

Replica simple_replica() {
  Replica r;
  r.model = {.id = "one", .layers = 1, .hidden = 8, .heads = 1, .kv_heads = 1, .head_dim = 8};
  r.engine = {.id = "vllm", .host_step = milliseconds(1), .first_token = milliseconds(5)};
  r.limits = {.token_budget = 400, .max_sequences = 50};
  r.memory.kv_tokens = 1e6;
  return r;
}

constexpr double kMs = 1e-3;

// 11 clients: a step of 2.1 ms, prompts of three chunks that add 1 ms, 4 ms alone.
//   TPOT = 2.1 + 1 x 10 / 100 = 2.2,  rho = 11 x 1 / 220 = 0.05
TEST(ClosedLoop, closed_loop_matches_hand_calculation) {
  const RequestShape request{.input = 1000, .output = 100, .requests_per_client = 10};
  const ServingPoint p = closed_loop(simple_replica(), request, 11, simple_costs());
  EXPECT_NEAR(p.decode.total.base(), 2.1 * kMs, 1e-12);
  EXPECT_NEAR(p.prefill.base(), 4 * kMs, 1e-12);
  EXPECT_NEAR(p.prefill_adds.base(), 1 * kMs, 1e-12);
  EXPECT_NEAR(p.tpot.base(), 2.2 * kMs, 1e-12);
  EXPECT_NEAR(p.prefill_share, 0.05, 1e-12);
  // Half a step, the prompt ahead, and for the burst (10 + 1.2 - 1) / 2 for one of ten requests.
  const double wait = (1.05 + 0.05 / (2 * 0.95) + 0.51) * kMs;
  EXPECT_NEAR(p.ttft.base(), (4 + 5) * kMs + wait, 1e-12);
  const double whole = (4 + 5 + 99 * 2.2) * kMs + wait;
  EXPECT_NEAR(p.requests.base(), 11 / whole, 1e-9);
  EXPECT_NEAR(p.output_tokens_per_s, 1100 / whole, 1e-6);
  EXPECT_NEAR(p.total_tokens_per_s, 11 * 1100 / whole, 1e-5);
  EXPECT_EQ(p.bound, ServingBound::none);
  EXPECT_EQ(p.running, 11);
  EXPECT_NEAR(p.ttft_p99.base(), p.ttft.base() + 3.605 * wait, 1e-9) << "an exponential's";
  // 1,400 W while decoding (1,100 us of kernels), 333 us more with a chunk.
  EXPECT_NEAR(p.power.base(), 1400 * 0.95 + (1400 + 1000 / 3.0) * 0.05, 1e-6);
  EXPECT_NEAR(p.energy_per_output_token.base(), p.power.base() / p.output_tokens_per_s, 1e-9);
}

// A single client has no others beside it.
TEST(ClosedLoop, single_client_matches_hand_calculation) {
  const RequestShape request{.input = 400, .output = 2, .requests_per_client = 1};
  const ServingPoint p = closed_loop(simple_replica(), request, 1, simple_costs());
  EXPECT_NEAR(p.tpot.base(), 1.1 * kMs, 1e-12);
  const double rho = 0.4 / 2.2;
  EXPECT_NEAR(p.ttft.base(), (1.4 + 5 + 0.4 * rho / (2 * (1 - rho))) * kMs, 1e-12);
}

// 80 clients and 50 places: the rest waits for 30/50 of a request's time; a cache for 20 is the
// stricter limit.
TEST(ClosedLoop, clients_without_a_place_wait) {
  Replica replica = simple_replica();
  const RequestShape request{.input = 100, .output = 100, .requests_per_client = 1e12};
  const ServingPoint p = closed_loop(replica, request, 80, simple_costs());
  EXPECT_EQ(p.bound, ServingBound::sequences);
  EXPECT_EQ(p.running, 50);
  const double tpot = (6 * 100 + 0.1 * 49) / 100 * kMs;
  EXPECT_NEAR(p.tpot.base(), tpot, 1e-12);
  const double rho = 50 * 0.1 / (100 * 6.049);
  const double own = (1.1 + 5 + 3 + 0.1 * rho / (2 * (1 - rho))) * kMs + 99 * tpot;
  EXPECT_NEAR(p.ttft.base(), own - 99 * tpot + own * 0.6, 1e-9);
  EXPECT_NEAR(p.requests.base(), 50 / own, 1e-6);
  replica.memory.kv_tokens = 20 * 150;
  EXPECT_EQ(most_running(replica, request), 20);
  const ServingPoint tight = closed_loop(replica, request, 21, simple_costs());
  EXPECT_EQ(tight.bound, ServingBound::kv_cache);
  EXPECT_EQ(tight.running, 20);
  EXPECT_EQ(closed_loop(replica, request, 20, simple_costs()).bound, ServingBound::none);
  replica.engine.keeps_all_output = true;
  EXPECT_EQ(most_running(replica, request), 15);
  replica.split.attention_dp = 2;
  replica.memory.kv_tokens = 1e9;
  EXPECT_EQ(most_running(replica, request), 100) << "each rank has its places";
}

// What tests measure in addition: prompts that take longer by the engine's factor, and steps until
// a request is noticed.
TEST(ClosedLoop, tuning_adds_what_tests_measure) {
  Replica replica = simple_replica();
  RequestShape request{.input = 400, .output = 100, .requests_per_client = 10};
  const Seconds plain = closed_loop(replica, request, 11, simple_costs()).ttft;
  replica.tuning.prompt_wait = 1.5;
  replica.tuning.poll_steps = 2;
  const Seconds tuned = closed_loop(replica, request, 11, simple_costs()).ttft;
  EXPECT_NEAR((tuned - plain).base(), (0.5 * 1.4 + 2 * 2.1) * kMs, 1e-9);
  request.requests_per_client = 0;
  const Seconds steady = closed_loop(replica, request, 11, simple_costs()).ttft;
  replica.tuning = {};
  EXPECT_EQ(steady, closed_loop(replica, request, 11, simple_costs()).ttft);
}

// Ten requests decode on average; prompts of 400 tokens add 0.4 ms: TPOT = 2 + 0.4 x 10 / 100.
//   rho = 10 x 0.4 / 204, Var T = rho x 2.04 x 0.4 / (1 - rho^2)
TEST(SteadyArrivals, steady_arrivals_match_hand_calculation) {
  const RequestShape request{.input = 400, .output = 100};
  const ServingPoint p = steady_arrivals(simple_replica(), request, 10, simple_costs());
  const double rho = 4 / 204.0;
  EXPECT_NEAR(p.tpot.base(), 2.04 * kMs, 1e-12);
  EXPECT_NEAR(p.prefill_share, rho, 1e-12);
  EXPECT_NEAR(p.requests.base(), 10 / 0.204, 1e-9);
  const double variance = rho * 2.04 * 0.4 / (1 - rho * rho);  // ms^2
  const double seen = 2.04 + variance / 2.04;
  // The rest of a step, the prompts in it, the decode of its own step and a step ahead.
  const double wait = (1 - std::exp(-10)) * (seen / 2 + rho * seen + (2 + 0.4 - 1.4) + 2.04);
  EXPECT_NEAR(p.ttft.base(), (1.4 + 5 + wait) * kMs, 1e-12);
  const double late = 3 * std::sqrt(seen * seen / 12 + variance * (0.25 + rho));
  EXPECT_NEAR(p.ttft_p99.base(), p.ttft.base() + late * kMs, 1e-12);
  // The mean of 99 correlated steps is log-normal; the nine other requests are Poisson.
  const double spread = std::min(variance * (1 + rho) / (1 - rho) / 99, variance);
  const double s = std::sqrt(std::log(1 + spread / (2.04 * 2.04)));
  const double a_step = 2.04 * (std::exp(2.3263479 * s - s * s / 2) - 1);
  const double crowd = 0.1 * 2.326 * 3 / (1 - rho);
  EXPECT_NEAR(p.tpot_p99.base(), p.tpot.base() + std::hypot(a_step, crowd) * kMs, 1e-9);
  const double slow = std::hypot(a_step, crowd) * 99;
  EXPECT_NEAR(p.whole_p99.base(), p.ttft.base() + 99 * 2.04 * kMs + std::hypot(late, slow) * kMs,
              1e-8);
}

// Less than one decoding request: a step still has one, and most arrivals find the engine idle.
TEST(SteadyArrivals, idle_replica_matches_hand_calculation) {
  const RequestShape request{.input = 400, .output = 100};
  const ServingPoint p = steady_arrivals(simple_replica(), request, 0.01, simple_costs());
  EXPECT_NEAR(p.decode.total.base(), 1.1 * kMs, 1e-12);
  EXPECT_NEAR(p.tpot.base(), (1.1 + 0.4 * 0.01 / 100) * kMs, 1e-12);
  // One in a hundred finds a running step, its decode beside it and a step ahead.
  EXPECT_NEAR(p.ttft.base(), (6.4 + (1 - std::exp(-0.01)) * (0.55 + 0.1 + 1.1)) * kMs, 1e-7);
}

// Lengths with a distribution: its deviation d solves ln(p99 / mean) = 2.326 d - d^2 / 2.
TEST(SteadyArrivals, varying_lengths_match_hand_calculation) {
  RequestShape request{.input = 400, .output = 100};
  const ServingPoint even = steady_arrivals(simple_replica(), request, 10, simple_costs());
  request.input_p99 = 400 * std::exp(2.326 * 0.8 - 0.32);
  const ServingPoint p = steady_arrivals(simple_replica(), request, 10, simple_costs());
  const double rho = 4 / 204.0;
  const double variance = rho * 2.04 * 0.4 * std::exp(0.64) / (1 - rho * rho);
  const double seen = 2.04 + variance / 2.04;
  const double wait = (1 - std::exp(-10)) * (seen / 2 + rho * seen + 1 + 2.04);
  EXPECT_NEAR(p.ttft.base(), (6.4 + wait) * kMs, 1e-9);
  const double late = 3 * std::sqrt(seen * seen / 12 + variance * (0.25 + rho));
  // A long prompt alone: 1,911.6 tokens in 5 chunks.
  const double chunks = std::ceil(request.input_p99 / 400);
  const double longer = chunks + request.input_p99 / 1000 - 1.4;
  EXPECT_NEAR(p.ttft_p99.base(), p.ttft.base() + std::hypot(late, longer) * kMs, 1e-9);
  EXPECT_GT(p.tpot_p99, even.tpot_p99);
  // Long answers: that many more tokens, in steps near the mean.
  request.input_p99 = 0;
  request.output_p99 = 300;
  const ServingPoint answers = steady_arrivals(simple_replica(), request, 10, simple_costs());
  const double crowd = 0.1 * 2.326 * 3 / (1 - rho) * 99;
  const double same = (even.ttft_p99 - even.ttft).base() / kMs;
  EXPECT_NEAR(
      answers.whole_p99.base(),
      even.ttft.base() + (99 * 2.04 + std::hypot(std::hypot(same, 200 * 2.04), crowd)) * kMs, 1e-8);
}

// Shorter answers average over fewer steps; the percentile is that of the mixture.
TEST(SteadyArrivals, varying_answers_average_over_their_steps) {
  const RequestShape request{.input = 4000, .output = 20, .output_p99 = 80};
  Replica replica = simple_replica();
  replica.limits.token_budget = 8192;
  const ServingPoint p = steady_arrivals(replica, request, 10, simple_costs());
  const double mean = 2 + 4 * 10 / 20.0;
  EXPECT_NEAR(p.tpot.base(), mean * kMs, 1e-12);
  const double rho = 0.5;
  const double variance = rho * mean * 4 / (1 - rho * rho);
  const double d = 2.326 - std::sqrt(2.326 * 2.326 - 2 * std::log(4));
  // The same mixture, integrated more finely.
  const auto slower = [&](double level) {
    double sum = 0, weights = 0;
    for (int i = 0; i <= 600; ++i) {
      const double z = -3 + i * 0.01;
      const double gaps = std::max(1.0, 20 * std::exp(-d * d / 2 + d * z) - 1);
      const double spread = std::min(variance * 3 / gaps, variance);
      const double s = std::sqrt(std::log(1 + spread / (mean * mean)));
      const double weight = std::exp(-z * z / 2);
      sum += weight * 0.5 * std::erfc((std::log(level / mean) + s * s / 2) / s / std::sqrt(2.0));
      weights += weight;
    }
    return sum / weights;
  };
  const double crowd = 0.1 * 2.326 * 3 / (1 - rho);
  const double late = (p.tpot_p99 - p.tpot).base() / kMs;
  const double a_step = std::sqrt(late * late - crowd * crowd);
  EXPECT_NEAR(slower(mean + a_step), 0.01, 0.0003);
}

// Speculation: two of three checked tokens are accepted per step.
TEST(SteadyArrivals, speculation_accepts_two_tokens_per_step) {
  const RequestShape request{
      .input = 400, .output = 100, .accepted_per_step = 2, .checked_per_step = 3};
  const ServingPoint p = steady_arrivals(simple_replica(), request, 10, simple_costs());
  // Three queries at once are causal here: 3 us per request instead of 100.
  EXPECT_NEAR(p.decode.total.base(), 1.03 * kMs, 1e-12);
  EXPECT_NEAR(p.tpot.base(), (1.03 * 50 + 0.4 * 10) / 100 * kMs, 1e-12);
  EXPECT_NEAR(p.requests.base(), 10 / (0.555 * 0.1), 1e-6);
}

TEST(Chunks, partly_cached_prompt_has_fewer_chunks) {
  const RequestShape request{.input = 1000, .output = 100, .cached_share = 0.4};
  const ServingPoint p = steady_arrivals(simple_replica(), request, 1, simple_costs());
  EXPECT_NEAR(p.prefill.base(), (2 + 0.6) * kMs, 1e-12) << "600 tokens in two chunks";
  EXPECT_NEAR(p.prefill_adds.base(), 0.6 * kMs, 1e-12);
}

TEST(Capacity, capacity_is_the_last_that_meets_each_limit) {
  const RequestShape request{.input = 400, .output = 100};
  const auto most = [&](const ServingTarget& target) {
    return capacity(simple_replica(), request, target, simple_costs()).concurrency;
  };
  // TPOT = 1 + 0.1 b + 0.004 b.
  EXPECT_EQ(most({.tpot_mean = milliseconds(2.0401)}), 10);
  EXPECT_EQ(most({.tpot_mean = milliseconds(2.0399)}), 9);
  EXPECT_EQ(most({}), 50) << "as many as there are places for";
  const auto at = [&](double b) {
    return steady_arrivals(simple_replica(), request, b, simple_costs());
  };
  EXPECT_EQ(most({.ttft_mean = at(7).ttft}), 7);
  EXPECT_EQ(most({.ttft_p99 = at(8).ttft_p99}), 8);
  EXPECT_EQ(most({.tpot_p99 = at(13).tpot_p99}), 13);
}

TEST(ReplicasNeeded, replicas_needed_respect_their_load) {
  EXPECT_EQ(replicas_needed(PerSecond(40), PerSecond(10), 0.8), 5);
  EXPECT_EQ(replicas_needed(PerSecond(40.1), PerSecond(10), 0.8), 6);
  EXPECT_EQ(replicas_needed(PerSecond(40), PerSecond(0), 0.8), 0);
  EXPECT_EQ(replicas_needed(PerSecond(-1), PerSecond(10), 0.8), 0);
}

// Batches of 4: H_4 = 25/12, so with mean 10 the longest has 20.83 tokens, to which all are padded.
TEST(StaticBatching, static_batching_matches_hand_calculation) {
  Replica replica = simple_replica();
  replica.memory.kv_tokens = 4.5 * 500;
  const RequestShape request{.input = 400, .output = 10};
  const double longest = 10 * 25 / 12.0;
  const StaticBatch b = static_batching(replica, request, 1, 100, 8, simple_costs());
  EXPECT_EQ(b.batch, 4);
  EXPECT_NEAR(b.output_tokens_per_s, 40 / ((4 * 1.4 + 1.4 * longest) * kMs), 1e-6);
  EXPECT_EQ(static_batching(replica, request, 1, 100, 3, simple_costs()).batch, 3);
  replica.limits.max_sequences = 2;
  EXPECT_EQ(static_batching(replica, request, 1, 100, 8, simple_costs()).batch, 2);
  replica.memory.kv_tokens = 10;
  EXPECT_EQ(static_batching(replica, request, 1, 100, 8, simple_costs()).batch, 1);
  replica = simple_replica();
  const StaticBatch cut = static_batching(replica, request, 2, 15, 4, simple_costs());
  EXPECT_NEAR(cut.output_tokens_per_s, 40 / ((4 * 1.4 + 1.4 * 15) * kMs), 1e-6) << "no longer";
}

// Two stages, four layers, of which two are routed and one has a state.
TEST(SettledStep, step_adds_host_layers_and_stages) {
  Replica r = simple_replica();
  r.model.layers = 4;
  r.model.experts = 8;
  r.model.first_dense_layers = 2;
  r.model.state_space_layers = 1;
  r.split = {.tp = 1, .pp = 2, .attention_dp = 4};
  r.tuning = {.layer = microseconds(10),
              .expert_layer = microseconds(20),
              .state_layer = microseconds(40),
              .step = microseconds(100),
              .sequence = microseconds(8)};
  const ServingCosts costs = simple_costs();
  const StepTime t = settled_step(r, {.time = microseconds(500)}, microseconds(30), 0, 40, costs);
  EXPECT_NEAR(t.host.base(), 1.18e-3, 1e-12) << "1 ms, 0.1 and 8 us of 10 requests";
  EXPECT_NEAR(t.messages.base(), 60e-6, 1e-12);
  // The slowest of four attention ranks takes a twentieth longer.
  EXPECT_NEAR(t.kernels.base(), 2 * (525 + (40 + 40 + 40) / 2.0) * 1e-6, 1e-12);
  EXPECT_NEAR(t.total.base(), t.host.base() + t.messages.base() + t.kernels.base(), 1e-15);
  EXPECT_NEAR(t.power.base(), 825, 1e-9);
  // A step with prompts is launched layer by layer and takes at least that long.
  r.engine.eager_layer = microseconds(800);
  EXPECT_EQ(settled_step(r, {.time = microseconds(500)}, microseconds(30), 0, 40, costs).total,
            t.total);
  const StepTime eager =
      settled_step(r, {.time = microseconds(500)}, microseconds(30), 1, 40, costs);
  EXPECT_NEAR(eager.total.base(), 3.2e-3, 1e-12);
  EXPECT_NEAR(eager.host.base(), 3.2e-3 - 60e-6 - 1170e-6, 1e-12);
  r.engine.first_token = milliseconds(5);
  r.tuning.first_token = milliseconds(2);
  r.tuning.expert_first = microseconds(300);
  EXPECT_NEAR(around_first_token(r).base(), 7.6e-3, 1e-12);
}

// Factors of the tuning, each on its own kind of work.
TEST(KernelWith, every_kind_of_work_has_its_factor) {
  Replica r = simple_replica();
  r.engine.kernels_hidden = 0.25;
  r.tuning = {
      .products = 2, .experts = 3, .decoding = 5, .latent = 7, .prefill = 11, .messages = 13};
  ServingCosts costs;
  costs.kernel = [](const workload::Operation&) {
    return ServingOpCost{
        .time = seconds(1), .clocked = seconds(2), .core = Joules(3), .memory = Joules(4)};
  };
  costs.collective = [](const workload::CollectiveCall&) { return seconds(1); };
  using catalog::Dtype;
  const auto factor = [&](const workload::Operation& op, bool expert = false) {
    return kernel_with(r, op, expert, costs).time.base();
  };
  EXPECT_EQ(factor(workload::MemoryPass{}), 0.75);
  EXPECT_EQ(factor(workload::Gemm{}), 2);
  EXPECT_EQ(factor(workload::Gemm{.dtype = Dtype::fp8}, true), 3);
  EXPECT_EQ(factor(workload::Gemm{.dtype = Dtype::bf16}, true), 1) << "the vendor's kernels";
  EXPECT_EQ(factor(workload::Attention{.q_len = 16, .dtype = Dtype::fp8}), 5);
  EXPECT_EQ(factor(workload::Attention{.q_len = 17, .dtype = Dtype::fp8}), 11);
  EXPECT_EQ(factor(workload::Attention{.q_len = 1, .dtype = Dtype::bf16}), 1);
  r.tuning.decoding = 0.5;
  EXPECT_EQ(factor(workload::Attention{.q_len = 1, .dtype = Dtype::bf16}), 0.5);
  r.model.attention = catalog::AttentionKind::mla;
  EXPECT_EQ(factor(workload::Attention{.q_len = 1, .dtype = Dtype::fp8}), 7);
  const ServingOpCost all = kernel_with(r, workload::Gemm{}, false, costs);
  EXPECT_EQ(all.clocked.base(), 4);
  EXPECT_EQ(all.core.base(), 6);
  EXPECT_EQ(all.memory.base(), 8);
  EXPECT_EQ(message_with(r, {}, costs).base(), 13);
}

// 20 clients, prompts of 400 tokens on one prefill replica of 1.4 ms, and two decode replicas.
//   b decode: X = b / (99 (1 + 0.05 b) ms);  b + X T(X) = 20
TEST(Disaggregated, separate_pools_match_hand_calculation) {
  DisaggregatedPool prefill{.replica = simple_replica(), .costs = simple_costs()};
  DisaggregatedPool decode{.replica = simple_replica(), .costs = simple_costs(), .replicas = 2};
  const RequestShape request{.input = 400, .output = 100};
  const DisaggregatedPoint p =
      disaggregated_loop(prefill, decode, request, 20, BytesPerSecond(12.8e6));
  EXPECT_NEAR(p.transfer.base(), 1e-3, 1e-12) << "32 bytes a token";
  EXPECT_NEAR(p.prefill.base(), 1.4e-3, 1e-12);
  const double x = p.requests.base();
  EXPECT_NEAR(x, p.decoding / (99 * (1 + 0.05 * p.decoding) * kMs), 1e-6);
  const double rho = x * 1.4 * kMs;
  const double queue = std::pow(rho, std::sqrt(4.0) - 1) / (1 - rho) * 0.7 * kMs;
  EXPECT_NEAR(p.decoding + x * ((1.4 + 1) * kMs + queue), 20, 1e-6);
  EXPECT_NEAR(p.tpot.base(), (1 + 0.05 * p.decoding) * kMs, 1e-12);
  EXPECT_NEAR(p.ttft.base(), (1.4 + 1 + 5) * kMs + queue, 1e-8);
  EXPECT_NEAR(p.prefill_load, rho, 1e-12);
  EXPECT_NEAR(p.prefill_power.base(), 700, 1e-6);
  EXPECT_NEAR(p.decode_power.base(), 300 + 50 * p.decoding, 1e-6);
}

// Places for 6 on two replicas: the others wait for a place, and get their first token with it.
TEST(Disaggregated, places_or_prefill_limit_throughput) {
  DisaggregatedPool prefill{.replica = simple_replica(), .costs = simple_costs()};
  DisaggregatedPool decode{.replica = simple_replica(), .costs = simple_costs(), .replicas = 2};
  decode.replica.limits.max_sequences = 3;
  RequestShape request{.input = 400, .output = 100};
  const auto run = [&](double clients) {
    return disaggregated_loop(prefill, decode, request, clients, BytesPerSecond(0));
  };
  const DisaggregatedPoint full = run(26);
  EXPECT_NEAR(full.decoding, 6, 1e-6);
  EXPECT_EQ(full.transfer.base(), 0);
  EXPECT_NEAR(full.ttft.base(), 20 / full.requests.base() + 5 * kMs, 1e-6);
  // Tests add half of the burst's drain time, and the steps until an engine notices a request.
  request.requests_per_client = 4;
  prefill.replica.tuning.poll_steps = 3;
  const double most = 1 / (1.4 * kMs);
  EXPECT_NEAR((run(26).ttft - full.ttft).base(), 3 * 1.3 * kMs + 26 / most / 2 / 4, 1e-6);
  // Long prompts: prefill is the limit, 2.2 s per request on each of two replicas.
  request = {.input = 2000e3, .output = 2};
  prefill.replicas = 2;
  prefill.replica.limits.token_budget = 1e4;
  const DisaggregatedPoint slow = run(26);
  const double rho = slow.prefill_load;
  EXPECT_GT(rho, 0.95);
  EXPECT_NEAR(slow.requests.base(), rho * 2 / 2.2, 1e-9);
  const double queue = std::pow(rho, std::sqrt(6.0) - 1) / (2 * (1 - rho)) * 1.1;
  EXPECT_NEAR(slow.decoding + slow.requests.base() * (2.2 + queue), 26, 1e-6);
  EXPECT_NEAR(slow.prefill.base(), 2.2, 1e-9) << "200 chunks";
}

// Short prompts share a step on every attention rank; the engine's own factor slows them.
TEST(Disaggregated, short_prompts_share_a_step) {
  DisaggregatedPool prefill{.replica = simple_replica(), .costs = simple_costs(), .replicas = 3};
  prefill.replica.split.attention_dp = 2;
  prefill.replica.limits.token_budget = 1000;
  prefill.replica.tuning.prompt_wait = 1.25;
  DisaggregatedPool decode{.replica = simple_replica(), .costs = simple_costs(), .replicas = 1000};
  const RequestShape request{.input = 400, .output = 1};
  const DisaggregatedPoint p = disaggregated_loop(prefill, decode, request, 10, BytesPerSecond(0));
  // Two prompts per rank: 1.8 ms for four of them.
  const double most = 3 * 4 / (1.8 * 1.25 * kMs);
  EXPECT_NEAR(p.prefill_load * most, p.requests.base(), 1e-6);
  EXPECT_NEAR(p.prefill.base(), 1.4 * kMs, 1e-12);
  const double rho = p.prefill_load;
  const double queue = std::pow(rho, std::sqrt(14.0) - 1) / (6 * (1 - rho)) * 0.7 * kMs;
  EXPECT_NEAR(p.ttft.base(), (1.4 * 1.25 + 5) * kMs + queue, 1e-6);
}

// What the attention kernels are called with: queries and keys of every kernel, by hand.
using Asked = std::set<std::pair<double, double>>;

ServingCosts noting(Asked& asked) {
  ServingCosts costs = simple_costs();
  costs.kernel = [&asked, plain = costs.kernel](const workload::Operation& op) {
    if (const auto* a = std::get_if<workload::Attention>(&op)) asked.emplace(a->q_len, a->kv_len);
    return plain(op);
  };
  return costs;
}

// 1,000 tokens of which 400 are cached: two chunks of 300 after 400 and 700, 550 on average; on
// average half of the answer exists when a token is decoded.
TEST(Keys, attention_lengths_of_steps_match_hand_calculation) {
  Asked asked;
  const RequestShape request{.input = 1000, .output = 100, .cached_share = 0.4};
  closed_loop(simple_replica(), request, 5, noting(asked));
  EXPECT_EQ(asked, (Asked{{1, 1050}, {300, 850}}));
  asked.clear();
  static_batching(simple_replica(), {.input = 1000, .output = 100}, 0, 100, 5, noting(asked));
  // Three chunks of a third each; one of them precedes the middle one.
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked.begin()->second, 1050);
  EXPECT_NEAR(asked.rbegin()->first, 1000 / 3.0, 1e-9);
  EXPECT_NEAR(asked.rbegin()->second, 2000 / 3.0, 1e-9);
}

TEST(Keys, attention_lengths_of_separate_pools_match_hand_calculation) {
  Asked prompts, tokens;
  const DisaggregatedPool prefill{.replica = simple_replica(), .costs = noting(prompts)};
  const DisaggregatedPool decode{.replica = simple_replica(), .costs = noting(tokens)};
  disaggregated_loop(prefill, decode, {.input = 800, .output = 100, .checked_per_step = 3}, 5,
                     BytesPerSecond(0));
  EXPECT_EQ(prompts, (Asked{{400, 600}})) << "two chunks: the second sees 400 more";
  EXPECT_EQ(tokens, (Asked{{3, 850}}));
}

}  // namespace
}  // namespace orrery::serving
