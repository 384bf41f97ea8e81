// Predictions of serving at their edges: speculation, what cannot be served, adapters word for
// word, replicas of which prefill is apart under the tightest bound.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/jobs/apart_size.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serve_adapters.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

ServingQuery edge_query(const char* model = "llama-3-8b") {
  return {.model = *machine::known().catalog().model(model),
          .accelerator = machine::known().catalog().accelerator("h100-sxm"),
          .request = {.input = 500, .output = 100}};
}

// Two tokens a step halve the steps of an answer: as one of half its length, at half the time a
// token.
TEST(ServingEdges, SpeculationShortensAnswersInSteps) {
  ServingQuery plain = edge_query();
  plain.concurrency = 4;
  plain.request.requests_per_client = 2;
  ServingQuery guessed = plain;
  guessed.request.output = 200;
  guessed.request.accepted_per_step = 2;
  const auto a = predict_benchmark(machine::known(), plain, {});
  const auto b = predict_benchmark(machine::known(), guessed, {});
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(b->tpot_s.value, a->tpot_s.value / 2, 1e-9 * a->tpot_s.value);
  EXPECT_NEAR(b->ttft_s.value, a->ttft_s.value, 1e-9 * a->ttft_s.value);
}

// 405 billion weights fit no single accelerator, whatever is asked of it.
TEST(ServingEdges, WhatDoesNotFitIsRefusedByAll) {
  const ServingQuery large = edge_query("llama-3.1-405b");
  const auto code = [](const auto& result) {
    return result ? std::string() : result.error().front().code;
  };
  const std::string memory = "serving.memory";
  EXPECT_EQ(code(replica_of(machine::known(), large)), memory);
  EXPECT_EQ(code(predict_serving(machine::known(), large)), memory);
  EXPECT_EQ(code(predict_capacity(machine::known(), large, {})), memory);
  EXPECT_EQ(code(predict_benchmark(machine::known(), large, {})), memory);
  EXPECT_EQ(code(predict_open_loop(machine::known(), large, {}, false)), memory);
  EXPECT_EQ(code(replay_requests(machine::known(), large, {}, false)), memory);
  EXPECT_EQ(code(predict_offline(machine::known(), large, 3)), memory);
  EXPECT_EQ(code(predict_step(machine::known(), large, {})), memory);
  EXPECT_EQ(
      code(predict_disaggregated(machine::known(), {.prefill = large, .decode = edge_query()})),
      memory);
  EXPECT_EQ(
      code(predict_disaggregated(machine::known(), {.prefill = edge_query(), .decode = large})),
      memory);
  EXPECT_EQ(code(predict_disaggregated(machine::known(),
                                       {.prefill = edge_query(), .decode = edge_query()})),
            "");
  EXPECT_EQ(least_tp(machine::known(), large, 8), std::nullopt);
  EXPECT_EQ(least_tp(machine::known(), edge_query("llama-3-70b"), 8), 4);
  EXPECT_EQ(least_tp(machine::known(), edge_query("llama-3-70b"), 3), std::nullopt);
  EXPECT_EQ(least_tp(machine::known(), edge_query(), 8), 1);
}

// Ten requests of an open loop come later than the engine stamps them: what is around a first token
// and a step of scheduling ahead.
TEST(ServingEdges, AnOpenLoopIsSeenAStepLater) {
  std::vector<traffic::Timed> arrivals;
  for (int i = 0; i < 10; ++i) {
    traffic::Timed t;
    t.spec.prompt = 300 + 10 * i;
    t.spec.output = 20;
    t.at = 0.5 * i;
    arrivals.push_back(t);
  }
  const auto run = predict_open_loop(machine::known(), edge_query(), arrivals, false);
  const auto bare = replay_requests(machine::known(), edge_query(), arrivals, false);
  ASSERT_TRUE(run && bare);
  ASSERT_EQ(bare->size(), 10U);
  double later = 0;
  for (const traffic::RequestRecord& r : *bare) {
    later += (r.ttft() + r.tpot() + run->replica.engine.first_token.base()) / 10;
  }
  EXPECT_NEAR(run->latency.ttft_mean, later, 1e-9 * later);
  EXPECT_NEAR(run->latency.tpot_mean, traffic::summarise(*bare).tpot_mean, 1e-12);
}

