#include "layers/failure/straggler_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "core/base/csv.h"
#include "core/base/random.h"
#include "layers/failure/recovery.h"

namespace orrery::failure {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr int kHostRanks = 8;

// Noise as a factor on a step of one second.
using Noise = std::function<double(RandomStream&)>;

double calm(RandomStream& r) { return 1 + 0.01 * r.normal(); }
// Adds Pareto noise with infinite variance: a few steps take many times as long.
double heavy(RandomStream& r) { return 1 + 0.005 * std::pow(1 - r.uniform(), -1 / 1.5); }
double lognormal(RandomStream& r) { return std::exp(0.2 * r.normal()); }

StepTimes healthy(int ranks, int steps, RandomStream& random, const Noise& noise) {
  StepTimes times;
  for (int r = 0; r < ranks; ++r) {
    times.ranks.push_back({.rank = r, .host = "h" + std::to_string(r / kHostRanks)});
  }
  for (int s = 0; s < steps; ++s) {
    std::vector<double> row;
    for (int r = 0; r < ranks; ++r) row.push_back(noise(random));
    times.steps.push_back(std::move(row));
  }
  return times;
}

// Correlated steps: each rank's time drifts with a correlation of 0.8.
StepTimes wandering(int ranks, int steps, RandomStream& random) {
  StepTimes times = healthy(ranks, 1, random, calm);
  std::vector<double> state(static_cast<std::size_t>(ranks));
  for (double& x : state) x = random.normal();
  times.steps.clear();
  for (int s = 0; s < steps; ++s) {
    std::vector<double> row;
    for (double& x : state) {
      x = 0.8 * x + 0.6 * random.normal();
      row.push_back(std::exp(0.05 * x));
    }
    times.steps.push_back(std::move(row));
  }
  return times;
}

void slow_down(StepTimes& times, int rank, double factor) {
  for (auto& step : times.steps) step[static_cast<std::size_t>(rank)] *= factor;
}

int false_alarms(int trials, const std::function<StepTimes(RandomStream&)>& make) {
  int alarms = 0;
  for (int t = 0; t < trials; ++t) {
    RandomStream random(static_cast<std::uint64_t>(t), "stragglers/false");
    alarms += !find_stragglers(make(random)).slow.empty();
  }
  return alarms;
}

// The stated rate is 1 % per run. Of 400 healthy runs 4 are expected to alarm; 11 or more has a
// probability of 0.3 %.
TEST(StragglerDetector, false_positive_rate_holds_for_any_distribution) {
  constexpr int kRuns = 400;
  for (const Noise& noise : {Noise(calm), Noise(heavy), Noise(lognormal)}) {
    EXPECT_LE(false_alarms(kRuns, [&](RandomStream& r) { return healthy(64, 60, r, noise); }), 10);
  }
  EXPECT_LE(false_alarms(kRuns, [](RandomStream& r) { return healthy(4, 200, r, heavy); }), 10);
}

TEST(StragglerDetector, false_positive_rate_holds_for_correlated_steps) {
  EXPECT_LE(false_alarms(200, [](RandomStream& r) { return wandering(32, 200, r); }), 6);
}

// Ranks that differ by less than slow_min count as equal, over however many steps.
TEST(StragglerDetector, difference_below_the_threshold_is_none) {
  RandomStream random(7, "stragglers/small");
  StepTimes times = healthy(32, 3000, random, calm);
  slow_down(times, 3, 1.015);
  EXPECT_THAT(find_stragglers(times).slow, IsEmpty());
}

// Power: a rank 5 % slow under 1 % noise is found within 10 steps among 512, in 20 of 20 runs.
TEST(StragglerDetector, rank_five_percent_slow_is_found_in_ten_steps) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed, "stragglers/power");
    StepTimes times = healthy(512, 10, random, calm);
    slow_down(times, 77, 1.05);
    const StragglerReport report = find_stragglers(times);
    ASSERT_THAT(report.slow, SizeIs(1)) << seed;
    EXPECT_EQ(report.slow[0].place.rank, 77);
    EXPECT_GT(report.slow[0].confidence, 0.99);
    EXPECT_NEAR(report.slow[0].excess, 0.05, 0.02);
    EXPECT_EQ(report.slow[0].layer, SlowLayer::gpu_clock);
    EXPECT_GT(report.step_cost, 0.005);
  }
}

