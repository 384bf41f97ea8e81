#include "layers/traffic/sessions.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "layers/serving/test_costs.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy policy(int blocks, int tier_blocks,
                             engines::EngineKind kind = engines::EngineKind::vllm) {
  engines::EnginePolicy p;
  p.kind = kind;
  p.blocks = blocks;
  p.token_budget = 2048;
  p.max_sequences = 64;
  p.prefix_cache = true;
  p.kv_tier = {.blocks = tier_blocks,
               .first_byte = 1e-5,
               .fetch_per_token = 1e-7,
               .compute_per_token = 1e-5};
  return p;
}

SessionLoad talk(int users) {
  return {.users = users,
          .turns = 6,
          .think = 5,
          .prompt = {.length = 200},
          .output = {.length = 50},
          .requests = users * 24};
}

SessionRun run(const engines::EnginePolicy& p, const SessionLoad& load) {
  serving::StepClock clock = serving::toy_clock();
  ReplicaSim sim(p, clock);
  return run_sessions(sim, load);
}

TEST(KvTier, least_recently_used_is_evicted) {
  engines::KvTier tier(2);
  tier.keep(1);
  tier.keep(2);
  tier.keep(1);
  tier.keep(3);
  EXPECT_TRUE(tier.has(1));
  EXPECT_FALSE(tier.has(2));
  EXPECT_TRUE(tier.has(3));
  EXPECT_EQ(tier.kept(), 2U);
  engines::KvTier none(0);
  none.keep(1);
  EXPECT_FALSE(none.has(1));
}

TEST(KvTier, fetch_is_worth_it_if_faster_than_computing) {
  const engines::KvTierLaw law{
      .blocks = 1, .first_byte = 1e-3, .fetch_per_token = 1e-6, .compute_per_token = 1e-5};
  EXPECT_FALSE(law.is_worth(0));
  EXPECT_FALSE(law.is_worth(111)) << "1.111 ms against 1.110";
  EXPECT_TRUE(law.is_worth(112));
  EXPECT_DOUBLE_EQ(law.fetch_time(2, 1000), 3e-3);
}

// Turn k includes the k - 1 before it: with room for everything, all but the last block is found.
TEST(Sessions, with_room_for_everything_the_history_is_found_on_the_device) {
  const SessionRun r = run(policy(20000, 0), talk(8));
  EXPECT_EQ(r.records.size(), 8U * 24 * 2 / 3);
  EXPECT_GT(r.history_tokens, 0);
  EXPECT_GT(r.found_tokens / r.history_tokens, 0.97);
  EXPECT_LE(r.found_tokens, r.history_tokens);
  EXPECT_EQ(r.fetched_tokens, 0);
  // 250 tokens per turn times the mean of 0 to 5 earlier turns.
  EXPECT_NEAR(r.history_tokens / static_cast<double>(r.records.size()), 625, 40);
}

TEST(Sessions, every_engine_fetches_from_the_tier_what_the_device_evicted) {
  for (const Word<engines::EngineKind>& engine : engines::kEngineKindWords) {
    const SessionRun bare = run(policy(1000, 0, engine.value), talk(40));
    const SessionRun tiered = run(policy(1000, 100000, engine.value), talk(40));
    EXPECT_EQ(bare.fetched_tokens, 0) << engine.word;
    EXPECT_LT(bare.found_tokens / bare.history_tokens, 0.8) << engine.word;
    EXPECT_GT((tiered.found_tokens + tiered.fetched_tokens) / tiered.history_tokens, 0.95)
        << engine.word;
    EXPECT_LT(summarise(tiered.records).ttft_mean, summarise(bare.records).ttft_mean)
        << engine.word;
  }
}

