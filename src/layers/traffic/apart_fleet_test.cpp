#include "layers/traffic/apart_fleet.h"

#include <gtest/gtest.h>

#include "layers/serving/test_costs.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy apart_policy() {
  engines::EnginePolicy p;
  p.blocks = 4000;
  p.token_budget = 1024;
  p.max_sequences = 64;
  return p;
}

std::vector<Timed> apart_load() {
  return open_load({.rate = 30,
                    .requests = 600,
                    .prompt = {.length = 600, .least_share = 0.5},
                    .output = {.length = 80, .least_share = 0.5}});
}

ApartRun run_apart_with(const ApartOptions& options) {
  serving::StepClock clock = serving::toy_clock();
  return run_apart(options, apart_policy(), clock, apart_policy(), clock, apart_load());
}

TEST(ApartFleet, every_request_is_served_once_with_its_first_token_from_prefill) {
  const ApartRun apart = run_apart_with({.prefill = {.replicas = 1},
                                         .decode = {.replicas = 2},
                                         .bytes_per_token = 1e5,
                                         .port_rate = 5e10});
  ASSERT_EQ(apart.run.records.size(), 600u);
  const auto arrivals = apart_load();
  for (const RequestRecord& r : apart.run.records) {
    const Timed& asked = arrivals[static_cast<std::size_t>(r.id)];
    ASSERT_DOUBLE_EQ(r.arrived, asked.at);
    ASSERT_EQ(r.output, asked.spec.output);
    ASSERT_GT(r.first, r.arrived);
    ASSERT_GT(r.last, r.first);
  }
  EXPECT_GT(apart.transfer_mean, 600 * 0.5 * 1e5 / 5e10);
}

// If ports are slower than keys are made, keys queue: the next token is delayed, not the first.
TEST(ApartFleet, slow_ports_delay_the_second_token) {
  ApartOptions options{.prefill = {.replicas = 1},
                       .decode = {.replicas = 2},
                       .bytes_per_token = 1e5,
                       .port_rate = 5e10};
  const ApartRun fast = run_apart_with(options);
  options.port_rate = 1.5e9;
  const ApartRun slow = run_apart_with(options);
  EXPECT_DOUBLE_EQ(slow.run.latency.ttft_mean, fast.run.latency.ttft_mean);
  EXPECT_GT(slow.transfer_mean, 10 * fast.transfer_mean);
  EXPECT_GT(slow.run.latency.e2e_mean, fast.run.latency.e2e_mean);
}

// No prompt delays a token that is decoded separately.
TEST(ApartFleet, separate_decode_gives_more_even_tokens) {
  serving::StepClock clock = serving::toy_clock();
  const FleetRun joined = Fleet({.replicas = 3}, apart_policy(), clock).run(apart_load());
  const ApartRun apart = run_apart_with({.prefill = {.replicas = 1},
                                         .decode = {.replicas = 2},
                                         .bytes_per_token = 1e5,
                                         .port_rate = 5e10});
  EXPECT_LT(apart.run.latency.tpot_p99 / apart.run.latency.tpot_p50,
            joined.latency.tpot_p99 / joined.latency.tpot_p50);
}

TEST(ApartFleet, requests_survive_the_loss_of_a_decode_replica) {
  ApartOptions options{.prefill = {.replicas = 1},
                       .decode = {.replicas = 2},
                       .bytes_per_token = 1e5,
                       .port_rate = 5e10};
  const ApartRun well = run_apart_with(options);
  options.decode.lose_one_at = 10;
  const ApartRun ill = run_apart_with(options);
  EXPECT_EQ(ill.run.failures, 1);
  EXPECT_EQ(ill.run.records.size(), 600u);
  EXPECT_GT(ill.run.latency.e2e_p99, well.run.latency.e2e_p99);
}

// The sums include both fleets.
TEST(ApartFleet, sums_include_both_fleets) {
  serving::StepClock clock = serving::even_clock();
  engines::EnginePolicy p = apart_policy();
  p.block_tokens = 4;
  std::vector<Timed> load;
  for (int i = 0; i < 4; ++i) {
    load.push_back({.spec = {.prompt = 8, .output = 5}, .at = 10.0 * i});
  }
  ApartOptions options{.prefill = {.replicas = 1, .lose_one_at = 10},
                       .decode = {.replicas = 1, .lose_one_at = 25},
                       .bytes_per_token = 1e3,
                       .port_rate = 4e3};
  options.prefill.cold =
      options.decode.cold = {.image = 0, .process = 1, .weights = 0, .graphs = 0};
  const ApartRun apart = run_apart(options, p, clock, p, clock, load);
  ASSERT_EQ(apart.run.records.size(), 4u);
  EXPECT_EQ(apart.run.failures, 2);
  EXPECT_EQ(apart.run.restarted_requests, 2);
  EXPECT_EQ(apart.transfer_mean, 2) << "8 tokens of 1 kB at 4 kB/s";
  // The first: a step, the transfer, four more tokens.
  EXPECT_EQ(apart.run.records[0].first, 1);
  EXPECT_EQ(apart.run.records[0].last, 1 + 2 + 4);
  // The second request's prefill replica fails as it begins, the third's decode replica after two
  // of its steps.
  EXPECT_EQ(apart.run.records[1].first, 12);
  EXPECT_EQ(apart.run.records[2].last, 26 + 4);
  EXPECT_EQ(apart.run.records[1].arrived, 10);
  EXPECT_EQ(apart.run.records[3].first, 31);
  EXPECT_EQ(apart.prefill_seconds, 31);
  EXPECT_EQ(apart.run.replica_seconds, 31 + 37);
  EXPECT_EQ(apart.run.prompt_tokens, 32);
  options.prefill.most_outstanding = 1;
  load[1].at = load[0].at;
  EXPECT_EQ(run_apart(options, p, clock, p, clock, load).run.refused, 1);
}

}  // namespace
}  // namespace orrery::traffic
