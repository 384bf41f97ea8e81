#include "layers/traffic/fleet.h"

#include <gtest/gtest.h>

#include "layers/serving/test_costs.h"
#include "layers/traffic/live_replica.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy policy() {
  engines::EnginePolicy p;
  p.blocks = 2000;
  p.token_budget = 1024;
  p.max_sequences = 32;
  return p;
}

std::vector<Timed> load(double rate, int requests, double swing = 0) {
  auto arrivals = open_load({.rate = rate,
                             .cv = 1.5,
                             .swing = swing,
                             .period = 60,
                             .requests = requests,
                             .prompt = {.length = 400, .p99 = 2000},
                             .output = {.length = 60, .p99 = 300}});
  for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i].spec.shared = 1 + i % 7;
  return arrivals;
}

TEST(Fleet, every_router_serves_every_request_once) {
  serving::StepClock clock = serving::toy_clock();
  for (const Word<Router>& row : kServeRouterWords) {
    Fleet fleet({.replicas = 4, .router = row.value}, policy(), clock);
    const FleetRun run = fleet.run(load(60, 1200));
    EXPECT_EQ(run.served, 1200) << row.word;
    for (std::size_t i = 0; i < run.records.size(); ++i) {
      ASSERT_EQ(run.records[i].id, static_cast<int>(i));
      ASSERT_GE(run.records[i].ttft(), 0);
    }
  }
}

TEST(Fleet, load_aware_routing_beats_round_robin) {
  serving::StepClock clock = serving::toy_clock();
  const auto p99 = [&](Router router) {
    Fleet fleet({.replicas = 4, .router = router}, policy(), clock);
    return fleet.run(load(650, 4000)).latency.ttft_p99;
  };
  EXPECT_LE(p99(Router::least_requests), p99(Router::round_robin));
}

TEST(Fleet, failed_replica_costs_time_but_no_answers) {
  serving::StepClock clock = serving::toy_clock();
  const FleetRun well = Fleet({.replicas = 4}, policy(), clock).run(load(60, 2000));
  const FleetRun ill = Fleet({.replicas = 4, .mtbf = 20}, policy(), clock).run(load(60, 2000));
  EXPECT_GT(ill.failures, 0);
  EXPECT_GT(ill.restarted_requests, 0);
  EXPECT_EQ(ill.served, 2000);
  EXPECT_GT(ill.latency.e2e_mean, well.latency.e2e_mean);
}

TEST(Fleet, autoscaling_follows_the_load_after_a_cold_start) {
  serving::StepClock clock = serving::toy_clock();
  const FleetOptions options{.replicas = 1,
                             .scaler = {.target = 8, .period = 5, .lag = 5, .least = 1, .most = 8},
                             .cold = {.process = 2, .weights = 3, .graphs = 1}};
  const FleetRun run = Fleet(options, policy(), clock).run(load(60, 4000, 0.8));
  EXPECT_EQ(run.served, 4000);
  EXPECT_GT(run.most_replicas, 1);
  const FleetRun whole = Fleet({.replicas = 8}, policy(), clock).run(load(60, 4000, 0.8));
  EXPECT_LT(run.replica_seconds, whole.replica_seconds);
}

TEST(Fleet, admission_refuses_what_would_wait_too_long) {
  serving::StepClock clock = serving::toy_clock();
  const FleetRun run =
      Fleet({.replicas = 1, .most_outstanding = 20}, policy(), clock).run(load(200, 1000));
  EXPECT_GT(run.refused, 0);
  EXPECT_EQ(run.served + run.refused, 1000);
}

// Behind the executor port the same requests run as in the simulated replica, and times agree.
TEST(LiveReplica, twin_behind_the_port_agrees_with_the_simulated_replica) {
  serving::StepClock clock = serving::toy_clock();
  const auto requests = draw_requests(120, {.length = 500, .least_share = 0.4},
                                      {.length = 90, .least_share = 0.4}, 4);
  serving::StepExecutor simulated(clock);
  const LiveRun live =
      run_live(policy(), requests, 12,
               [&](const engines::Batch& b, const std::vector<int>&) { return simulated.run(b); });
  ReplicaSim replica(policy(), clock);
  const LatencySummary a = summarise(live.records);
  const LatencySummary b = summarise(run_closed(replica, requests, 12));
  EXPECT_EQ(static_cast<double>(live.decisions.size()), replica.counts().iterations);
  EXPECT_NEAR(a.e2e_mean, b.e2e_mean, 1e-9);
  EXPECT_NEAR(a.ttft_mean, b.ttft_mean, 1e-9);
}

TEST(LiveReplica, failed_executor_ends_the_run) {
  int left = 5;
  const LiveRun run = run_live(
      policy(), draw_requests(10, {}, {}, 1), 4,
      [&](const engines::Batch&, const std::vector<int>&) { return --left < 0 ? -1.0 : 0.1; });
  EXPECT_TRUE(run.failed);
  EXPECT_EQ(run.decisions.size(), 5u);
}

}  // namespace
}  // namespace orrery::traffic