TEST(StragglerDetector, under_heavy_tails_it_is_found_in_twenty_steps) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed, "stragglers/heavy-power");
    StepTimes times = healthy(64, 20, random, heavy);
    slow_down(times, 9, 1.05);
    const StragglerReport report = find_stragglers(times);
    ASSERT_THAT(report.slow, SizeIs(1)) << seed;
    EXPECT_EQ(report.slow[0].place.rank, 9);
  }
}

TEST(StragglerDetector, bursts_growth_and_company_point_to_their_layers) {
  RandomStream random(3, "stragglers/layers");
  StepTimes link = healthy(64, 200, random, calm);
  for (std::size_t s = 0; s < link.steps.size(); s += 8) link.steps[s][5] *= 1.6;
  const StragglerReport a = find_stragglers(link);
  ASSERT_THAT(a.slow, SizeIs(1));
  EXPECT_EQ(a.slow[0].pattern, SlowPattern::bursts);
  EXPECT_EQ(a.slow[0].layer, SlowLayer::link);
  EXPECT_NEAR(a.slow[0].step_share, 1.0 / 8, 0.02);
  EXPECT_NEAR(a.slow[0].excess, 0.6, 0.05);

  StepTimes heat = healthy(64, 200, random, calm);
  for (std::size_t s = 0; s < heat.steps.size(); ++s) {
    heat.steps[s][6] *= 1 + 0.15 * static_cast<double>(s) / 200;
  }
  const StragglerReport b = find_stragglers(heat);
  ASSERT_THAT(b.slow, SizeIs(1));
  EXPECT_EQ(b.slow[0].layer, SlowLayer::thermal);

  StepTimes host = healthy(64, 60, random, calm);
  for (int r = 16; r < 24; ++r) slow_down(host, r, 1.08);
  const StragglerReport c = find_stragglers(host);
  ASSERT_THAT(c.slow, SizeIs(8));
  EXPECT_EQ(c.slow[0].layer, SlowLayer::host_input);
  EXPECT_EQ(c.slow[0].shared, "host h2");

  StepTimes rail = healthy(64, 60, random, calm);
  for (int r = 3; r < 64; r += kHostRanks) slow_down(rail, r, 1.08);
  const StragglerReport d = find_stragglers(rail);
  ASSERT_THAT(d.slow, SizeIs(8));
  EXPECT_EQ(d.slow[0].layer, SlowLayer::fabric);
  EXPECT_EQ(d.slow[0].shared, "rail 3");
}

TEST(StragglerDetector, missing_and_odd_measurements_do_no_harm) {
  RandomStream random(5, "stragglers/odd");
  StepTimes times = healthy(16, 100, random, calm);
  slow_down(times, 2, 1.1);
  for (std::size_t s = 0; s < times.steps.size(); ++s) {
    times.steps[s][s % 16] = s % 3 == 0 ? 0 : s % 3 == 1 ? std::nan("") : -1;
  }
  times.steps.push_back({});
  times.steps.push_back({1.0});
  const StragglerReport report = find_stragglers(times);
  ASSERT_THAT(report.slow, SizeIs(1));
  EXPECT_EQ(report.slow[0].place.rank, 2);
  EXPECT_THAT(find_stragglers({}).slow, IsEmpty());
  EXPECT_THAT(find_stragglers(healthy(1, 50, random, calm)).slow, IsEmpty());
  // All equal: there is no order and no alarm.
  EXPECT_THAT(find_stragglers(healthy(8, 50, random, [](RandomStream&) { return 1.0; })).slow,
              IsEmpty());
}

