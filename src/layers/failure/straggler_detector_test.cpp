#include "layers/failure/straggler_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/random.h"

namespace orrery::failure {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr int kHostRanks = 8;

// Noise as a factor on a step of one second.
using Noise = std::function<double(RandomStream&)>;

double calm(RandomStream& r) { return 1 + 0.01 * r.normal(); }
// Pareto with an infinite variance on top: a few steps many times as long.
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

// Steps that resemble their neighbours: each rank wanders with a correlation of 0.8.
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

// The stated rate is 1 % per run. Of 400 healthy runs 4 may alarm; 11 or more has a chance of 0.3
// %.
TEST(StragglerDetector, the_false_positive_rate_holds_for_any_distribution) {
  constexpr int kRuns = 400;
  for (const Noise& noise : {Noise(calm), Noise(heavy), Noise(lognormal)}) {
    EXPECT_LE(false_alarms(kRuns, [&](RandomStream& r) { return healthy(64, 60, r, noise); }), 10);
  }
  EXPECT_LE(false_alarms(kRuns, [](RandomStream& r) { return healthy(4, 200, r, heavy); }), 10);
}

TEST(StragglerDetector, and_for_steps_that_resemble_their_neighbours) {
  EXPECT_LE(false_alarms(200, [](RandomStream& r) { return wandering(32, 200, r); }), 6);
}

// Ranks that differ by less than slow_min are as good as equal, over however many steps.
TEST(StragglerDetector, a_difference_below_the_threshold_is_none) {
  RandomStream random(7, "stragglers/small");
  StepTimes times = healthy(32, 3000, random, calm);
  slow_down(times, 3, 1.015);
  EXPECT_THAT(find_stragglers(times).slow, IsEmpty());
}

// Power: a rank 5 % slow under 1 % noise is found within 10 steps among 512, 20 runs of 20.
TEST(StragglerDetector, a_rank_five_percent_slow_is_found_in_ten_steps) {
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
  // All equal: no order, no alarm.
  EXPECT_THAT(find_stragglers(healthy(8, 50, random, [](RandomStream&) { return 1.0; })).slow,
              IsEmpty());
}

// By hand: all of 3 steps at u = 3/4 has the exponent of the tilted uniform a = 3.5935,
// I = 0.4086; and a fair coin that shows heads 8 times of 10 has KL(0.8, 0.5) = 0.1927.
TEST(StragglerDetector, the_bounds_are_those_of_the_page) {
  EXPECT_NEAR(log_uniform_mean_bound(3, 0.75) / 3, -0.4086, 5e-4);
  EXPECT_NEAR(log_binomial_bound(10, 0.8, 0.5), -1.927, 1e-3);
  EXPECT_EQ(log_uniform_mean_bound(10, 0.4), 0);
  EXPECT_EQ(log_binomial_bound(10, 0.1, 0.5), 0);
  // A bound, so never below the true chance: mean of two uniforms above 0.9 is 2 * 0.1^2 = 0.02.
  EXPECT_GE(std::exp(log_uniform_mean_bound(2, 0.9)), 0.02);
}

}  // namespace
}  // namespace orrery::failure
