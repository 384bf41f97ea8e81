// Policies, blocks and the replica over time: laws that must hold for any load.
#include "layers/engines/scheduler.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "layers/serving/test_costs.h"
#include "layers/traffic/load.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy small_policy(engines::EngineKind kind) {
  engines::EnginePolicy p;
  p.kind = kind;
  p.blocks = 400;
  p.block_tokens = kind == engines::EngineKind::sglang ? 1 : 16;
  if (kind == engines::EngineKind::sglang) p.blocks = 6400;
  p.token_budget = 512;
  p.max_sequences = 24;
  return p;
}

std::vector<Timed> busy_load(std::uint64_t seed) {
  return open_load({.rate = 6,
                    .cv = 2,
                    .requests = 160,
                    .prompt = {.length = 300, .p99 = 1500},
                    .output = {.length = 80, .p99 = 400},
                    .seed = seed});
}

class EveryEngine : public testing::TestWithParam<engines::EngineKind> {};
INSTANTIATE_TEST_SUITE_P(Engines, EveryEngine,
                         testing::Values(engines::EngineKind::vllm, engines::EngineKind::sglang,
                                         engines::EngineKind::tensorrt_llm),
                         [](const auto& info) {
                           return std::string(info.param == engines::EngineKind::tensorrt_llm
                                                  ? "tensorrt"
                                                  : word_of(info.param));
                         });

TEST_P(EveryEngine, merged_and_single_steps_agree_to_the_last_digit) {
  serving::StepClock clock = serving::toy_clock();
  for (const bool sharing : {false, true}) {
    engines::EnginePolicy policy = small_policy(GetParam());
    policy.prefix_cache = sharing;
    auto load = busy_load(3);
    for (std::size_t i = 0; i < load.size(); ++i) {
      load[i].spec.shared = 1 + i % 3;
      load[i].spec.shared_tokens = std::min(load[i].spec.prompt, 64);
      load[i].spec.content = 1 + i % 40;
    }
    ReplicaSim merged(policy, clock, {.merge = true});
    ReplicaSim single(policy, clock, {.merge = false});
    const auto a = run_open(merged, load);
    const auto b = run_open(single, load);
    ASSERT_EQ(a.size(), load.size());
    ASSERT_EQ(b.size(), load.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].id, b[i].id);
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_EQ(a[i].last, b[i].last);
    }
    EXPECT_EQ(merged.counts().iterations, single.counts().iterations);
  }
}

TEST_P(EveryEngine, gathering_merged_and_single_steps_agree) {
  serving::StepClock clock = serving::toy_clock();
  const Gathering gathering{.iterations = 12, .tokens = 900, .prompts = 5};
  const engines::EnginePolicy policy = small_policy(GetParam());
  ReplicaSim merged(policy, clock, {.merge = true, .gathering = gathering});
  ReplicaSim single(policy, clock, {.merge = false, .gathering = gathering});
  const auto load = busy_load(5);
  const auto a = run_open(merged, load);
  const auto b = run_open(single, load);
  ASSERT_EQ(a.size(), load.size());
  ASSERT_EQ(b.size(), load.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_EQ(a[i].last, b[i].last);
  }
}

// A long request runs and others arrive. A single one waits for all the iterations; two together
// have enough tokens and start at once.
TEST(Gathering, requests_wait_for_each_other_but_not_too_long) {
  serving::StepClock clock = serving::toy_clock();
  const auto request = [](double when, int prompt, int output) {
    Timed t{.at = when};
    t.spec.prompt = prompt;
    t.spec.output = output;
    return t;
  };
  const engines::EnginePolicy policy = small_policy(engines::EngineKind::tensorrt_llm);
  const auto waits = [&](const std::vector<Timed>& load, const Gathering& gathering) {
    ReplicaSim replica(policy, clock, {.gathering = gathering});
    std::vector<double> steps;  // from arrival to the first iteration that computes it
    const double step = clock.time({.decoding = 1, .decode_keys = 200, .sampled = 1}).base();
    for (const RequestRecord& r : run_open(replica, load)) {
      if (r.id > 0) steps.push_back((r.scheduled - r.arrived) / step);
    }
    return steps;
  };
  const std::vector<Timed> one{request(0, 100, 400), request(0.1, 100, 1)};
  ASSERT_GT(waits(one, {}).at(0), 0);
  EXPECT_LT(waits(one, {}).at(0), 2);
  EXPECT_NEAR(waits(one, {.iterations = 20}).at(0), 20.5, 1.5);
  const std::vector<Timed> two{request(0, 100, 400), request(0.1, 100, 1), request(0.1, 100, 1)};
  for (const double steps : waits(two, {.iterations = 20, .tokens = 200})) EXPECT_LT(steps, 2);
  for (const double steps : waits(two, {.iterations = 20, .prompts = 2})) EXPECT_LT(steps, 2);
  EXPECT_NEAR(waits(two, {.iterations = 20, .prompts = 3}).at(0), 20.5, 1.5);
}