TEST(Sessions, tier_slower_than_computing_is_not_used) {
  engines::EnginePolicy slow = policy(1000, 100000);
  slow.kv_tier.fetch_per_token = 1e-3;
  const SessionRun bare = run(policy(1000, 0), talk(40));
  const SessionRun tiered = run(slow, talk(40));
  EXPECT_EQ(tiered.fetched_tokens, 0);
  EXPECT_EQ(tiered.found_tokens, bare.found_tokens);
  EXPECT_EQ(summarise(tiered.records).e2e_mean, summarise(bare.records).e2e_mean);
}

TEST(Sessions, fetch_takes_its_time) {
  engines::EnginePolicy fast = policy(1000, 100000);
  engines::EnginePolicy slower = fast;
  slower.kv_tier.fetch_per_token = 9e-6;
  EXPECT_LT(summarise(run(fast, talk(40)).records).ttft_mean,
            summarise(run(slower, talk(40)).records).ttft_mean);
}

TEST(Sessions, larger_tier_fetches_no_less) {
  double last = -1;
  for (const int blocks : {0, 500, 2000, 8000}) {
    const SessionRun r = run(policy(1000, blocks), talk(40));
    const double back = (r.found_tokens + r.fetched_tokens) / r.history_tokens;
    EXPECT_GE(back, last - 0.02) << blocks;
    last = back;
  }
  EXPECT_GT(last, 0.95);
}

TEST(Sessions, merging_steps_changes_nothing) {
  const auto ends = [](bool merge) {
    serving::StepClock clock = serving::toy_clock();
    ReplicaSim sim(policy(1000, 5000), clock, {.merge = merge});
    std::vector<double> last;
    for (const RequestRecord& r : run_sessions(sim, talk(20)).records) last.push_back(r.last);
    return last;
  };
  EXPECT_EQ(ends(true), ends(false));
}

// One user, three turns of 10 and 5 tokens, blocks of four. The last token of an answer is not in
// the cache: 14 of 15 are, three blocks; then 29 of 30, seven blocks.
TEST(Sessions, one_user_matches_hand_calculation) {
  serving::StepClock clock = serving::even_clock();
  engines::EnginePolicy p = policy(1000, 0);
  p.block_tokens = 4;
  ReplicaSim sim(p, clock);
  const SessionRun r = run_sessions(sim, {.users = 1,
                                          .turns = 3,
                                          .think = 2,
                                          .prompt = {.length = 10},
                                          .output = {.length = 5},
                                          .requests = 900});
  ASSERT_EQ(r.records.size(), 600u) << "the first third counts in nothing";
  constexpr std::array kPrompts{10, 25, 40};
  constexpr std::array kFound{0, 12, 28};
  double thought = 0;
  for (std::size_t i = 0; i < r.records.size(); ++i) {
    EXPECT_EQ(r.records[i].prompt, kPrompts[i % 3]) << i;
    EXPECT_EQ(r.records[i].cached, kFound[i % 3]) << i;
    if (i > 0) thought += r.records[i].arrived - r.records[i - 1].last;
  }
  EXPECT_EQ(r.history_tokens, 200 * 45);
  EXPECT_EQ(r.found_tokens, 200 * 40);
  EXPECT_NEAR(thought / 599, 2, 0.25);
}

// A session may take at most half of the cache: 30 tokens of 60, 28 of 56.
TEST(Sessions, too_long_history_ends_the_session) {
  for (const int blocks : {16, 15}) {
    serving::StepClock clock = serving::even_clock();
    engines::EnginePolicy p = policy(blocks, 0);
    p.block_tokens = 4;
    ReplicaSim sim(p, clock);
    const SessionRun r = run_sessions(sim, {.users = 1,
                                            .turns = 3,
                                            .think = 2,
                                            .prompt = {.length = 10},
                                            .output = {.length = 5},
                                            .requests = 12});
    std::set<int> prompts;
    for (const RequestRecord& record : r.records) prompts.insert(record.prompt);
    EXPECT_EQ(prompts, blocks == 16 ? (std::set<int>{10, 25}) : std::set<int>{10});
  }
}

}  // namespace
}  // namespace orrery::traffic
