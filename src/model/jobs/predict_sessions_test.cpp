#include "model/jobs/predict_sessions.h"

#include <gtest/gtest.h>

#include "model/jobs/predict_serving.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

// Pages of one token are looked up in blocks of sixteen: 3,205 pages are 200 blocks.
TEST(PredictSessions, small_pages_are_looked_up_in_blocks_of_sixteen) {
  engines::EnginePolicy policy;
  policy.block_tokens = 1;
  policy.blocks = 3205;
  coarsen_blocks(policy);
  EXPECT_EQ(policy.block_tokens, 16);
  EXPECT_EQ(policy.blocks, 200);
  policy.block_tokens = 15;
  policy.blocks = 32;
  coarsen_blocks(policy);
  EXPECT_EQ(policy.block_tokens, 16);
  EXPECT_EQ(policy.blocks, 30);
  coarsen_blocks(policy);
  EXPECT_EQ(policy.blocks, 30);
  policy.block_tokens = 64;
  coarsen_blocks(policy);
  EXPECT_EQ(policy.block_tokens, 64);
  ServingQuery q = query_on("llama-3-8b");
  EXPECT_NEAR(host_memory_rate(q).base(), 51.2e9, 1);
  q.split.tp = 4;
  EXPECT_NEAR(host_memory_rate(q).base(), 4 * 51.2e9, 1);
}

// 128 KiB of keys and values per token: 32 layers x 8 heads x 128 x 2 x 2 bytes.
TEST(PredictSessions, kv_tier_holds_whole_blocks) {
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

TEST(PredictSessions, cache_finds_the_history_of_conversations) {
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
    EXPECT_EQ(p->tier_tokens, 992) << "62 blocks of 16 tokens";
    EXPECT_DOUBLE_EQ(p->fetch_of_token.base(), 131072 / 10e9);
    EXPECT_GT(p->compute_of_token, Seconds(0));
    EXPECT_GT(p->on_device, 0.8) << engine << ": no block was evicted";
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
