// What adapters cost a replica, and the closed forms of their use compared with simulated runs.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/serving/test_costs.h"
#include "layers/traffic/load.h"

namespace orrery::traffic {
namespace {

const serving::ToyDevice kDevice{.step = 0.002};

std::vector<Timed> adapted_load(const serving::AdapterSet& set, double rate, int requests) {
  auto arrivals = open_load(
      {.rate = rate, .requests = requests, .prompt = {.length = 256}, .output = {.length = 64}});
  const serving::AdapterDraw draw(set.count, set.skew);
  RandomStream stream(1, "serving/adapter");
  for (Timed& t : arrivals) t.spec.adapter = draw(stream);
  return arrivals;
}

struct AdapterRun {
  LatencySummary latency;
  double loads = 0;  // per request
};
AdapterRun run_with(const serving::AdapterSet& set, double rate, int requests = 4000) {
  serving::StepClock clock = serving::toy_clock(kDevice, set);
  ReplicaSim sim(policy_of(clock.replica()), clock);
  const auto records = run_open(sim, adapted_load(set, rate, requests));
  EXPECT_EQ(static_cast<int>(records.size()), requests) << "somebody starves";
  return {.latency = summarise(records), .loads = sim.counts().adapter_loads / requests};
}

serving::ServingPoint point_with(const serving::AdapterSet& set, double decoding) {
  return serving::steady_arrivals(serving::toy_replica(kDevice, set), {.input = 256, .output = 64},
                                  decoding, serving::toy_costs(kDevice));
}

TEST(AdapterUse, adapter_shares_add_up_and_fall_with_rank) {
  for (const double skew : {0.0, 0.8, 1.0, 2.0}) {
    for (const int count : {1, 7, 200, 10000}) {
      const auto use = serving::adapter_use(count, skew);
      double sum = 0;
      double many = 0;
      for (std::size_t i = 0; i < use.size(); ++i) {
        sum += use[i].share * use[i].many;
        many += use[i].many;
        if (i > 0) EXPECT_LE(use[i].share, use[i - 1].share * (1 + 1e-12));
      }
      EXPECT_NEAR(sum, 1, 1e-12);
      EXPECT_EQ(many, count);
      EXPECT_LE(use.size(), 64u) << "few enough to be summed at every point";
    }
  }
  EXPECT_NEAR(serving::adapter_use(4, 1)[0].share, 12.0 / 25, 1e-12);
}

TEST(AdapterUse, draws_match_their_shares) {
  const serving::AdapterDraw draw(4, 1);
  RandomStream stream(1, "test");
  std::vector<double> seen(5);
  for (int i = 0; i < 50000; ++i) seen[static_cast<std::size_t>(draw(stream))] += 1.0 / 50000;
  EXPECT_EQ(seen[0], 0);
  for (int i = 1; i <= 4; ++i) EXPECT_NEAR(seen[static_cast<std::size_t>(i)], 0.48 / i, 0.01);
}

// The toy model: 16 layers, width 2048, 16 query heads and 8 KV heads of 128, 8192 in the MLP.
TEST(AdapterMemory, one_side_of_every_product_is_split) {
  const serving::Replica r = serving::toy_replica();
  const serving::AdapterSet set{.count = 10, .slots = 4, .rank = 16};
  const serving::AdapterDevice device{.products = FlopsPerSecond(1e15), .port = gbytes_per_s(50)};
  const auto on = [&](int tp, engines::EngineKind engine, double rank) {
    serving::AdapterSet s = set;
    s.rank = rank;
    return serving::adapters_on(r.model, {.tp = tp}, s, engine, device);
  };
  const double sides = 16 * ((3 * 2048 + 4096) + (2048 + 2048) + 3 * (2048 + 8192));
  EXPECT_EQ(on(1, engines::EngineKind::vllm, 16).each.base(), 2 * 16 * sides);
  EXPECT_EQ(on(1, engines::EngineKind::vllm, 16).reserved.base(), 4 * 2 * 16 * sides);
  const double halved = 16 * ((3 * 2048 + 4096 / 2) + (2048 / 2 + 2048) +
                              (2 * 2048 + 2 * 8192 / 2) + (8192 / 2 + 2048));
  EXPECT_EQ(on(2, engines::EngineKind::vllm, 16).each.base(), 2 * 16 * halved);
  EXPECT_EQ(on(1, engines::EngineKind::vllm, 12).reserved,
            on(1, engines::EngineKind::vllm, 16).reserved)
      << "vLLM knows no rank of 12";
  EXPECT_LT(on(1, engines::EngineKind::sglang, 12).reserved,
            on(1, engines::EngineKind::sglang, 16).reserved);
  EXPECT_LT(on(1, engines::EngineKind::vllm, 12).each, on(1, engines::EngineKind::vllm, 16).each);
  // 14 tensors per layer.
  EXPECT_NEAR(on(1, engines::EngineKind::vllm, 16).load.base(),
              16 * 14 * 2.6e-6 + 2 * 16 * sides / 50e9, 1e-12);
}

TEST(AdapterMemory, slots_take_their_memory_from_the_cache) {
  const serving::Replica r = serving::toy_replica();
  const auto memory = [&](Bytes adapters) {
    return serving::serving_memory(r.model, r.split, r.precision, r.engine, gib(80),
                                   {.adapters = adapters});
  };
  const serving::ServingMemory without = memory(Bytes(0));
  const serving::ServingMemory with = memory(gib(4));
  EXPECT_NEAR((without.blocks - with.blocks) * (with.kv_per_token * 16).base(), gib(4).base(),
              (with.kv_per_token * 16).base());
}

TEST(AdapterSteps, clock_and_whole_iteration_agree) {
  const serving::AdapterSet set{.count = 10, .slots = 4};
  serving::StepClock clock = serving::toy_clock(kDevice, set);
  const serving::Iteration mixed{
      .decoding = 8, .context = 700, .prompts = 2, .prompt_tokens = 256, .adapters = 3};
  const engines::StepSums sums{.decoding = 8,
                               .decode_keys = 5600,
                               .prompts = 2,
                               .prompt_tokens = 512,
                               .prompt_pairs = 2 * (256.0 * 257 / 2),
                               .sampled = 10,
                               .adapters = 3};
  const double whole =
      serving::step_time(clock.replica(), mixed, serving::toy_costs(kDevice)).total.base();
  EXPECT_NEAR(clock.time(sums).base(), whole, whole * 1e-9);
  engines::StepSums none = sums;
  none.adapters = 0;
  const double adds = (clock.time(sums) - clock.time(none)).base();
  const serving::ReplicaAdapters& a = clock.replica().adapters;
  EXPECT_NEAR(adds, serving::adapter_cost(a, 520, 3, serving::toy_costs(kDevice)).time.base(),
              1e-12);
  // 64 products, each with its launches; three adapters and 520 tokens at 2 TB/s.
  const double moved = 1.09 * (3 * a.each.base() + 520 * a.token_bytes) / 2e12;
  const double counted = 520 * a.token_flops / (0.2 * 4e14);
  EXPECT_NEAR(adds, 64 * 7e-6 + std::hypot(moved, counted), 1e-12);
}

TEST(AdapterLaws, one_adapter_costs_little_more_than_the_model) {
  const serving::AdapterSet one{.count = 1, .slots = 1};
  const serving::ServingPoint with = point_with(one, 16);
  const serving::ServingPoint without = point_with({}, 16);
  EXPECT_GT(with.tpot, without.tpot);
  EXPECT_LT(with.tpot, without.tpot * 1.25);
  const AdapterRun run = run_with(one, with.requests.base());
  EXPECT_EQ(run.loads, 1.0 / 4000) << "loaded once";
  EXPECT_NEAR(run.latency.tpot_mean, with.tpot.base(), 0.05 * with.tpot.base());
}

TEST(AdapterLaws, more_slots_never_serve_later) {
  const double rate = point_with({.count = 64, .slots = 64}, 24).requests.base();
  LatencySummary before{.e2e_mean = 1e9, .output_tokens_per_s = 0};
  for (const int slots : {2, 4, 8, 16, 32, 64}) {
    const LatencySummary now = run_with({.count = 64, .slots = slots}, rate).latency;
    EXPECT_LE(now.e2e_mean, before.e2e_mean * 1.001) << slots;
    EXPECT_GE(now.output_tokens_per_s, before.output_tokens_per_s * 0.999) << slots;
    before = now;
  }
}

// Clients in a closed loop, with far more adapters than slots: clients that wait do not run.
TEST(AdapterForms, clients_waiting_for_a_slot_do_not_run) {
  for (const int slots : {2, 8, 32}) {
    const serving::AdapterSet set{.count = 64, .slots = slots};
    serving::StepClock clock = serving::toy_clock(kDevice, set);
    const serving::ServingPoint p = serving::closed_loop(
        clock.replica(), {.input = 256, .output = 64}, 48, serving::toy_costs(kDevice));
    std::vector<engines::RequestSpec> requests(4000, {.prompt = 256, .output = 64});
    const serving::AdapterDraw draw(set.count, set.skew);
    RandomStream stream(1, "test");
    for (engines::RequestSpec& r : requests) r.adapter = draw(stream);
    ReplicaSim sim(policy_of(clock.replica()), clock);
    const double rate = summarise(run_closed(sim, requests, 48)).requests_per_s;
    EXPECT_NEAR(p.requests.base(), rate, 0.25 * rate) << slots;
  }
}

TEST(AdapterForms, throughput_rises_with_the_slots) {
  double before = 0;
  for (const int slots : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const serving::ServingPoint p = serving::capacity(
        serving::toy_replica(kDevice, {.count = 64, .slots = slots}), {.input = 256, .output = 64},
        {.ttft_p99 = milliseconds(400)}, serving::toy_costs(kDevice));
    EXPECT_GE(p.requests.base(), before) << slots;
    before = p.requests.base();
  }
}

// Compared with runs, from loads that leave slots free to many times as many adapters as slots. 20
// of 24 cases agree within a tenth; if about as many adapters run as there are slots, waits are up
// to 60 % too long.
TEST(AdapterForms, loads_and_waits_match_runs) {
  int near = 0;
  for (const double skew : {0.0, 1.0}) {
    for (const int slots : {4, 8, 16, 32}) {
      for (const double decoding : {8.0, 16.0, 32.0}) {
        const serving::AdapterSet set{.count = 64, .slots = slots, .skew = skew};
        const serving::ServingPoint p = point_with(set, decoding);
        const double rate = p.requests.base();
        const AdapterRun run = run_with(set, rate);
        const AdapterRun all = run_with({.count = 64, .slots = 64, .skew = skew}, rate);
        const serving::SlotUse use =
            serving::slot_use(serving::toy_replica(kDevice, set).adapters, decoding);
        const double runs = (p.prefill + p.tpot * 63).base();
        const double waited = run.latency.ttft_mean - all.latency.ttft_mean;
        const auto where = [&] {
          return testing::Message() << "skew " << skew << ", slots " << slots << ", " << decoding;
        };
        EXPECT_NEAR(use.loads, run.loads, 0.12 * run.loads) << where();
        EXPECT_NEAR(use.wait * runs, waited, 0.65 * waited + 0.01 * runs) << where();
        EXPECT_NEAR(p.ttft_p99.base(), run.latency.ttft_p99, 0.6 * run.latency.ttft_p99) << where();
        near += std::abs(use.wait * runs - waited) <= 0.1 * waited + 0.005 * runs ? 1 : 0;
      }
    }
  }
  EXPECT_GE(near, 19);
}

}  // namespace
}  // namespace orrery::traffic
