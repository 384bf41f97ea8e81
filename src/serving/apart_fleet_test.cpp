#include "serving/apart_fleet.h"

#include <gtest/gtest.h>

#include "serving/test_costs.h"

namespace orrery::serving {
namespace {

EnginePolicy apart_policy() {
  EnginePolicy p;
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
  StepClock clock = toy_clock();
  return run_apart(options, apart_policy(), clock, apart_policy(), clock, apart_load());
}

TEST(ApartFleet, EveryRequestIsServedOnceAndItsFirstTokenComesFromPrefill) {
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

// Ports that are slower than keys are made let them queue: the next token waits, not the first.
TEST(ApartFleet, SlowPortsDelayTheSecondToken) {
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

// No prompt stands in the way of a token that is decoded apart.
TEST(ApartFleet, TokensComeMoreEvenlyThanOnReplicasOfOneKind) {
  StepClock clock = toy_clock();
  const FleetRun joined = Fleet({.replicas = 3}, apart_policy(), clock).run(apart_load());
  const ApartRun apart = run_apart_with({.prefill = {.replicas = 1},
                                         .decode = {.replicas = 2},
                                         .bytes_per_token = 1e5,
                                         .port_rate = 5e10});
  EXPECT_LT(apart.run.latency.tpot_p99 / apart.run.latency.tpot_p50,
            joined.latency.tpot_p99 / joined.latency.tpot_p50);
}

TEST(ApartFleet, TheLossOfADecodeReplicaIsServedThrough) {
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

}  // namespace
}  // namespace orrery::serving
