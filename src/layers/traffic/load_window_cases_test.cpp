// Windows of latencies, adapters in use, reductions and guests: small cases by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "layers/serving/adapters.h"
#include "layers/serving/graph_reduce.h"
#include "layers/serving/steady_state.h"
#include "layers/serving/test_costs.h"
#include "layers/traffic/autoscaler.h"
#include "layers/traffic/failover.h"
#include "layers/traffic/guests.h"
#include "layers/traffic/load.h"
#include "layers/traffic/load_window.h"
#include "layers/traffic/sessions.h"
#include "layers/traffic/talks.h"

namespace orrery::traffic {
namespace {

RequestRecord recorded(double arrived, double first, double last, int output) {
  return {.prompt = 100, .output = output, .arrived = arrived, .first = first, .last = last};
}

// From 100 to 180 s: parts of ten seconds. The first has two requests, of which the later one was
// faster; the fourth has one with a single token; others come too early or too late.
TEST(WindowCases, window_matches_hand_calculation) {
  FleetRun done;
  done.records = {recorded(99.9, 100, 101, 5), recorded(100, 104, 112, 5),
                  recorded(109.9, 110.9, 114.9, 3), recorded(130, 133, 133, 1),
                  recorded(180, 181, 182, 5)};
  for (RequestRecord& r : done.records) r.cached = 20, r.fetched = 5;
  const ClientView view{.aside = 0.5, .accepted = 2, .ttft = 5, .tpot = 2, .whole = 100};
  const LoadWindow w = window_of(done, 0.25, {.begins = 100, .ends = 180, .last = 180}, view);
  EXPECT_EQ(w.rate, 0.25);
  EXPECT_EQ(w.parts[0].requests, 2);
  EXPECT_EQ(w.parts[3].requests, 1);
  EXPECT_EQ(w.parts[1].requests + w.parts[2].requests + w.parts[7].requests, 0);
  // Steps of 2 s: 4 + 0.5 + 2 and 1 + 0.5 + 2 to the first token.
  EXPECT_DOUBLE_EQ(w.parts[0].ttft[0], 3.5);
  EXPECT_DOUBLE_EQ(w.parts[0].ttft[99], 3.5);
  EXPECT_DOUBLE_EQ(w.parts[0].ttft[100], 6.5);
  EXPECT_DOUBLE_EQ(w.parts[0].ttft[199], 6.5);
  EXPECT_DOUBLE_EQ(w.parts[0].tpot[0], 1);  // two tokens per step
  EXPECT_DOUBLE_EQ(w.parts[0].whole[0], 5 + 2.5);
  EXPECT_DOUBLE_EQ(w.parts[0].whole[199], 12 + 2.5);
  EXPECT_DOUBLE_EQ(w.parts[0].good, 0.5) << "the other's first token is late";
  EXPECT_DOUBLE_EQ(w.parts[3].ttft[0], 3.5);
  EXPECT_DOUBLE_EQ(w.parts[3].good, 1);
  EXPECT_EQ(w.parts[1].good, 1) << "no request is late";
  EXPECT_EQ(w.parts[0].tasks, 0);
  EXPECT_DOUBLE_EQ(w.stay, (12 + 5 + 3) / 3.0);
  EXPECT_DOUBLE_EQ(w.busy, 1 - std::exp(-20.0 / 3 * 0.25));
  EXPECT_DOUBLE_EQ(w.found, 0.2);
  EXPECT_DOUBLE_EQ(w.fetched, 0.05);
}

// A single token has no time between tokens: in a part with requests of one and of three tokens,
// only the second counts.
TEST(WindowCases, single_token_has_no_time_between_tokens) {
  FleetRun done;
  done.records = {recorded(10, 11, 15, 3), recorded(11, 12, 12, 1)};
  const LoadWindow w = window_of(done, 1, {.begins = 0, .ends = 80, .last = 80}, {});
  EXPECT_EQ(w.parts[1].requests, 2);
  EXPECT_DOUBLE_EQ(w.parts[1].tpot[0], 2);
  EXPECT_DOUBLE_EQ(w.parts[1].tpot[199], 2);
}

// Two calls of a task that begins at 20 s and ends at 30 s, each seen half a second later.
TEST(WindowCases, tasks_are_as_long_as_their_calls) {
  FleetRun done;
  done.records = {recorded(20, 21, 21, 1), recorded(25, 26, 30, 1), recorded(40, 41, 42, 1)};
  done.records[0].session = done.records[1].session = 7;
  done.records[2].session = 8;
  const LoadWindow w =
      window_of(done, 1, {.begins = 0, .ends = 80, .last = 80}, {.aside = 0.5, .calls = 2});
  EXPECT_EQ(w.parts[2].tasks, 1);
  EXPECT_DOUBLE_EQ(w.parts[2].task[0], 11);
  EXPECT_EQ(w.parts[4].tasks, 0) << "one call of two";
  const std::vector<LoadWindow> tasks = of_tasks({w});
  EXPECT_EQ(tasks[0].parts[2].requests, 1);
  EXPECT_EQ(tasks[0].parts[4].requests, 0);
  const double weights[] = {3};
  EXPECT_EQ(tasks_within(tasks, weights, 11), 1);
  EXPECT_EQ(tasks_within(tasks, weights, 10.9), 0);
}

LoadWindow even_window(double requests, double good) {
  LoadWindow w;
  for (WindowPart& part : w.parts) {
    part.requests = requests;
    part.good = good;
    std::iota(part.ttft.begin(), part.ttft.end(), 1.0);
  }
  return w;
}

// 1, 2, ... 200 in every part. With 352 requests the median's rank is known to within 1.2816
// sqrt(0.25 / 352) = 0.03416, 6.83 of the 200: from the 94th to the 107th value.
TEST(WindowCases, quantile_error_follows_its_rank) {
  const std::vector<LoadWindow> levels{even_window(44, 1)};
  const double weights[] = {7};
  const Sampled median = sampled(levels, weights, &WindowPart::ttft, 0.5);
  EXPECT_DOUBLE_EQ(median.value, 100);
  EXPECT_NEAR(median.error, 0.07, 1e-12);
  const Sampled mean = sampled(levels, weights, &WindowPart::ttft, 0);
  EXPECT_NEAR(mean.value, 100.5, 1e-9);
  EXPECT_NEAR(mean.error, 0, 1e-12) << "all parts are alike";
  const Sampled none = sampled(levels, weights, &WindowPart::tpot, 0.5);
  EXPECT_EQ(none.value, 0);
  EXPECT_EQ(none.error, 0);
}

// Means of 100.5 in seven parts and 180.5 in one. Leaving out that one gives 100.5, leaving out
// another 100.5 + 80/7. The squares are (80/7)^2 x 7/8, times 7/8. For pairs of neighbours: without
// its pair 100.5, otherwise 100.5 + 80/6: (80/6)^2 x 3/4, times 3/4.
TEST(WindowCases, mean_error_follows_the_spread_of_parts) {
  std::vector<LoadWindow> levels{even_window(44, 1)};
  for (double& v : levels[0].parts[5].ttft) v += 80;
  const double weights[] = {2};
  const Sampled mean = sampled(levels, weights, &WindowPart::ttft, 0);
  EXPECT_NEAR(mean.value, 110.5, 1e-9);
  const double eight = 1.415 * 80 / 7 * 7 / 8;
  const double four = 1.638 * 80 / 6 * 3 / 4;
  EXPECT_GT(four, eight);
  EXPECT_NEAR(mean.error, four / 110.5, 1e-9);
}

TEST(WindowCases, levels_count_by_their_weights) {
  const std::vector<LoadWindow> levels{even_window(10, 0.5), even_window(40, 1)};
  const double weights[] = {3, 1};
  EXPECT_DOUBLE_EQ(good_share(levels, weights), (3 * 0.5 + 1) / 4);
  std::vector<LoadWindow> rates{{.rate = 2}, {.rate = 4}, {.rate = 10}};
  std::vector<double> fell(3, 0);
  add_weight(fell, rates, 1, 5);
  add_weight(fell, rates, 11, 7);
  add_weight(fell, rates, 5.5, 8);  // a quarter of the way
  add_weight(fell, rates, 4, 16);
  EXPECT_EQ(fell, (std::vector<double>{5, 6 + 16, 2 + 7}));
}

TEST(WindowCases, ranks_that_vllm_keeps_slots_for) {
  const int ranks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
  int before = 0;
  for (const int rank : ranks) {
    EXPECT_EQ(serving::reserved_rank(engines::EngineKind::vllm, before + 1), rank);
    EXPECT_EQ(serving::reserved_rank(engines::EngineKind::vllm, rank), rank);
    before = rank;
  }
  EXPECT_EQ(serving::reserved_rank(engines::EngineKind::vllm, 513), 513);
  EXPECT_EQ(serving::reserved_rank(engines::EngineKind::sglang, 9), 9);
}

// Sixteen as single classes, then classes of 4, 5, 6 and 8, and the last.
TEST(WindowCases, adapters_used_equally_often_form_a_class) {
  const std::vector<serving::AdapterClass> use = serving::adapter_use(40, 1);
  ASSERT_EQ(use.size(), 21u);
  double harmonic = 0;
  for (int i = 1; i <= 40; ++i) harmonic += 1.0 / i;
  EXPECT_NEAR(use[0].share, 1 / harmonic, 1e-12);
  EXPECT_NEAR(use[15].share, 1 / harmonic / 16, 1e-12);
  EXPECT_EQ(use[15].many, 1);
  const double many[] = {4, 5, 6, 8, 1};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(use[16 + i].many, many[i]);
  EXPECT_NEAR(use[16].share, (1.0 / 17 + 1.0 / 18 + 1.0 / 19 + 1.0 / 20) / 4 / harmonic, 1e-12);
  EXPECT_NEAR(use[20].share, 1 / harmonic / 40, 1e-12);
}

// Ten equal adapters: R requests use 10 (1 - e^-R/10). The last eight finished and the five running
// requests have 10 (1 - e^-1.3) prefixes of 100, besides 8 x 50 tokens of their own.
TEST(WindowCases, prefix_of_each_adapter_is_found_while_it_is_kept) {
  serving::ReplicaAdapters a;
  a.set.count = 10;
  a.use = serving::adapter_use(10, 0);
  const double room = 8 * 50 + 100 * 10 * (1 - std::exp(-1.3));
  EXPECT_NEAR(serving::prefix_found(a, {.prefix = 100, .fresh = 50, .room = room, .running = 5}),
              1 - std::exp(-1.3), 1e-9);
  EXPECT_NEAR(serving::prefix_found(a, {.prefix = 100, .fresh = 50, .room = 0, .running = 5}),
              1 - std::exp(-0.5), 1e-9);
  const serving::SlotUse none = serving::slot_use({}, 5);
  EXPECT_EQ(none.loads + none.wait + none.wait_p99, 0);
  EXPECT_EQ(serving::running_with_slots({}, 12), 12);
}

// 0.65 of 450 GB/s is reached. 8 ranks: one shot 7 buffers, two shots 14/8 of one plus 3 us.
TEST(WindowCases, reduction_takes_one_shot_or_two) {
  const BytesPerSecond link = gbytes_per_s(450);
  EXPECT_EQ(serving::graph_all_reduce(Bytes(1e6), 1, link, 4).base(), 0);
  EXPECT_NEAR(serving::graph_all_reduce(Bytes(1e4), 8, link, 4).base(), 4.5e-6 + 7e4 / 292.5e9,
              1e-15);
  EXPECT_NEAR(serving::graph_all_reduce(Bytes(1e6), 8, link, 4).base(), 7.5e-6 + 1.75e6 / 292.5e9,
              1e-15);
  EXPECT_NEAR(serving::graph_all_reduce(Bytes(1e4), 2, link, 5).base(), 7e-6 + 1e4 / 292.5e9,
              1e-15);
  EXPECT_NEAR(serving::graph_all_reduce(Bytes(1e4), 2, link, 4.9).base(), 4.5e-6 + 1e4 / 292.5e9,
              1e-15);
}

TEST(WindowCases, guests_have_their_own_names) {
  const Timed own{.spec = {.content = 5, .session = 6}, .at = 2};
  const Timed guest{.spec = {.content = 5, .session = 6}, .at = 1};
  const Timed unnamed{.spec = {}, .at = 2};
  const MixedLoad load = with_guests({own}, {guest, unnamed});
  EXPECT_EQ(load.is_guest, (std::vector<bool>{true, false, true})) << "of two at once the own";
  constexpr std::uint64_t kMark = 281'474'976'710'656;  // 2^48
  EXPECT_EQ(load.all[0].spec.content, kMark + 5);
  EXPECT_EQ(load.all[0].spec.session, kMark + 6);
  EXPECT_EQ(load.all[1].spec.content, 5u);
  EXPECT_EQ(load.all[1].spec.session, 6u);
  EXPECT_EQ(load.all[2].spec.content + load.all[2].spec.session, 0u);
  FleetRun run;
  run.records = {{.id = 0}, {.id = 1}, {.id = 2}};
  EXPECT_EQ(records_of(run, load, true).served, 2);
  EXPECT_EQ(records_of(run, load, false).records[0].id, 1);
}

TEST(WindowCases, defaults_of_windows) {
  EXPECT_EQ(Autoscaler{}.period, 15);
  EXPECT_EQ(Autoscaler{}.lag, 15);
  EXPECT_EQ(RegionNow{}.capacity, 0);
  EXPECT_EQ(RegionNow{}.load, 0);
  EXPECT_EQ(RegionMove{}.from + RegionMove{}.to, 0u);
  EXPECT_EQ(RegionMove{}.rate, 0);
  EXPECT_EQ(region_availability({}), 1);
  EXPECT_EQ(serving::ServingMemoryOptions{}.least_tokens, 2048);
  EXPECT_EQ(TalkLoad{}.turns, 4);
  EXPECT_EQ(TalkLoad{}.think, 30);
  EXPECT_EQ(TalkCase{}.turns, 4);
  EXPECT_EQ(TalkCase{}.think, 30);
  EXPECT_EQ(TalkCase{}.prompt, 500);
  EXPECT_EQ(TalkCase{}.output, 250);
  EXPECT_EQ(serving::Iteration{}.tokens_per_step, 1);
  EXPECT_EQ(serving::Iteration{}.prompt_cached + serving::Iteration{}.adapters +
                serving::Iteration{}.context,
            0);
  EXPECT_TRUE(ReplicaSim::Options{}.merge);
  EXPECT_EQ(ReplicaSim::Options{}.receive_every, 1);
  const LatencySummary none = summarise({});
  EXPECT_EQ(none.count + none.ttft_mean + none.tpot_p99 + none.e2e_p50, 0);
  EXPECT_EQ(none.requests_per_s + none.output_tokens_per_s, 0);
  EXPECT_EQ(serving::replicas_needed(PerSecond(0), PerSecond(3), 0.8), 0);
  EXPECT_EQ(serving::replicas_needed(PerSecond(9), PerSecond(0), 0.8), 0);
  EXPECT_EQ(serving::replicas_needed(PerSecond(9), PerSecond(3), 0.8), 4);
}

TEST(WindowCases, region_without_help_loses_its_share) {
  EXPECT_NEAR(region_availability({.dark = 0.1}), 0.9, 1e-12);
  EXPECT_NEAR(region_availability({.few = 0.1}), 0.9, 1e-12);
  EXPECT_NEAR(region_availability({.dark = 0.1, .carried = 0.5}), 0.95, 1e-12);
}

// A region's availability: 1 - 0.01 - 0.03 (1 - 0.5 x 0.9) - 0.96 x 0.2 (1 - 0.25 x 0.9).
TEST(WindowCases, region_availability_follows_the_formula) {
  EXPECT_NEAR(region_availability({.dark = 0.04,
                                   .unseen = 0.01,
                                   .few = 0.2,
                                   .carried = 0.5,
                                   .spilled = 0.25,
                                   .others = 0.9}),
              1 - 0.01 - 0.03 * 0.55 - 0.96 * 0.2 * 0.775, 1e-12);
}

// The first request comes at a share of the thinking time that its stream draws.
TEST(WindowCases, users_start_in_the_middle_of_thinking) {
  serving::StepClock clock = serving::even_clock(0.5);
  engines::EnginePolicy policy;
  ReplicaSim sim(policy, clock);
  SessionLoad load;
  load.users = 1;
  load.turns = 3;
  load.think = 100;
  load.requests = 1;
  load.seed = 9;
  const SessionRun run = run_sessions(sim, load);
  ASSERT_EQ(run.records.size(), 1u);
  RandomStream think(9, "serving/think");
  EXPECT_DOUBLE_EQ(run.records[0].arrived, think.uniform() * 100);
}

}  // namespace
}  // namespace orrery::traffic
