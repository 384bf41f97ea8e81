// If the clock is set forward, nothing is removed: lifecycle rules wait until a person could
// notice.
#include "live/upkeep/clock_watch.h"

#include <gtest/gtest.h>

namespace orrery::upkeep::clock_watch_tests {
namespace {

constexpr rows::TimeMs kHour = 3600'000;
constexpr rows::TimeMs kDay = 24 * kHour;
constexpr rows::TimeMs kNow = 1'700'000'000'000;

TEST(ClockWatch, rules_rest_for_a_day_after_the_clock_was_set_forward) {
  ClockWatch watch(kDay);
  EXPECT_FALSE(watch.begin(kNow, 1000, kNow - kHour));
  EXPECT_FALSE(watch.look(kNow + kHour, 1000 + kHour)) << "elapsed time is not a jump";
  EXPECT_FALSE(watch.rests(1000 + kHour));
  EXPECT_EQ(watch.look(kNow + 31 * kDay, 2000 + kHour), ClockChange::set_forward);
  EXPECT_FALSE(watch.look(kNow + 31 * kDay + 100, 2100 + kHour)) << "it is reported once";
  EXPECT_TRUE(watch.rests(kHour + kDay));
  EXPECT_FALSE(watch.rests(3000 + kHour + kDay));
}

TEST(ClockWatch, a_clock_that_is_set_right_again_ends_the_rest) {
  ClockWatch watch(kDay);
  watch.begin(kNow, 1000, 0);
  watch.look(kNow + 40 * kDay, 2000);
  watch.look(kNow + 400 * kDay, 3000);
  EXPECT_EQ(watch.look(kNow + 40 * kDay, 4000), ClockChange::set_back);
  EXPECT_TRUE(watch.rests(4000)) << "the clock is still ahead";
  EXPECT_EQ(watch.look(kNow + 4000, 5000), ClockChange::set_back);
  EXPECT_FALSE(watch.rests(5000));
}

TEST(ClockWatch, a_month_between_two_runs_is_doubted_and_a_week_is_not) {
  ClockWatch week(kDay);
  EXPECT_FALSE(week.begin(kNow, 1000, kNow - 7 * kDay));
  EXPECT_FALSE(week.rests(1000));
  ClockWatch month(kDay);
  EXPECT_EQ(month.begin(kNow, 1000, kNow - 31 * kDay), ClockChange::set_forward);
  EXPECT_TRUE(month.rests(1000));
  ClockWatch back(kDay);
  EXPECT_EQ(back.begin(kNow, 1000, kNow + 30 * kDay), ClockChange::set_back);
  EXPECT_FALSE(back.rests(1000)) << "nothing is removed early by a clock that is behind";
}

}  // namespace
}  // namespace orrery::upkeep::clock_watch_tests