// By hand: all of 3 steps at u = 3/4 has the exponent of the tilted uniform a = 3.5935, I = 0.4086;
// a fair coin that shows heads 8 times of 10 has KL(0.8, 0.5) = 0.1927.
TEST(StragglerDetector, detection_bounds_match_the_documentation) {
  EXPECT_NEAR(log_uniform_mean_bound(3, 0.75) / 3, -0.4086, 5e-4);
  EXPECT_NEAR(log_binomial_bound(10, 0.8, 0.5), -1.927, 1e-3);
  EXPECT_EQ(log_uniform_mean_bound(10, 0.4), 0);
  EXPECT_EQ(log_binomial_bound(10, 0.1, 0.5), 0);
  // It is a bound, so never below the true probability: mean of two uniforms above 0.9 is 2 * 0.1^2
  // = 0.02.
  EXPECT_GE(std::exp(log_uniform_mean_bound(2, 0.9)), 0.02);
}

RankPlace at_place(int rank, const std::string& host = {}, const std::string& leaf = {}) {
  return {.rank = rank, .host = host, .leaf = leaf};
}

// Two ranks, one 5 % slower: its mid-rank is 3/4 in every step, and the documented bound follows.
TEST(StragglerDetector, confidence_is_one_minus_the_bound) {
  StepTimes times{.ranks = {at_place(0), at_place(1), at_place(2)}, .steps = {}};
  for (int i = 0; i < 30; ++i) times.steps.push_back({1.05, 1.0, 0});  // the third is not measured
  const StragglerReport report = find_stragglers(times);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].place.rank, 0);
  EXPECT_NEAR(report.slow[0].confidence, 1 - 2 * 2 * std::exp(log_uniform_mean_bound(30, 0.75)),
              1e-9);
  EXPECT_NEAR(report.slow[0].excess, 1.05 / 1.025 - 1, 1e-12) << "over the step's median";
  EXPECT_NEAR(report.step_cost, 0.05, 1e-12);
  EXPECT_EQ(log_uniform_mean_bound(30, 0.5), 0);
  EXPECT_EQ(log_uniform_mean_bound(30, 0.3), 0) << "faster than the rest is not slow";
  EXPECT_EQ(log_binomial_bound(30, 0.1, 0.25), 0);
  // With fewer steps than required no rank is judged.
  times.steps.resize(4);
  EXPECT_TRUE(find_stragglers(times, {.false_positives = 1}).slow.empty());
}

TEST(StragglerDetector, burst_probability_is_one_in_the_ranks) {
  StepTimes times;
  for (int r = 0; r < 16; ++r) times.ranks.push_back(at_place(r));
  for (int i = 0; i < 40; ++i) {
    std::vector<double> step(16, 1.0);
    if (i % 3 == 0) step[0] = 1.5, step[1] = 1.4;  // the second is late too, but not the last
    times.steps.push_back(step);
  }
  const StragglerReport report = find_stragglers(times);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].place.rank, 0);
  EXPECT_EQ(report.slow[0].pattern, SlowPattern::bursts);
  EXPECT_NEAR(report.slow[0].step_share, 14.0 / 40, 1e-12);
  EXPECT_NEAR(report.slow[0].confidence,
              1 - 2 * 16 * std::exp(log_binomial_bound(40, 14.0 / 40, 1.0 / 16)), 1e-9);
}

// In blocks of five steps each rank is the slower one in turn: 80 of 99 neighbours agree, 19 do
// not.
TEST(StragglerDetector, correlated_steps_count_less) {
  StepTimes times{.ranks = {at_place(0), at_place(1)}, .steps = {}};
  for (int i = 0; i < 100; ++i) {
    times.steps.push_back(i / 5 % 2 == 0 ? std::vector<double>{1.05, 1}
                                         : std::vector<double>{1, 1.05});
  }
  const double r = (80.0 - 19) / 100;
  EXPECT_NEAR(find_stragglers(times).steps_effective, 100 * (1 - r) / (1 + r), 1e-9);
}