TEST_P(EveryEngine, no_block_is_leaked_or_shared_wrongly) {
  for (const bool sharing : {false, true}) {
    engines::EnginePolicy policy = small_policy(GetParam());
    policy.blocks =
        // Far too few: some must be preempted.
        GetParam() == engines::EngineKind::sglang ? 1200 : 75;
    policy.prefix_cache = sharing;
    policy.max_utilisation = true;
    const auto scheduler = engines::make_scheduler(policy);
    RandomStream stream(7, "test");
    int finished = 0;
    for (int step = 0; step < 6000 && finished < 120; ++step) {
      if (step < 120) {
        const int prompt = 1 + static_cast<int>(stream.below(400));
        scheduler->add({.prompt = prompt,
                        .output = 1 + static_cast<int>(stream.below(200)),
                        .shared = 1 + stream.below(2),
                        .shared_tokens = std::min(prompt, 48),
                        .content = 1 + stream.below(9)},
                       step);
      }
      scheduler->plan();
      ASSERT_EQ(scheduler->check(), "") << step;
      scheduler->done();
      ASSERT_EQ(scheduler->check(), "") << step;
      finished += static_cast<int>(scheduler->finished().size());
    }
    EXPECT_EQ(finished, 120);
    EXPECT_EQ(scheduler->pool().free_blocks(), scheduler->pool().blocks());
  }
}

// Little's law: the mean number of requests in the replica is their rate times their mean time
// there.
TEST_P(EveryEngine, littles_law_holds) {
  serving::StepClock clock = serving::toy_clock();
  ReplicaSim replica(small_policy(GetParam()), clock);
  const auto load = busy_load(5);
  const auto records = run_open(replica, load);
  double spent = 0;
  double seen_late = 0;  // from its arrival to the end of the iteration running then
  for (const RequestRecord& r : records) spent += r.e2e();
  for (const RequestRecord& r : records) seen_late += r.output > 0 ? 0.05 : 0;
  EXPECT_NEAR(replica.counts().requests_integral, spent, spent * 0.02 + seen_late);
}

// A replica with work runs: from the first arrival to the last end it is either busy or idle for
// lack of requests, and every token is computed exactly once if no request was preempted.
TEST_P(EveryEngine, work_is_conserved) {
  serving::StepClock clock = serving::toy_clock();
  engines::EnginePolicy policy = small_policy(GetParam());
  policy.blocks *= 100;
  ReplicaSim replica(policy, clock);
  const auto load = busy_load(9);
  const auto records = run_open(replica, load);
  double prompts = 0;
  double outputs = 0;
  for (const Timed& t : load) prompts += t.spec.prompt, outputs += t.spec.output;
  EXPECT_EQ(records.size(), load.size());
  EXPECT_EQ(replica.counts().preemptions, 0);
  EXPECT_EQ(replica.counts().prompt_tokens, prompts);
  EXPECT_EQ(replica.counts().output_tokens, outputs);
}

TEST_P(EveryEngine, more_cache_never_serves_slower) {
  serving::StepClock clock = serving::toy_clock();
  double before = 1e18;
  for (const int times : {1, 2, 4, 16}) {
    engines::EnginePolicy policy = small_policy(GetParam());
    policy.blocks *= times;
    ReplicaSim replica(policy, clock);
    run_open(replica, busy_load(11));
    EXPECT_LE(replica.now(), before * 1.02) << times;
    before = replica.now();
  }
}

TEST_P(EveryEngine, faster_memory_never_serves_slower) {
  double before = 1e18;
  for (const double bandwidth : {1e12, 2e12, 4e12}) {
    serving::StepClock clock = serving::toy_clock({.bandwidth = bandwidth});
    ReplicaSim replica(small_policy(GetParam()), clock);
    const auto records = run_open(replica, busy_load(13));
    const double mean = summarise(records).e2e_mean;
    EXPECT_LE(mean, before) << bandwidth;
    before = mean;
  }
}

// One place, one token per request and steps of equal time: an M/D/1 queue, whose mean wait is rho
// / (2 (1 - rho)) service times. Steps begin only when a request is present, like a server's.
TEST(ReplicaLimits, one_place_is_an_md1_queue) {
  serving::StepClock clock = serving::toy_clock({.step = 0.01});
  engines::EnginePolicy policy = small_policy(engines::EngineKind::vllm);
  policy.max_sequences = 1;
  ReplicaSim replica(policy, clock);
  const double rho = 0.7;
  const double service =
      clock.time({.prompts = 1, .prompt_tokens = 1, .prompt_pairs = 1, .sampled = 1}).base();
  const auto load = open_load(
      {.rate = rho / service, .requests = 60000, .prompt = {.length = 1}, .output = {.length = 1}});
  const auto records = run_open(replica, load);
  const double wait = summarise(records).e2e_mean - service;
  EXPECT_NEAR(wait, service * rho / (2 * (1 - rho)), wait * 0.05);
}

// Exponential service times (outputs of geometric length, one place) make it M/M/1.
TEST(ReplicaLimits, exponential_outputs_make_an_mm1_queue) {
  serving::StepClock clock = serving::toy_clock({.step = 0.001});
  engines::EnginePolicy policy = small_policy(engines::EngineKind::vllm);
  policy.max_sequences = 1;
  policy.blocks = 100000;
  ReplicaSim replica(policy, clock);
  const double step = clock.time({.decoding = 1, .decode_keys = 2, .sampled = 1}).base();
  RandomStream stream(1, "mm1");
  const double rho = 0.6;
  const double mean_tokens = 60;
  double at = 0;
  std::vector<Timed> load(30000);
  double tokens = 0;
  for (Timed& t : load) {
    at += stream.exponential(mean_tokens * step / rho);
    t.at = at;
    t.spec = {.prompt = 1, .output = 1 + static_cast<int>(stream.exponential(mean_tokens))};
    tokens += t.spec.output;
  }
  const double service = tokens / static_cast<double>(load.size()) * step;
  const auto records = run_open(replica, load);
  const double measured_rho = service / (at / static_cast<double>(load.size()));
  EXPECT_NEAR(summarise(records).e2e_mean, service / (1 - measured_rho),
              service / (1 - measured_rho) * 0.08);
}

}  // namespace
}  // namespace orrery::traffic
