// Prefill on separate replicas, engines behind the executor's port, and a prefill pool at its
// limit: a few requests each, with all times worked out by hand.
#include <gtest/gtest.h>

#include "layers/engines/engine_fixture.h"
#include "layers/serving/disaggregated.h"
#include "layers/serving/test_costs.h"
#include "layers/traffic/apart_fleet.h"
#include "layers/traffic/live_replica.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy by_fours() {
  engines::EnginePolicy p = engines::tiny(engines::EngineKind::vllm);
  p.token_budget = 100;
  p.long_prompt = 4;
  p.prefix_cache = true;
  return p;
}

Timed asked_at(double at, int prompt, int output, std::uint64_t content) {
  return {.spec = {.prompt = prompt, .output = output, .content = content}, .at = at};
}

// Steps of a second with at most four prompt tokens; a token's keys take a second to send. The
// first prompt is done at 3 s, the second at 1 s, and its keys leave first: 1 to 4 s, then 4 to 16
// s. The third finds 8 of its 12 tokens, and the fourth fits nowhere.
TEST(ApartByHand, keys_leave_in_the_order_prompts_finish) {
  serving::StepClock clock = serving::even_clock(1);
  const std::vector<Timed> arrivals{asked_at(0, 12, 3, 5), asked_at(0, 3, 2, 6),
                                    asked_at(30, 12, 2, 5), asked_at(31, 5000, 2, 7)};
  const ApartRun apart = run_apart({.bytes_per_token = 2, .port_rate = 2}, by_fours(), clock,
                                   by_fours(), clock, arrivals);
  ASSERT_EQ(apart.run.records.size(), 3u);
  const RequestRecord& a = apart.run.records[0];
  const RequestRecord& b = apart.run.records[1];
  const RequestRecord& c = apart.run.records[2];
  EXPECT_EQ(a.id, 0);
  EXPECT_EQ(b.id, 1);
  EXPECT_EQ(c.id, 2);
  EXPECT_EQ(a.first, 3);
  EXPECT_EQ(b.first, 1);
  EXPECT_EQ(c.first, 31);
  EXPECT_EQ(a.last, 18) << "two more tokens from 16 s on";
  EXPECT_EQ(b.last, 5) << "one from 4 s on";
  EXPECT_EQ(c.last, 44) << "one from 43 s on";
  EXPECT_EQ(a.arrived + b.arrived, 0);
  EXPECT_EQ(c.arrived, 30);
  EXPECT_EQ(c.scheduled, 30);
  EXPECT_EQ(a.cached + b.cached, 0);
  EXPECT_EQ(c.cached, 8);
  EXPECT_EQ(c.fetched, 0);
  EXPECT_DOUBLE_EQ(apart.transfer_mean, (3 + 13 + 12) / 3.0);
  EXPECT_EQ(apart.prefill_seconds, 31);
  EXPECT_EQ(apart.run.replica_seconds, 31 + 44);
  EXPECT_EQ(apart.run.served, 3);
  EXPECT_EQ(apart.run.refused, 1);
  EXPECT_EQ(apart.run.cached_tokens, 8);
  EXPECT_EQ(apart.run.fetched_tokens, 0);
  EXPECT_EQ(apart.run.prompt_tokens, 27);
  EXPECT_EQ(apart.run.failures, 0);
  EXPECT_DOUBLE_EQ(apart.run.latency.ttft_mean, 5 / 3.0);
  EXPECT_DOUBLE_EQ(apart.run.latency.e2e_mean, (18 + 5 + 14) / 3.0);
}

// Two prompts that finish at the same time leave one replica one after the other, two replicas
// together.
TEST(ApartByHand, every_replica_has_its_own_port) {
  serving::StepClock clock = serving::even_clock(1);
  const std::vector<Timed> arrivals{asked_at(0, 4, 2, 0), asked_at(0, 4, 2, 0)};
  const auto mean = [&](int replicas, double rate) {
    return run_apart({.prefill = {.replicas = replicas, .router = Router::round_robin},
                      .bytes_per_token = 3,
                      .port_rate = rate},
                     by_fours(), clock, by_fours(), clock, arrivals)
        .transfer_mean;
  };
  EXPECT_DOUBLE_EQ(mean(1, 3), 6);
  EXPECT_DOUBLE_EQ(mean(2, 3), 4);
  EXPECT_DOUBLE_EQ(mean(1, 6), 3);
  EXPECT_EQ(mean(1, 0), 0) << "a port without a stated rate delays nothing";
}