TEST(StragglerDetector, shared_cause_needs_most_of_a_group) {
  // Three of four ranks of one leaf burst in turn: the leaf is the whole job, so naming it says
  // nothing.
  StepTimes whole;
  for (int r = 0; r < 4; ++r) whole.ranks.push_back(at_place(r, "", "l1"));
  for (int i = 0; i < 900; ++i) {
    std::vector<double> step(4, 1.0);
    step[static_cast<std::size_t>(i % 3)] = 1.5;
    whole.steps.push_back(step);
  }
  const StragglerReport all = find_stragglers(whole);
  ASSERT_EQ(all.slow.size(), 3u);
  for (const Straggler& s : all.slow) EXPECT_EQ(s.shared, "");
  const auto steady = [](std::vector<RankPlace> places, const std::vector<std::size_t>& slow) {
    StepTimes times{.ranks = std::move(places), .steps = {}};
    for (int i = 0; i < 60; ++i) {
      std::vector<double> step(times.ranks.size());
      for (std::size_t r = 0; r < step.size(); ++r) {
        step[r] = 1 + 0.001 * static_cast<double>((i + 5 * static_cast<int>(r)) % 7);
      }
      for (const std::size_t r : slow) step[r] *= 1.08;
      times.steps.push_back(step);
    }
    return find_stragglers(times);
  };
  std::vector<RankPlace> leaves;
  for (int r = 0; r < 16; ++r) leaves.push_back(at_place(r, "", r < 8 ? "l1" : "l2"));
  const StragglerReport few = steady(leaves, {0, 1});
  ASSERT_EQ(few.slow.size(), 2u);
  EXPECT_EQ(few.slow[0].shared, "") << "two of a leaf's eight";
  // Hosts with one rank have no rails, although others have two.
  std::vector<RankPlace> mixed = {at_place(0, "a")};
  for (int r = 1; r < 13; ++r) mixed.push_back(at_place(r, "h" + std::to_string((r - 1) / 2)));
  const StragglerReport odd = steady(mixed, {0, 1, 3, 5});
  ASSERT_GE(odd.slow.size(), 2u);
  for (const Straggler& s : odd.slow) EXPECT_EQ(s.shared, "");
  // The more expensive one comes first: 8 % always, before 20 % in a third of the steps.
  StepTimes two;
  for (int r = 0; r < 16; ++r) two.ranks.push_back(at_place(r));
  for (int i = 0; i < 120; ++i) {
    std::vector<double> step(16, 1.0);
    step[0] = 1.08;
    if (i % 3 == 0) step[1] = 1.2;
    two.steps.push_back(step);
  }
  const StragglerReport ordered = find_stragglers(two);
  ASSERT_EQ(ordered.slow.size(), 2u);
  EXPECT_EQ(ordered.slow[0].place.rank, 0);
}

StepTimes sixteen_ranks(const std::map<int, double>& slow) {
  StepTimes times;
  for (int r = 0; r < 16; ++r) times.ranks.push_back({.rank = r});
  for (int s = 0; s < 60; ++s) {
    std::vector<double> row(16, 1.0);
    for (const auto& [rank, seconds] : slow) row[static_cast<std::size_t>(rank)] = seconds;
    times.steps.push_back(row);
  }
  return times;
}

// Ranks 0 to 2 share a leaf; 2 to 5 share a host, of which 3 to 5 remain to be explained: three
// quarters.
TEST(StragglerDetector, rank_is_attributed_to_its_widest_group) {
  StepTimes times = sixteen_ranks({{0, 1.3}, {1, 1.3}, {2, 1.3}, {3, 1.3}, {4, 1.3}, {5, 1.3}});
  for (const std::size_t r : {0U, 1U, 2U}) times.ranks[r].leaf = "a";
  for (const std::size_t r : {2U, 3U, 4U, 5U}) times.ranks[r].host = "h";
  const StragglerReport report = find_stragglers(times);
  ASSERT_EQ(report.slow.size(), 6U);
  for (const Straggler& s : report.slow) {
    EXPECT_EQ(s.shared, s.place.rank <= 2 ? "leaf a" : "host h") << s.place.rank;
    EXPECT_EQ(s.layer, s.place.rank <= 2 ? SlowLayer::fabric : SlowLayer::host_input);
  }
}