TEST(ServingEdges, FiguresOfAdapters) {
  AdapterView v;
  EXPECT_TRUE(adapter_figures(v, 0.2).empty());
  v.adapters.set = {.count = 200, .slots = 16, .rank = 12.345, .skew = 1.2345};
  v.adapters.reserved = gigabytes(8);
  v.adapters.load = milliseconds(40);
  v.slots.loads = 0.25;
  v.wait = milliseconds(30);
  ASSERT_TRUE(v.adapters.any());
  const std::vector<figures::Figure> f = adapter_figures(v, 0.2);
  ASSERT_EQ(f.size(), 3U);
  EXPECT_EQ(f[0].id(), "adapter_memory");
  EXPECT_EQ(f[0].estimate.value, 8e9);
  EXPECT_EQ(f[0].estimate.high, 8e9);
  EXPECT_EQ(f[0].formula, "16 slots of 500 MB, at the rank that the engine keeps for 12.3");
  EXPECT_EQ(f[1].estimate.value, 0.25);
  EXPECT_NEAR(f[1].estimate.low, 0.25 * 0.85, 1e-12);
  EXPECT_NEAR(f[1].estimate.high, 0.25 * 1.15, 1e-12);
  EXPECT_EQ(f[1].formula, "200 adapters for 16 slots, use as 1 / place^1.23; one takes 40 ms");
  EXPECT_NEAR(f[2].estimate.value, 0.03, 1e-12);
  EXPECT_NEAR(f[2].estimate.low, 0.03 * 0.7, 1e-12);
  EXPECT_NEAR(f[2].estimate.high, 0.03 * 1.3, 1e-12);
  EXPECT_EQ(f[2].formula, "in the time to the first token; slots bound that, and not throughput");
  const std::vector<figures::Figure> wide = adapter_figures(v, 0.8);
  EXPECT_NEAR(wide[2].estimate.low, 0.03 * 0.1, 1e-12) << "nine tenths at the most";
  EXPECT_NEAR(wide[2].estimate.high, 0.03 * 2.2, 1e-12);
}

// Three guesses a step, of which 2.3 tokens come out; the draft is 8.03 of 70.55 billion weights.
TEST(ServingEdges, ADraftCostsItsOwnSteps) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1 }]\n"
      "workloads: [{ serve: { name: s, model: llama-3-70b, draft_model: llama-3-8b, arrivals: { "
      "rate: 1 /s, input_tokens: 1000, output_tokens: 100, shared_prefix: 0.3 } } }]\n",
      machine::known().catalog());
  ASSERT_TRUE(d) << to_text(d.error());
  const machine::Machine m = build_machine(*d, machine::known());
  design::Serve serve = std::get<design::Serve>(m.design().workloads[0].task);
  const serving::RequestShape drafted = request_of(m, serve);
  EXPECT_EQ(drafted.checked_per_step, 4);
  EXPECT_NEAR(drafted.accepted_per_step, 2.3 / (1 + 3 * 8.0303 / 70.5537), 1e-5);
  EXPECT_EQ(drafted.input, 1000);
  EXPECT_NEAR(drafted.cached_share, 0.3, 1e-12);
  serve.draft_model.clear();
  const serving::RequestShape plain = request_of(m, serve);
  EXPECT_EQ(plain.checked_per_step, 1);
  EXPECT_EQ(plain.accepted_per_step, 1);
  serve.prefix_cache = false;
  EXPECT_EQ(request_of(m, serve).cached_share, 0);
}

// What one takes and how many decode at once, apart.
TEST(ServingEdges, ApartUnderTheTightestBound) {
  const ServingQuery q = edge_query();
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const auto size = [&](Seconds tpot, double peak, std::optional<int> prefill = {}) {
    return apart_size(replica, costs, q.request, {.tpot_p99 = tpot}, gbytes_per_s(50),
                      {.peak = PerSecond(peak), .prefill = prefill, .load = 0.8});
  };
  EXPECT_EQ(size(microseconds(1), 5).running, 1) << "one there is at the least";
  const jobs::ApartSize open = size(Seconds(), 5);
  const double in_cache = replica.memory.requests(500 + 50);
  EXPECT_EQ(open.running, std::floor(std::min(in_cache, replica.limits.max_sequences)));
  EXPECT_EQ(open.decode, std::max(1.0, std::ceil(5 / (open.decode_rate.base() * 0.8))));
  EXPECT_EQ(open.prefill, std::max(1.0, std::ceil(5 / (open.prefill_rate.base() * 0.8))));
  EXPECT_EQ(open.infeasible, "");
  EXPECT_NEAR(
      open.per_replica().base(),
      std::min(open.prefill_rate.base() * open.prefill, open.decode_rate.base() * open.decode) /
          (open.prefill + open.decode),
      1e-9);
  const jobs::ApartSize given = size(Seconds(), 5, 7);
  EXPECT_EQ(given.prefill, 7);
  const double each = open.prefill_rate.base();
  EXPECT_EQ(size(Seconds(), each * 0.99, 1).infeasible, "");
  EXPECT_NE(size(Seconds(), each * 1.01, 1).infeasible, "");
  // Under a bound the batch shrinks by tenths until a token is in time.
  const auto tpot = [&](double running) {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = 1e6},
                              {.replica = replica, .costs = costs, .replicas = 1}, q.request,
                              running, gbytes_per_s(50))
        .tpot;
  };
  const Seconds bound = (tpot(open.running) + tpot(1)) / 2;
  double running = open.running;
  while (tpot(running) > bound) running = std::floor(running * 0.9);
  EXPECT_EQ(size(bound, 5).running, running);
  EXPECT_LT(running, open.running);
}

}  // namespace
}  // namespace orrery::jobs
