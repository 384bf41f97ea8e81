// A replica and a fleet of them with steps of one second each: all times are counted by hand.
#include "layers/traffic/replica_sim.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "layers/serving/test_costs.h"
#include "layers/traffic/fleet.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy slow_policy() {
  engines::EnginePolicy p;
  p.blocks = 101;
  p.block_tokens = 4;
  p.token_budget = 10;
  p.max_sequences = 8;
  return p;
}

engines::RequestSpec sized(int prompt, int output) { return {.prompt = prompt, .output = output}; }
Timed comes_at(double when, int prompt, int output) {
  return {.spec = sized(prompt, output), .at = when};
}

TEST(ReplicaTime, steps_match_hand_count) {
  serving::StepClock clock = serving::even_clock();
  for (const bool merge : {true, false}) {
    ReplicaSim sim(slow_policy(), clock, {.merge = merge});
    sim.submit(7, sized(6, 3), 0);
    sim.submit(8, sized(4, 1), 0.5);
    EXPECT_EQ(sim.outstanding(), 2u);
    EXPECT_EQ(sim.outstanding_tokens(), 14);
    sim.advance(1);
    EXPECT_EQ(sim.now(), 1) << "only what starts before";
    EXPECT_EQ(sim.counts().iterations, 1);
    sim.advance(kForever);
    EXPECT_EQ(sim.next_start(), kForever);
    const auto done = sim.take_finished();
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(done[0].id, 8);
    EXPECT_EQ(done[0].scheduled, 1);
    EXPECT_EQ(done[0].first, 2);
    EXPECT_EQ(done[0].last, 2);
    EXPECT_EQ(done[1].id, 7);
    EXPECT_EQ(done[1].scheduled, 0);
    EXPECT_EQ(done[1].first, 1);
    EXPECT_EQ(done[1].last, 3);
    EXPECT_EQ(done[1].tpot(), 1);
    EXPECT_EQ(done[0].tpot(), 0);
    EXPECT_EQ(done[0].ttft(), 1.5);
    EXPECT_EQ(sim.counts().iterations, 3);
    EXPECT_EQ(sim.counts().busy, 3);
    EXPECT_EQ(sim.counts().prompt_tokens, 10);
    EXPECT_EQ(sim.counts().output_tokens, 4);
    EXPECT_EQ(sim.counts().requests_integral, 1 + 2 + 1);
    EXPECT_EQ(sim.counts().blocks_integral, 2 + 3 + 2);
    EXPECT_EQ(sim.outstanding_tokens(), 0);
    EXPECT_TRUE(sim.take_finished().empty());
  }
}

TEST(ReplicaTime, merged_steps_stop_for_an_arrival) {
  serving::StepClock clock = serving::even_clock();
  ReplicaSim sim(slow_policy(), clock);
  const auto done = run_open(sim, {comes_at(0, 4, 50), comes_at(10.5, 4, 1), comes_at(200, 4, 2)});
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].scheduled, 11);
  EXPECT_EQ(done[1].last, 50);
  EXPECT_EQ(done[2].scheduled, 200) << "an idle replica starts at once";
  EXPECT_EQ(sim.counts().iterations, 52);
  EXPECT_EQ(sim.counts().busy, 52);
}

// A busy engine checks its queue every fourth step; an idle one at once.
TEST(ReplicaTime, busy_engine_may_check_its_queue_rarely) {
  serving::StepClock clock = serving::even_clock();
  for (const bool merge : {true, false}) {
    ReplicaSim sim(slow_policy(), clock, {.merge = merge, .receive_every = 4});
    std::set<std::pair<int, double>> seen;
    for (const RequestRecord& r :
         run_open(sim, {comes_at(0, 4, 20), comes_at(0.5, 4, 1), comes_at(4.5, 4, 1)})) {
      seen.emplace(r.id, r.scheduled);
    }
    EXPECT_EQ(seen, (std::set<std::pair<int, double>>{{0, 0}, {1, 4}, {2, 8}})) << merge;
  }
}

TEST(ReplicaTime, request_larger_than_the_cache_is_refused) {
  serving::StepClock clock = serving::even_clock();
  ReplicaSim sim(slow_policy(), clock);
  sim.submit(1, sized(390, 10), 0);
  sim.submit(2, sized(391, 10), 0);
  EXPECT_EQ(sim.refused(), std::vector<int>{2});
  EXPECT_EQ(sim.outstanding_tokens(), 400);
}