TEST(StragglerDetector, slowest_ranks_come_first) {
  const StragglerReport report = find_stragglers(sixteen_ranks({{2, 1.05}, {9, 1.3}, {12, 1.1}}));
  ASSERT_EQ(report.slow.size(), 3U);
  EXPECT_EQ(report.slow[0].place.rank, 9);
  EXPECT_EQ(report.slow[1].place.rank, 12);
  EXPECT_EQ(report.slow[2].place.rank, 2);
}

// Half as long again, which is exactly what a burst needs.
TEST(StragglerDetector, burst_at_its_threshold_counts) {
  StepTimes times = sixteen_ranks({});
  for (std::size_t s = 0; s < times.steps.size(); s += 3) times.steps[s][4] = 1.5;
  const StragglerReport report = find_stragglers(times, {.spike_min = 0.5});
  ASSERT_EQ(report.slow.size(), 1U);
  EXPECT_EQ(report.slow[0].pattern, SlowPattern::bursts);
  EXPECT_DOUBLE_EQ(report.slow[0].excess, 0.5);
}

// Rank 2 of four takes 1.5 s in every step, the others one: half as long again. Invalid times are
// not counted.
TEST(StragglerDetector, invalid_times_cost_nothing) {
  StepTimes times;
  for (int r = 0; r < 4; ++r) times.ranks.push_back({.rank = r});
  for (int s = 0; s < 40; ++s) times.steps.push_back({1, 1, 1.5, 1});
  const StragglerReport whole = find_stragglers(times);
  ASSERT_EQ(whole.slow.size(), 1u);
  EXPECT_EQ(whole.slow[0].place.rank, 2);
  EXPECT_DOUBLE_EQ(whole.step_cost, 0.5);
  times.steps[3][0] = std::numeric_limits<double>::infinity();
  times.steps[9][1] = std::numeric_limits<double>::quiet_NaN();
  const StragglerReport gaps = find_stragglers(times);
  ASSERT_EQ(gaps.slow.size(), 1u);
  EXPECT_EQ(gaps.slow[0].place.rank, 2);
  EXPECT_DOUBLE_EQ(gaps.step_cost, 0.5);
}

// Steps of one second each, except where `at` sets rank and step.
StepTimes table_of(int ranks, int steps, const std::function<double(int, int)>& at) {
  StepTimes times;
  for (int r = 0; r < ranks; ++r) times.ranks.push_back({.rank = r});
  for (int s = 0; s < steps; ++s) {
    std::vector<double> row;
    for (int r = 0; r < ranks; ++r) row.push_back(at(r, s));
    times.steps.push_back(std::move(row));
  }
  return times;
}

StepTimes one_slow(int ranks, int steps, int rank, double seconds) {
  return table_of(ranks, steps, [=](int r, int) { return r == rank ? seconds : 1.0; });
}

TEST(StragglerDetector, binomial_and_uniform_bounds) {
  EXPECT_NEAR(log_binomial_bound(10, 0.5, 0.1),
              -10 * (0.5 * std::log(5.0) + 0.5 * std::log(0.5 / 0.9)), 1e-12);
  EXPECT_NEAR(log_binomial_bound(7, 1, 0.25), -7 * std::log(4.0), 1e-12);
  EXPECT_EQ(log_binomial_bound(10, 0.1, 0.1), 0);
  EXPECT_EQ(log_binomial_bound(0, 0.5, 0.1), 0);
  EXPECT_EQ(log_binomial_bound(10, 0.5, 0), 0);
  EXPECT_EQ(log_binomial_bound(10, 1, 1), 0);
  EXPECT_NEAR(log_uniform_mean_bound(1, 0.75), -0.40863882040277, 1e-9);
  EXPECT_NEAR(log_uniform_mean_bound(7, 0.6), -0.42517079896711, 1e-9);
  EXPECT_NEAR(log_uniform_mean_bound(3, 0.95), -5.98719682684543, 1e-9);
  EXPECT_EQ(log_uniform_mean_bound(10, 0.5), 0);
  EXPECT_EQ(log_uniform_mean_bound(0, 0.9), 0);
  EXPECT_EQ(log_uniform_mean_bound(3, 1), -std::numeric_limits<double>::infinity());
}

