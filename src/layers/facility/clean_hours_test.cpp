#include "layers/facility/clean_hours.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "layers/facility/hours.h"

namespace orrery::facility {
namespace {

// 400 g/kWh but from nine to five, when the sun gives 100.
std::vector<GramsPerJoule> sunny_day() {
  std::vector<GramsPerJoule> day;
  for (int h = 0; h < 24; ++h) day.push_back(grams_per_kwh(h >= 9 && h < 17 ? 100 : 400));
  return day;
}

double start_h(double now_h, double takes_h, CleanRule rule) {
  const std::vector<GramsPerJoule> day = sunny_day();
  return clean_start(HourCurve(day), rule, hours(now_h), hours(takes_h)) / hours(1);
}

TEST(CleanHours, means_run_over_the_end_of_the_file) {
  const std::vector<GramsPerJoule> day = sunny_day();
  const HourCurve grid(day);
  const auto mean = [&](double from, double span) {
    return grid.mean(hours(from), hours(span)) / grams_per_kwh(1);
  };
  EXPECT_NEAR(grid.mean() / grams_per_kwh(1), (16 * 400 + 8 * 100) / 24.0, 1e-9);
  EXPECT_NEAR(mean(9, 8), 100, 1e-9);
  EXPECT_NEAR(mean(8.5, 1), 250, 1e-9);
  EXPECT_NEAR(mean(20, 24), 300, 1e-9);  // any whole day
  EXPECT_NEAR(mean(23, 11), (10 * 400 + 100) / 11.0, 1e-9);
  EXPECT_NEAR(mean(24 * 400 + 9, 1), 100, 1e-9);  // a year later
}

TEST(CleanHours, solved_by_hand) {
  const CleanRule half_day{.below = grams_per_kwh(200), .wait = hours(12)};
  EXPECT_EQ(start_h(10, 2, half_day), 10);  // it is clean now
  EXPECT_EQ(start_h(10.25, 2, half_day), 10.25);
  EXPECT_EQ(start_h(2.5, 2, half_day), 9);  // the first clean hour: 8 gives 250 of two hours
  EXPECT_EQ(start_h(2.5, 3, half_day), 8);  // of three hours one may be dirty: (400 + 200) / 3
  EXPECT_EQ(start_h(18, 2, half_day), 18);  // the next is 15 hours away: it does not wait
  EXPECT_EQ(start_h(21, 2, half_day), 33);  // 12 hours away, to the minute
  EXPECT_EQ(start_h(20.9, 2, half_day), 20.9);
  EXPECT_EQ(start_h(2.5, 16, half_day), 2.5);             // no sixteen hours are that clean
  EXPECT_EQ(start_h(2.5, 24, {.wait = hours(12)}), 2.5);  // a whole day is the mean of all
  EXPECT_EQ(start_h(2.5, 1, {.wait = hours(12)}), 9);     // below the mean of all, which is 300
  EXPECT_EQ(start_h(2.5, 1, {.below = grams_per_kwh(200), .wait = Seconds(0)}), 2.5);
}

// Of hours of coming 0 to 23, those from 17 to 20 do not wait 12 hours; 21 to 8 wait for nine.
TEST(CleanHours, of_work_that_comes_every_hour) {
  const std::vector<GramsPerJoule> day = sunny_day();
  const CleanRule rule{.below = grams_per_kwh(200), .wait = hours(12)};
  const CleanEffect e = effect_of(HourCurve(day), rule, hours(1), {hours(1), hours(1)});
  EXPECT_NEAR(e.held / hours(1), (12 + 11 + 10 + 9 * 10 / 2.0) / 24, 1e-9);
  EXPECT_NEAR(e.ratio(), (4 * 400 + 20 * 100) / (16 * 400 + 8 * 100.0), 1e-9);
  const CleanEffect once = effect_of(HourCurve(day), rule, Seconds(0), {hours(1), hours(1)});
  EXPECT_NEAR(once.held / hours(1), 9, 1e-9);
  EXPECT_NEAR(once.ratio(), 0.25, 1e-9);
}

// Whatever the hours: none waits longer than it may, who waits does so for a clean hour, and more
// patience never emits more.
TEST(CleanHours, laws) {
  RandomStream random(1, "clean hours");
  for (int round = 0; round < 300; ++round) {
    std::vector<GramsPerJoule> day;
    for (int h = 0; h < 24; ++h) day.push_back(grams_per_kwh(100 + 500 * random.uniform()));
    const HourCurve grid(day);
    const CleanRule rule{.below = grams_per_kwh(200 + 200 * random.uniform()),
                         .wait = hours(30 * random.uniform())};
    const Seconds now = hours(500 * random.uniform());
    const Seconds takes = hours(10 * random.uniform());
    const Seconds start = clean_start(grid, rule, now, takes);
    EXPECT_GE(start, now);
    EXPECT_LE(start, now + rule.wait);
    if (start > now) {
      EXPECT_LE(grid.mean(start, takes), *rule.below * (1 + 1e-8));
    }
    const Seconds later =
        clean_start(grid, {.below = rule.below, .wait = rule.wait * 2}, now, takes);
    EXPECT_TRUE(later == start || start == now);
  }
}

TEST(Hours, a_steady_draw_emits_the_mean_of_the_products) {
  Hours hours_of_two{.pue = {1.1, 1.5}, .carbon = {grams_per_kwh(100), grams_per_kwh(500)}};
  EXPECT_NEAR(mean_pue(hours_of_two), 1.3, 1e-12);
  EXPECT_NEAR(mean_grams(hours_of_two) / grams_per_kwh(1), (110 + 750) / 2.0, 1e-9);
  const std::vector<Joules> energy = {kwh(1), kwh(2), kwh(3)};  // the third hour is the first again
  EXPECT_NEAR(carbon_of(hours_of_two, energy).base(), 110 + 2 * 750 + 3 * 110, 1e-9);
}

}  // namespace
}  // namespace orrery::facility
