#include "layers/facility/clean_hours.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "layers/facility/cooling_loop.h"
#include "layers/facility/hours.h"

namespace orrery::facility {
namespace {

// 400 g/kWh except from nine to five, when solar power lowers it to 100.
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

TEST(CleanHours, cleanest_hours_of_a_day) {
  const CleanRule half_day{.below = grams_per_kwh(200), .wait = hours(12)};
  EXPECT_EQ(start_h(10, 2, half_day), 10);  // it is clean now
  EXPECT_EQ(start_h(10.25, 2, half_day), 10.25);
  EXPECT_EQ(start_h(2.5, 2, half_day), 9);  // the first clean hour: 8 gives 250 of two hours
  EXPECT_EQ(start_h(2.5, 3, half_day), 8);  // one of three hours may be dirty: (400 + 200) / 3
  EXPECT_EQ(start_h(18, 2, half_day), 18);  // the next is 15 hours away: it does not wait
  EXPECT_EQ(start_h(21, 2, half_day), 33);  // 12 hours away, to the minute
  EXPECT_EQ(start_h(20.9, 2, half_day), 20.9);
  // No sixteen hours in a row are that clean.
  EXPECT_EQ(start_h(2.5, 16, half_day), 2.5);
  EXPECT_EQ(start_h(2.5, 24, {.wait = hours(12)}), 2.5);  // a whole day has the mean of all hours
  // Must be below the mean of all hours, 300.
  EXPECT_EQ(start_h(2.5, 1, {.wait = hours(12)}), 9);
  EXPECT_EQ(start_h(2.5, 1, {.below = grams_per_kwh(200), .wait = Seconds(0)}), 2.5);
}

// Arrival hours 17 to 20 do not wait, as it would take over 12 hours; 21 to 8 wait for nine
// o'clock.
TEST(CleanHours, hourly_arriving_work) {
  const std::vector<GramsPerJoule> day = sunny_day();
  const CleanRule rule{.below = grams_per_kwh(200), .wait = hours(12)};
  const CleanEffect e = effect_of(HourCurve(day), rule, hours(1), {hours(1), hours(1)});
  EXPECT_NEAR(e.held / hours(1), (12 + 11 + 10 + 9 * 10 / 2.0) / 24, 1e-9);
  EXPECT_NEAR(e.ratio(), (4 * 400 + 20 * 100) / (16 * 400 + 8 * 100.0), 1e-9);
  const CleanEffect once = effect_of(HourCurve(day), rule, Seconds(0), {hours(1), hours(1)});
  EXPECT_NEAR(once.held / hours(1), 9, 1e-9);
  EXPECT_NEAR(once.ratio(), 0.25, 1e-9);
}

// Whatever the hours: no work waits longer than allowed, work that waits starts in a clean hour,
// and more patience never emits more.
TEST(CleanHours, shifting_never_increases_carbon) {
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

// Three hours of 100, 250 and 700 g/kWh, repeated.
HourCurve three_hours() {
  const std::vector<GramsPerJoule> by_hour = {grams_per_kwh(100), grams_per_kwh(250),
                                              grams_per_kwh(700)};
  return HourCurve(by_hour);
}

TEST(CleanHours, means_of_three_hours) {
  const HourCurve grid = three_hours();
  const auto mean = [&](double from, double span) {
    return grid.mean(hours(from), hours(span)) / grams_per_kwh(1);
  };
  EXPECT_NEAR(grid.period() / hours(1), 3, 1e-12);
  EXPECT_NEAR(grid.mean() / grams_per_kwh(1), 350, 1e-9);
  EXPECT_NEAR(mean(2, 1), 700, 1e-9);
  EXPECT_NEAR(mean(2.5, 1), 400, 1e-9);
  EXPECT_NEAR(mean(1.5, 1), 475, 1e-9);
  EXPECT_NEAR(mean(0.25, 0.5), 100, 1e-9);
  EXPECT_NEAR(mean(7, 2), 475, 1e-9);
  EXPECT_NEAR(mean(4.5, 0), 250, 1e-6) << "of no time, what the hour has";
  EXPECT_FALSE(grid.is_empty());
}

TEST(CleanHours, start_hours_of_a_rule) {
  const HourCurve grid = three_hours();
  const auto start = [&](double now, double takes, CleanRule rule) {
    return clean_start(grid, rule, hours(now), hours(takes)) / hours(1);
  };
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(100), .wait = hours(2)}), 3, 1e-12);
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(100), .wait = hours(1.5)}), 3, 1e-12);
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(100), .wait = hours(1.49)}), 1.5, 1e-12);
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(99), .wait = hours(90)}), 1.5, 1e-12);
  EXPECT_NEAR(start(1.75, 1, {.wait = hours(3)}), 3, 1e-12) << "the mean of all is 350";
  EXPECT_NEAR(start(1.5, 0.5, {.wait = hours(3)}), 1.5, 1e-12);
  const std::vector<GramsPerJoule> half_clean = {grams_per_kwh(5), GramsPerJoule()};
  EXPECT_EQ(clean_start(HourCurve(half_clean), {.below = GramsPerJoule(), .wait = hours(2)},
                        Seconds(), hours(1)),
            hours(1))
      << "at the bound is clean enough";
  EXPECT_EQ(clean_start(HourCurve({}), {.wait = hours(2)}, hours(5), hours(1)), hours(5));
}

// Work every seven hours; the first nine hours of a day are dirty (8), the rest clean (2). It
// arrives at 0, 7, 14 and 21; the first waits nine hours and the second two.
TEST(CleanHours, mean_effect_of_a_rule) {
  std::vector<GramsPerJoule> day(24, grams_per_kwh(2));
  for (std::size_t h = 0; h < 9; ++h) day[h] = grams_per_kwh(8);
  const HourCurve grid(day);
  const CleanRule rule{.below = grams_per_kwh(3), .wait = hours(10)};
  const CleanEffect e = effect_of(grid, rule, hours(7), {hours(1), hours(4)});
  EXPECT_NEAR(e.held / hours(1), 11 / 4.0, 1e-9);
  EXPECT_NEAR(e.with / grams_per_kwh(1), (2 + 2 + 2 + (3 * 2 + 8) / 4.0) / 4, 1e-9);
  EXPECT_NEAR(e.without / grams_per_kwh(1), (8 + (2 * 8 + 2 * 2) / 4.0 + 2 + 3.5) / 4, 1e-9);
  EXPECT_NEAR(e.ratio(), (6 + 3.5) / (8 + 5 + 2 + 3.5), 1e-9);
  const CleanEffect daily = effect_of(grid, rule, hours(24), {hours(1), hours(1)});
  EXPECT_NEAR(daily.held / hours(1), 9, 1e-9);
  EXPECT_NEAR(effect_of(grid, rule, hours(90), {hours(1), hours(1)}).held / hours(1), 9, 1e-9);
  EXPECT_EQ(effect_of(HourCurve({}), rule, hours(1), {}).ratio(), 1);
  EXPECT_EQ(effect_of(HourCurve({}), rule, hours(1), {}).held, Seconds());
}

}  // namespace
}  // namespace orrery::facility
