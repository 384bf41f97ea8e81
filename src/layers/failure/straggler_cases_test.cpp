// The straggler detector on tables made by hand, its figures worked out beside it (exact sums in
// another program for the two bounds and the correlation).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

// Steps of one second each, but for what `at` says of rank and step.
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

TEST(StragglerCases, bounds_by_hand) {
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

// Rank 5 of 16 is always the last by 6 %: u = 15.5/16 each time, so nothing wanders and all 20
// steps count.
TEST(StragglerCases, a_steady_rank) {
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

TEST(StragglerCases, slow_is_two_per_cent_and_a_burst_ten) {
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

TEST(StragglerCases, five_measurements_are_needed) {
  EXPECT_EQ(find_stragglers(one_slow(16, 5, 3, 1.5)).slow.size(), 1u);
  EXPECT_TRUE(find_stragglers(one_slow(16, 4, 3, 1.5)).slow.empty());
  EXPECT_EQ(find_stragglers(one_slow(16, 4, 3, 1.5)).steps, 4u);
  // Measured in few of many steps: not judged, whatever it shows there.
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
TEST(StragglerCases, steps_that_resemble_their_neighbours_count_less) {
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
TEST(StragglerCases, bursts_count_less_likewise) {
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

// The last third against the first: more than twice, and more than one per cent on top.
TEST(StragglerCases, growth_is_twice_as_slow_at_the_end) {
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

TEST(StragglerCases, equals_are_nobody_s_fault) {
  StragglerTest any;
  any.slow_min = 0;
  EXPECT_TRUE(find_stragglers(table_of(8, 60, [](int, int) { return 1.0; }), any).slow.empty());
  EXPECT_TRUE(find_stragglers({}).slow.empty());
  const StragglerReport none;
  EXPECT_EQ(none.ranks + none.steps, 0u);
  EXPECT_EQ(none.step_cost, 0);
  EXPECT_EQ(none.steps_effective, 0);
}

// 16 ranks, four a host, two hosts a leaf. Those of `slow` are 8 % slow.
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

TEST(StragglerCases, what_most_of_a_group_share_is_the_group_s) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(shared_by({0, 1, 2}), Names(3, "host h0")) << "three of four";
  EXPECT_EQ(shared_by({0, 1}), Names(2, ""));
  EXPECT_EQ(shared_by({4, 5, 6, 7}), Names(4, "host h1"));
  EXPECT_EQ(shared_by({2, 6, 10}), Names(3, "rail 2"));
  EXPECT_EQ(shared_by({2, 6, 10, 14}), Names(4, "rail 2"));
  EXPECT_EQ(shared_by({0, 1, 2, 4, 5, 6}), Names(6, "leaf l0")) << "six of eight";
  EXPECT_EQ(shared_by({7}), Names(1, ""));
}

TEST(StragglerCases, names) {
  EXPECT_STREQ(to_text(SlowPattern::steady), "steady");
  EXPECT_STREQ(to_text(SlowPattern::growing), "growing");
  EXPECT_STREQ(to_text(SlowPattern::bursts), "bursts");
  EXPECT_STREQ(to_text(SlowLayer::gpu_clock), "GPU clock");
  EXPECT_STREQ(to_text(SlowLayer::thermal), "GPU or memory heat");
  EXPECT_STREQ(to_text(SlowLayer::host_input), "host or input");
  EXPECT_STREQ(to_text(SlowLayer::link), "NIC or its link");
  EXPECT_STREQ(to_text(SlowLayer::fabric), "fabric");
}

}  // namespace
}  // namespace orrery::failure
