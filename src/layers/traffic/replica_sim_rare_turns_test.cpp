// Boundary cases: how many requests SGLang retracts, up to how many it sorts, until when a replica
// runs on, and a region's small rates.
#include <gtest/gtest.h>

#include "layers/engines/engine_fixture.h"
#include "layers/serving/test_costs.h"
#include "layers/traffic/failover.h"
#include "layers/traffic/replica_sim.h"

namespace orrery::traffic {
namespace {

// Room for 18 tokens. Three requests of 3 decode once, one of 2 joins, all decode: nothing is left.
// The last to join has generated least and holds 3, as many as the others need.
TEST(RareTurns, sglang_retracts_no_more_than_it_must) {
  engines::EnginePolicy p = engines::tiny(engines::EngineKind::sglang);
  p.blocks = 18;
  p.token_budget = 20;
  p.clip_output = 1;
  p.new_token_ratio = 0.1;
  p.new_token_ratio_min = 0.1;
  engines::StepwiseEngine e(p);
  for (int i = 0; i < 3; ++i) e.add(engines::asking(3, 20));
  EXPECT_EQ(e.step(), "0:3:0 1:3:0 2:3:0");
  EXPECT_EQ(e.step(), "0:1:3 1:1:3 2:1:3");
  e.add(engines::asking(2, 20));
  EXPECT_EQ(e.step(), "3:2:0");
  EXPECT_EQ(e.step(), "0:1:4 1:1:4 2:1:4 3:1:2");
  EXPECT_EQ(e->pool().free_blocks(), 0);
  EXPECT_EQ(e.step(), "0:1:5 1:1:5 2:1:5");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{3});
  EXPECT_EQ(e->pool().free_blocks(), 0);
}

// The last waiting request finds eight of its nine tokens.
TEST(RareTurns, sglang_sorts_up_to_128_waiting_requests) {
  for (const int others : {127, 128}) {
    engines::EnginePolicy p = engines::tiny(engines::EngineKind::sglang);
    p.prefix_cache = true;
    engines::StepwiseEngine e(p);
    e.add(engines::naming(9, 1, 5));
    EXPECT_EQ(e.step(), "0:9:0");
    for (int i = 0; i < others; ++i) e.add(engines::asking(2, 1));
    e.add(engines::naming(9, 1, 5));
    EXPECT_EQ(e.step().substr(0, 7), others == 127 ? "128:1:8" : "1:2:0 2") << others;
  }
}

// Steps of a second: a prompt and two more tokens from 5 s on.
TEST(RareTurns, replica_runs_until_a_request_ends_or_time_is_up) {
  serving::StepClock clock = serving::even_clock(1);
  ReplicaSim sim(engines::EnginePolicy{}, clock, {.merge = false});
  sim.submit(0, engines::asking(4, 3), 5);
  sim.submit(1, engines::asking(4, 5), 5);
  sim.advance_to_finish(5);
  EXPECT_EQ(sim.counts().iterations, 0);
  EXPECT_EQ(sim.next_start(), 5);
  sim.advance_to_finish(5.5);
  EXPECT_EQ(sim.counts().iterations, 1) << "what begins before is done";
  EXPECT_EQ(sim.now(), 6);
  EXPECT_TRUE(sim.take_finished().empty());
  sim.advance_to_finish(100);
  EXPECT_EQ(sim.now(), 8) << "the other goes on";
  const std::vector<RequestRecord> done = sim.take_finished();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].id, 0);
  EXPECT_EQ(done[0].scheduled, 5);
  EXPECT_EQ(done[0].first, 6);
  EXPECT_EQ(done[0].last, 8);
  sim.advance(9);
  EXPECT_EQ(sim.now(), 9);
  sim.advance(9);
  EXPECT_EQ(sim.now(), 9);
  EXPECT_EQ(sim.counts().busy, 4);
  EXPECT_EQ(sim.counts().prompt_tokens, 8);
  EXPECT_EQ(sim.counts().output_tokens, 3 + 4);
  EXPECT_EQ(sim.counts().requests_integral, 2 * 3 + 1);
}

// The first region is down permanently and asks for half a request per second: the second has room.
TEST(RareTurns, small_rates_are_moved_too) {
  Region down, up;
  down.ways = {{.to = 1, .round_trip = 0.01}};
  down.after = 10;
  FailoverPolicy policy({down, up});
  const RegionNow now[] = {{.load = 0.5, .capacity = 0}, {.load = 2, .capacity = 10}};
  const RegionRouting first = policy.look(100, now);
  EXPECT_TRUE(first.moves.empty());
  EXPECT_EQ(first.refused[0], 0.5) << "the loss is not noticed yet";
  const RegionRouting later = policy.look(110, now);
  ASSERT_EQ(later.moves.size(), 1u);
  EXPECT_EQ(later.moves[0].from, 0u);
  EXPECT_EQ(later.moves[0].to, 1u);
  EXPECT_EQ(later.moves[0].rate, 0.5);
  EXPECT_EQ(later.refused[0], 0);
  EXPECT_EQ(later.stays[1], 2);
  const RegionNow tight[] = {{.load = 0.5, .capacity = 0}, {.load = 2, .capacity = 2.125}};
  const RegionRouting most = policy.look(120, tight);
  ASSERT_EQ(most.moves.size(), 1u);
  EXPECT_EQ(most.moves[0].rate, 0.125);
  EXPECT_EQ(most.refused[0], 0.375);
}

}  // namespace
}  // namespace orrery::traffic
