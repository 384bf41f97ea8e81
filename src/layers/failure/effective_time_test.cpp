#include "layers/failure/effective_time.h"

#include <gtest/gtest.h>

#include <limits>

#include "layers/failure/interval.h"
#include "layers/failure/lemon.h"
#include "layers/failure/setbacks.h"
#include "layers/failure/spares.h"

namespace orrery::failure {
namespace {

double at_young(double mtbf_min, double stall_min, double restart_min) {
  const Seconds mtbf = minutes(mtbf_min);
  const Seconds stall = minutes(stall_min);
  return exact_efficiency({.interval = young_interval(stall, mtbf),
                           .save_stall = stall,
                           .mtbf = mtbf,
                           .restart = minutes(restart_min),
                           .queue = {},
                           .unsafe_window = {}});
}

// Llama 3 (arXiv 2407.21783) had 3.09 h between unexpected interruptions and reports more than 90 %
// effective time; a stall of 0.2 min and a restart of 5 min are guesses. The other figures are the
// worked example of docs/models/failure.md: 16k GPUs at 1.8 h, 131k GPUs at 0.23 h.
TEST(EffectiveTime, worked_check_at_scale) {
  EXPECT_NEAR(at_young(185, 0.2, 5), 0.92877, 1e-5);
  EXPECT_NEAR(at_young(1.8 * 60, 0.2, 5), 0.89782, 1e-5);
  EXPECT_NEAR(at_young(1.8 * 60, 0.2, 0.5), 0.93602, 1e-5);
  EXPECT_NEAR(at_young(0.23 * 60, 0.2, 5), 0.58403, 1e-5);
  EXPECT_NEAR(at_young(0.23 * 60, 0.2, 0.5), 0.80919, 1e-5);
}

EffectiveTimeInput llama3(Seconds restart) {
  return {.interval = minutes(10),
          .save_stall = seconds(3),
          .mtbf = hours(2.78),
          .restart = restart,
          .queue = {},
          .unsafe_window = {}};
}

TEST(EffectiveTime, first_order_form_holds_for_rare_failures) {
  EffectiveTimeInput in = llama3(minutes(1));
  in.mtbf = days(30);
  // To the first order: 1 - C/tau - (tau/2 + R)/M (Kokolis et al., arXiv 2410.21680).
  const double lost = (in.interval / 2 + in.restart + in.queue + in.unsafe_window) / in.mtbf;
  EXPECT_NEAR(exact_efficiency(in), 1 - in.save_stall / in.interval - lost, 1e-4);
}

TEST(EffectiveTime, falls_with_restart_stall_queue_and_window) {
  const EffectiveTimeInput base = llama3(minutes(5));
  EffectiveTimeInput worse = base;
  worse.restart = minutes(10);
  EXPECT_LT(exact_efficiency(worse), exact_efficiency(base));
  worse = base;
  worse.queue = minutes(10);
  EXPECT_LT(exact_efficiency(worse), exact_efficiency(base));
  worse = base;
  worse.save_stall = minutes(1);
  EXPECT_LT(exact_efficiency(worse), exact_efficiency(base));
  worse = base;
  worse.unsafe_window = minutes(1);
  EXPECT_LT(exact_efficiency(worse), exact_efficiency(base));
  worse = base;
  worse.mtbf = hours(1);
  EXPECT_LT(exact_efficiency(worse), exact_efficiency(base));
}

TEST(EffectiveTime, shares_sum_to_one) {
  const TimeShares s = time_shares(llama3(minutes(10)));
  EXPECT_NEAR(s.productive + s.saving + s.lost_work + s.restarting, 1, 1e-12);
  EXPECT_GT(s.restarting, s.saving);
}

TEST(EffectiveTime, nothing_is_productive_without_work_between_saves) {
  EffectiveTimeInput in = llama3(minutes(1));
  in.interval = Seconds(0);
  EXPECT_EQ(exact_efficiency(in), 0);
  EXPECT_EQ(time_shares(in).productive, 0);
}

// M e^(960/36000) (e^(1860/36000) - 1) for 1800 s of work: 0.9181439914773812. First-order losses:
// 60/1800, (900 + 240)/36000 and (600 + 120)/36000, 0.085 in total, scaled to the missing share.
TEST(EffectiveTime, losses_are_scaled_to_the_missing_time) {
  const EffectiveTimeInput in{.interval = seconds(1800),
                              .save_stall = seconds(60),
                              .mtbf = seconds(36'000),
                              .restart = seconds(600),
                              .queue = seconds(120),
                              .unsafe_window = seconds(240)};
  constexpr double kGood = 0.9181439914773812;
  EXPECT_NEAR(exact_efficiency(in), kGood, 1e-12);
  const TimeShares shares = time_shares(in);
  EXPECT_NEAR(shares.productive, kGood, 1e-12);
  EXPECT_NEAR(shares.saving, (1 - kGood) * (1.0 / 30) / 0.085, 1e-12);
  EXPECT_NEAR(shares.lost_work, (1 - kGood) * (1140.0 / 36'000) / 0.085, 1e-12);
  EXPECT_NEAR(shares.restarting, (1 - kGood) * 0.02 / 0.085, 1e-12);
}

TEST(EffectiveTime, shares_without_work_or_without_faults) {
  const TimeShares none = time_shares({.save_stall = seconds(60), .mtbf = seconds(36'000)});
  EXPECT_EQ(none.productive, 0);
  EXPECT_EQ(none.saving, 1);
  EXPECT_EQ(none.lost_work, 0);
  EXPECT_EQ(none.restarting, 0);
  const TimeShares all = time_shares(
      {.interval = seconds(100), .mtbf = Seconds(std::numeric_limits<double>::infinity())});
  EXPECT_EQ(all.productive, 1);
  EXPECT_EQ(all.saving, 0);
  EXPECT_EQ(all.lost_work, 0);
  const TimeShares rare = time_shares({.interval = seconds(90),
                                       .save_stall = seconds(10),
                                       .mtbf = Seconds(std::numeric_limits<double>::infinity())});
  EXPECT_DOUBLE_EQ(rare.productive, 0.9);
  EXPECT_DOUBLE_EQ(rare.saving, 0.1);
}

// The parts of the lost time have the same proportions as their first-order shares.
TEST(EffectiveTime, lost_time_is_split_by_its_cause) {
  const EffectiveTimeInput in{.interval = hours(1),
                              .save_stall = minutes(2),
                              .mtbf = hours(20),
                              .restart = minutes(12),
                              .queue = minutes(3),
                              .unsafe_window = minutes(10)};
  const TimeShares s = time_shares(in);
  EXPECT_NEAR(s.productive + s.saving + s.lost_work + s.restarting, 1, 1e-12);
  EXPECT_NEAR(s.lost_work / s.restarting, (30.0 + 10) / (12 + 3), 1e-9);
  EXPECT_NEAR(s.saving / s.restarting, (2.0 / 60) / (15.0 / (20 * 60)), 1e-9);
  // If nothing fails, only the saves cost time.
  EffectiveTimeInput never = in;
  never.mtbf = Seconds(INFINITY);
  EXPECT_NEAR(exact_efficiency(never), 60.0 / 62, 1e-12);
  const Seconds best = exact_interval(minutes(1), hours(10));
  EXPECT_EQ(choose_interval({.save_stall = minutes(1), .mtbf = hours(10), .drain = best}).limit,
            IntervalLimit::optimum)
      << "a drain as long as the optimum holds nothing up";
}

}  // namespace
}  // namespace orrery::failure