// Rank 5 of 16 is always last by 6 %: u = 15.5/16 each time, so there is no correlation and all 20
// steps count.
TEST(StragglerDetector, steady_straggler) {
  const StragglerReport report = find_stragglers(one_slow(16, 20, 5, 1.06));
  EXPECT_EQ(report.ranks, 16u);
  EXPECT_EQ(report.steps, 20u);
  EXPECT_EQ(report.steps_effective, 20);
  ASSERT_EQ(report.slow.size(), 1u);
  const Straggler& s = report.slow[0];
  EXPECT_EQ(s.place.rank, 5);
  EXPECT_EQ(s.pattern, SlowPattern::steady);
  EXPECT_EQ(s.layer, SlowLayer::gpu_clock);
  EXPECT_NEAR(s.excess, 0.06, 1e-12);
  EXPECT_EQ(s.step_share, 1);
  EXPECT_TRUE(s.shared.empty());
  EXPECT_NEAR(report.step_cost, 0.06, 1e-12);
}

TEST(StragglerDetector, slow_and_burst_thresholds) {
  EXPECT_EQ(find_stragglers(one_slow(16, 20, 5, 1.0205)).slow.size(), 1u);
  EXPECT_TRUE(find_stragglers(one_slow(16, 20, 5, 1.0195)).slow.empty());
  const auto bursts = [](double seconds) {
    return find_stragglers(
        table_of(16, 60, [=](int r, int s) { return r == 4 && s % 3 == 0 ? seconds : 1.0; }));
  };
  const StragglerReport found = bursts(1.103);
  ASSERT_EQ(found.slow.size(), 1u);
  EXPECT_EQ(found.slow[0].pattern, SlowPattern::bursts);
  EXPECT_EQ(found.slow[0].layer, SlowLayer::link);
  EXPECT_NEAR(found.slow[0].excess, 0.103, 1e-12);
  EXPECT_NEAR(found.slow[0].step_share, 1.0 / 3, 1e-12);
  EXPECT_NEAR(found.step_cost, 0.103 / 3, 1e-12);
  EXPECT_TRUE(bursts(1.097).slow.empty());
}

TEST(StragglerDetector, five_measurements_are_needed) {
  EXPECT_EQ(find_stragglers(one_slow(16, 5, 3, 1.5)).slow.size(), 1u);
  EXPECT_TRUE(find_stragglers(one_slow(16, 4, 3, 1.5)).slow.empty());
  EXPECT_EQ(find_stragglers(one_slow(16, 4, 3, 1.5)).steps, 4u);
  // Measured in few of many steps: not judged, whatever it shows.
  const auto measured = [](int times) {
    return find_stragglers(table_of(64, 40, [=](int r, int s) {
      return r != 3 ? 1.0 : s % 8 == 0 && s < 8 * times ? 2.0 : 0.0;
    }));
  };
  EXPECT_TRUE(measured(4).slow.empty());
  EXPECT_EQ(measured(5).slow.size(), 1u);
}

// Rank 3 of 4 at 1.09; one of the others at 1.05, in turns of four steps. The median is 1.025, the
// lag-one correlation 0.63864: of 40 steps 8.82108 count.
TEST(StragglerDetector, resembling_steps_count_less) {
  const StragglerReport report = find_stragglers(table_of(4, 40, [](int r, int s) {
    return r == 3 ? 1.09 : r == s / 4 % 3 ? 1.05 : 1.0;
  }));
  EXPECT_NEAR(report.steps_effective, 8.821081830790568, 1e-9);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].place.rank, 3);
  EXPECT_NEAR(report.slow[0].excess, 1.09 / 1.025 - 1, 1e-12);
  EXPECT_NEAR(report.slow[0].confidence, 0.9994158733302805, 1e-9);
}