TEST(ReplicaTime, failed_replica_lists_its_requests_in_order) {
  serving::StepClock clock = serving::even_clock();
  ReplicaSim sim(slow_policy(), clock);
  sim.submit(5, sized(4, 20), 0);
  sim.submit(3, sized(4, 2), 0);
  sim.submit(4, sized(4, 20), 1);
  sim.submit(9, sized(4, 20), 50);
  sim.advance(5);
  EXPECT_EQ(sim.take_finished().size(), 1u);
  EXPECT_EQ(sim.outstanding(), 3u);
  EXPECT_EQ(sim.outstanding_tokens(), 72);
  EXPECT_EQ(sim.drop_all(), (std::vector<int>{5, 4, 9}));
  EXPECT_EQ(sim.outstanding(), 0u);
  EXPECT_EQ(sim.outstanding_tokens(), 0);
  EXPECT_EQ(sim.scheduler().pool().free_blocks(), 100);
}

TEST(ReplicaTime, policy_has_the_limits_of_all_ranks) {
  serving::Replica r;
  r.split.attention_dp = 4;
  r.engine = {.kind = engines::EngineKind::sglang, .block_tokens = 32};
  r.memory.blocks = 500;
  r.limits = {.token_budget = 2048, .max_sequences = 64, .chunked_prefill = false};
  const engines::EnginePolicy p = policy_of(r);
  EXPECT_EQ(p.kind, engines::EngineKind::sglang);
  EXPECT_EQ(p.block_tokens, 32);
  EXPECT_EQ(p.blocks, 2000);
  EXPECT_EQ(p.token_budget, 8192);
  EXPECT_EQ(p.max_sequences, 256);
  EXPECT_FALSE(p.chunked_prefill);
  r.memory.blocks = 1e12;
  r.limits.max_sequences = 1e9;
  EXPECT_EQ(policy_of(r).blocks, 1'000'000'000);
  EXPECT_EQ(policy_of(r).max_sequences, 1'000'000);
}

FleetRun run_fleet(const FleetOptions& options, const std::vector<Timed>& load) {
  serving::StepClock clock = serving::even_clock();
  return Fleet(options, slow_policy(), clock).run(load);
}

std::vector<int> places_of(const FleetRun& run) {
  std::vector<int> places;
  for (const RequestRecord& r : run.records) places.push_back(r.place);
  return places;
}

TEST(Routing, routers_choose_by_turn_requests_or_tokens) {
  const std::vector<Timed> load{comes_at(0, 4, 90), comes_at(0, 4, 1), comes_at(0, 4, 90),
                                comes_at(5, 4, 1), comes_at(5, 4, 1)};
  EXPECT_EQ(places_of(run_fleet({.replicas = 3, .router = Router::round_robin}, load)),
            (std::vector<int>{0, 1, 2, 0, 1}));
  EXPECT_EQ(places_of(run_fleet({.replicas = 3}, load)), (std::vector<int>{0, 1, 2, 1, 0}))
      << "the one that is done, then the first of equals";
  const std::vector<Timed> long_and_short{comes_at(0, 90, 9), comes_at(0, 4, 9), comes_at(0, 4, 9),
                                          comes_at(0, 4, 9)};
  EXPECT_EQ(places_of(run_fleet({.replicas = 2}, long_and_short)), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(places_of(run_fleet({.replicas = 2, .router = Router::least_tokens}, long_and_short)),
            (std::vector<int>{0, 1, 1, 1}));
}

// Homes are spread evenly and stable; only the names of a replica that leaves move.
TEST(Routing, home_is_kept) {
  const auto homes = [](int replicas) {
    std::vector<Timed> load;
    for (int i = 0; i < 400; ++i) {
      load.push_back(comes_at(i, 1, 1));
      load.back().spec.session = static_cast<std::uint64_t>(1 + i % 200);
    }
    return places_of(run_fleet({.replicas = replicas, .router = Router::session}, load));
  };
  const std::vector<int> four = homes(4);
  const std::vector<int> three = homes(3);
  std::array<int, 4> count{};
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(four[i], four[i + 200]);
    if (four[i] != 3) EXPECT_EQ(four[i], three[i]) << i;
    ++count[static_cast<std::size_t>(four[i])];
  }
  for (const int n : count) EXPECT_NEAR(n, 50, 20);
}

// A prefix stays at home while its replica has at most `spill` more requests than the least loaded.
TEST(Routing, prefix_spills_over) {
  std::vector<Timed> load(8, comes_at(0, 1, 50));
  for (Timed& t : load) t.spec.shared = 5, t.spec.shared_tokens = 1;
  const std::vector<int> places =
      places_of(run_fleet({.replicas = 2, .router = Router::prefix, .spill = 3}, load));
  const int home = places[0];
  EXPECT_EQ(places, (std::vector<int>{home, home, home, home, 1 - home, home, 1 - home, home}));
  for (Timed& t : load) t.spec.shared = 0, t.spec.shared_tokens = 0;
  EXPECT_EQ(places_of(run_fleet({.replicas = 2, .router = Router::prefix, .spill = 3}, load)),
            (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}))
      << "without a prefix the least loaded";
}