TEST(ApartByHand, one_client_behind_the_port) {
  std::vector<std::size_t> known;
  const LiveRun run =
      run_live(engines::tiny(engines::EngineKind::vllm),
               {engines::asking(4, 2), engines::asking(3, 1), engines::asking(5, 2)}, 1,
               [&](const engines::Batch&, const std::vector<int>& request_of) {
                 known.push_back(request_of.size());
                 return 0.5;
               });
  EXPECT_EQ(run.decisions, (std::vector<std::string>{"0:4:0", "0:1:4", "1:3:0", "2:5:0", "2:1:5"}));
  EXPECT_EQ(run.seconds, std::vector<double>(5, 0.5));
  EXPECT_EQ(known, std::vector<std::size_t>(5, 1)) << "the engine's numbers are used again";
  EXPECT_FALSE(run.failed);
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[0].first, 0.5);
  EXPECT_EQ(run.records[0].last, 1);
  const RequestRecord& one = run.records[1];
  EXPECT_EQ(one.id, 1);
  EXPECT_EQ(one.prompt, 3);
  EXPECT_EQ(one.output, 1);
  EXPECT_EQ(one.arrived, 1);
  EXPECT_EQ(one.scheduled, 1);
  EXPECT_EQ(one.first, 1.5);
  EXPECT_EQ(one.last, 1.5);
  const RequestRecord& two = run.records[2];
  EXPECT_EQ(two.arrived, 1.5);
  EXPECT_EQ(two.scheduled, 1.5);
  EXPECT_EQ(two.first, 2);
  EXPECT_EQ(two.last, 2.5);
}

TEST(ApartByHand, clients_behind_the_port_are_no_more_than_requests) {
  const auto half = [](const engines::Batch&, const std::vector<int>&) { return 0.0; };
  const LiveRun run = run_live(engines::tiny(engines::EngineKind::vllm),
                               {engines::asking(4, 1), engines::asking(3, 2)}, 5, half);
  EXPECT_EQ(run.decisions, (std::vector<std::string>{"0:4:0 1:3:0", "1:1:3"}));
  EXPECT_FALSE(run.failed) << "no time is no fault";
  EXPECT_EQ(run.records.size(), 2u);
  EXPECT_TRUE(run_live(engines::tiny(engines::EngineKind::vllm), {}, 5, half).decisions.empty());
}

// Pages of four and ten tokens per step: after seven, less than a page is left.
TEST(ApartByHand, sglang_begins_no_prompt_for_less_than_a_page) {
  engines::EnginePolicy p = engines::tiny(engines::EngineKind::sglang);
  p.block_tokens = 4;
  engines::StepwiseEngine e(p);
  e.add(engines::asking(7, 3));
  e.add(engines::asking(8, 3));
  EXPECT_EQ(e.step(), "0:7:0");
  EXPECT_EQ(e->waiting(), 1u);
  EXPECT_EQ(e.step(), "1:8:0");
  engines::StepwiseEngine six(p);
  six.add(engines::asking(6, 3));
  six.add(engines::asking(8, 3));
  EXPECT_EQ(six.step(), "0:6:0 1:4:0");
}

// A prompt takes 1.4 ms on the only prefill replica. A million clients queue there: it computes all
// the time, 77.786 of them decode in steps of 1.1 ms, and the others wait for a first token.
TEST(ApartByHand, prefill_pool_is_at_most_fully_busy) {
  serving::ServingCosts costs;
  costs.kernel = [](const workload::Operation& op) {
    const auto* a = std::get_if<workload::Attention>(&op);
    if (!a) return serving::ServingOpCost{};
    return serving::ServingOpCost{
        .time = Seconds(a->causal ? a->batch * a->q_len * 1e-6 : a->batch * 1e-4)};
  };
  costs.collective = [](const workload::CollectiveCall&) { return Seconds(0); };
  costs.settle = [](const serving::ServingOpCost& c, Seconds waiting) {
    return serving::SettledWork{.time = c.time + waiting, .power = Watts(300)};
  };
  serving::Replica replica;
  replica.model = {.id = "one", .layers = 1, .hidden = 8, .heads = 1, .kv_heads = 1, .head_dim = 8};
  replica.engine = {.id = "vllm", .host_step = milliseconds(1), .first_token = milliseconds(5)};
  replica.limits = {.token_budget = 400, .max_sequences = 50};
  replica.memory.kv_tokens = 1e6;
  const serving::DisaggregatedPool prefill{.replica = replica, .costs = costs};
  const serving::DisaggregatedPool decode{.replica = replica, .costs = costs, .replicas = 1000};
  const serving::DisaggregatedPoint p = serving::disaggregated_loop(
      prefill, decode, {.input = 400, .output = 100}, 1e6, BytesPerSecond(0));
  EXPECT_NEAR(p.prefill_load, 1, 1e-12);
  EXPECT_NEAR(p.requests.base(), 1 / 1.4e-3, 1e-8);
  EXPECT_NEAR(p.decoding, 99 * 1.1 / 1.4, 1e-8);
  EXPECT_NEAR(p.tpot.base(), 1.1e-3, 1e-12);
  EXPECT_NEAR(p.ttft.base(), (1e6 - 99 * 1.1 / 1.4) * 1.4e-3 + 5e-3, 1e-6);
}

}  // namespace
}  // namespace orrery::traffic