// Rank 2 of 6 bursts in every other step, by 26 % in the median of the bursts.
TEST(StragglerDetector, correlated_bursts_count_less) {
  const StragglerReport report = find_stragglers(table_of(6, 48, [](int r, int s) {
    if (r == 2 && s % 2 == 1) return 1.25 + 0.01 * (s % 3);
    return r == s / 3 % 6 ? 1.04 : 1.0;
  }));
  EXPECT_NEAR(report.steps_effective, 28.977769191042867, 1e-9);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].pattern, SlowPattern::bursts);
  EXPECT_NEAR(report.slow[0].excess, 0.26, 1e-12);
  EXPECT_EQ(report.slow[0].step_share, 0.5);
  EXPECT_NEAR(report.slow[0].confidence, 0.9975980311043556, 1e-9);
}

// The last third compared with the first: more than twice, and at least one percentage point more.
TEST(StragglerDetector, growing_straggler) {
  const auto pattern = [](int steps, double early, double late, double slow_min) {
    StragglerTest test;
    test.slow_min = slow_min;
    const StragglerReport report = find_stragglers(
        table_of(
            16, steps,
            [=](int r, int s) {
              if (r != 1) return 1.0;
              return 1 + (3 * s < steps ? early : 3 * s < 2 * steps ? (early + late) / 2 : late);
            }),
        test);
    EXPECT_EQ(report.slow.size(), 1u);
    return report.slow.empty() ? SlowPattern::bursts : report.slow[0].pattern;
  };
  EXPECT_EQ(pattern(30, 0.04, 0.1, 0.02), SlowPattern::growing);
  EXPECT_EQ(pattern(30, 0.04, 0.079, 0.02), SlowPattern::steady);
  EXPECT_EQ(pattern(9, 0.04, 0.1, 0.02), SlowPattern::growing);
  EXPECT_EQ(pattern(8, 0.04, 0.1, 0.02), SlowPattern::steady) << "too few steps to say";
  EXPECT_EQ(pattern(30, 0.0095, 0.0198, 0), SlowPattern::growing);
  EXPECT_EQ(pattern(30, 0.0095, 0.0194, 0), SlowPattern::steady);
}

TEST(StragglerDetector, equal_ranks_have_no_straggler) {
  StragglerTest any;
  any.slow_min = 0;
  EXPECT_TRUE(find_stragglers(table_of(8, 60, [](int, int) { return 1.0; }), any).slow.empty());
  EXPECT_TRUE(find_stragglers({}).slow.empty());
}

// 16 ranks, four per host, two hosts per leaf. Those in `slow` are 8 % slow.
std::vector<std::string> shared_by(const std::vector<int>& slow) {
  StepTimes times = table_of(
      16, 120, [&](int r, int) { return std::ranges::find(slow, r) != slow.end() ? 1.08 : 1.0; });
  for (std::size_t r = 0; r < 16; ++r) {
    times.ranks[r].host = "h" + std::to_string(r / 4);
    times.ranks[r].leaf = "l" + std::to_string(r / 8);
  }
  std::vector<std::string> shared;
  for (const Straggler& s : find_stragglers(times).slow) {
    shared.push_back(s.shared);
    const bool is_host = s.shared.starts_with("host");
    EXPECT_EQ(s.layer, s.shared.empty() ? SlowLayer::gpu_clock
                       : is_host        ? SlowLayer::host_input
                                        : SlowLayer::fabric);
  }
  return shared;
}

TEST(StragglerDetector, slowdown_shared_by_most_of_a_group_is_the_groups) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(shared_by({0, 1, 2}), Names(3, "host h0")) << "three of four";
  EXPECT_EQ(shared_by({0, 1}), Names(2, ""));
  EXPECT_EQ(shared_by({4, 5, 6, 7}), Names(4, "host h1"));
  EXPECT_EQ(shared_by({2, 6, 10}), Names(3, "rail 2"));
  EXPECT_EQ(shared_by({2, 6, 10, 14}), Names(4, "rail 2"));
  EXPECT_EQ(shared_by({0, 1, 2, 4, 5, 6}), Names(6, "leaf l0")) << "six of eight";
  EXPECT_EQ(shared_by({7}), Names(1, ""));
}

}  // namespace
}  // namespace orrery::failure