TEST(Routing, conversation_is_its_own_prefix) {
  std::vector<Timed> load(6, comes_at(0, 1, 50));
  for (std::size_t i = 0; i < load.size(); ++i) {
    load[i].spec.talks = true;
    load[i].spec.content = 77;
    load[i].spec.shared = 1 + i;
    load[i].spec.shared_tokens = 1;
  }
  const std::vector<int> places =
      places_of(run_fleet({.replicas = 4, .router = Router::prefix}, load));
  EXPECT_EQ(std::set<int>(places.begin(), places.end()).size(), 1u);
}

TEST(Admission, admission_refuses_at_the_limit) {
  const std::vector<Timed> load{comes_at(0, 1, 5), comes_at(0, 1, 5), comes_at(0, 1, 5),
                                comes_at(0, 500, 5), comes_at(50, 1, 5)};
  const FleetRun run = run_fleet({.replicas = 1, .most_outstanding = 2}, load);
  EXPECT_EQ(run.served, 3);
  EXPECT_EQ(run.refused, 2);
  EXPECT_EQ(run_fleet({.replicas = 1}, load).refused, 1) << "longer than any cache";
  EXPECT_EQ(run_fleet({.replicas = 0}, load).refused, 5) << "there is no replica";
}

// The only replica fails in its sixth step; back after 20.8 s, it starts the request again.
TEST(Failure, only_replica_comes_back) {
  const FleetRun run =
      run_fleet({.replicas = 1, .lose_one_at = 5.5}, {comes_at(0, 4, 10), comes_at(40, 4, 1)});
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.failures, 1);
  EXPECT_EQ(run.restarted_requests, 1);
  EXPECT_EQ(run.records[0].arrived, 0);
  EXPECT_NEAR(run.records[0].first, 5.5 + 20.8 + 1, 1e-9);
  EXPECT_NEAR(run.records[0].last, 5.5 + 20.8 + 10, 1e-9);
  EXPECT_NEAR(run.replica_seconds, run.records[1].last, 1e-9);
}

TEST(Failure, another_replica_takes_over) {
  const FleetRun run = run_fleet({.replicas = 2, .lose_one_at = 5.5},
                                 {comes_at(0, 4, 10), comes_at(0, 4, 2), comes_at(10, 4, 1),
                                  comes_at(90, 4, 1), comes_at(90, 4, 1)});
  EXPECT_EQ(run.records[0].place, 1);
  EXPECT_EQ(run.records[0].first, 6.5);
  EXPECT_EQ(run.records[2].place, 1) << "the dead one is not back yet";
  EXPECT_EQ(run.records[3].place, 0);
  EXPECT_EQ(run.records[4].place, 1);
  EXPECT_EQ(run.replica_seconds, 2 * 91);
}

// A replica fails every 100 s on average and is out for 20.8 s.
TEST(Failure, replica_lifetimes_have_their_mean) {
  std::vector<Timed> load;
  for (int i = 0; i < 4000; ++i) load.push_back(comes_at(10.0 * i, 1, 1));
  const FleetRun run = run_fleet({.replicas = 4, .mtbf = 100}, load);
  EXPECT_NEAR(run.failures, 4 * 40000 / 120.8, 0.08 * 4 * 40000 / 120.8);
}

// Five long requests at 2 per replica add two more at 10 s, which serve from 16 s and leave at 40.
TEST(Autoscaling, autoscaling_matches_hand_calculation) {
  const FleetOptions options{
      .replicas = 1,
      .scaler = {.target = 2, .period = 10, .lag = 0, .hold = 0, .least = 1, .most = 3},
      .cold = {.image = 1, .process = 1, .weights = 3, .graphs = 1}};
  std::vector<Timed> load(5, comes_at(1, 1, 30));
  load.push_back(comes_at(15.9, 1, 1));
  load.push_back(comes_at(17, 1, 1));
  load.push_back(comes_at(100, 1, 1));
  const FleetRun run = run_fleet(options, load);
  EXPECT_EQ(run.most_replicas, 3);
  EXPECT_EQ(run.records[5].place, 0) << "the new ones are not ready";
  EXPECT_EQ(run.records[6].place, 1);
  EXPECT_EQ(run.records[7].place, 0);
  EXPECT_EQ(run.replica_seconds, 2 * 30 + 101);
}

TEST(Autoscaling, draining_replica_is_paid_until_it_is_done) {
  const FleetOptions options{
      .replicas = 2, .scaler = {.target = 100, .period = 10, .lag = 0, .least = 1, .most = 2}};
  const FleetRun run = run_fleet(
      options, {comes_at(1, 1, 5), comes_at(1, 1, 33), comes_at(20, 1, 1), comes_at(70, 1, 1)});
  EXPECT_EQ(run.records[1].place, 1);
  EXPECT_EQ(run.records[2].place, 0) << "the one that drains takes nothing new";
  EXPECT_EQ(run.replica_seconds, 40 + 71);
}

}  // namespace
}  // namespace orrery::traffic
