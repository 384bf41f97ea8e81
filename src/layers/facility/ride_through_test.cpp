#include "layers/facility/ride_through.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "layers/facility/clean_hours.h"
#include "layers/facility/cooling_loop.h"

namespace orrery::facility {
namespace {

TEST(RideThrough, batteries_carry_until_the_generator_does) {
  const BackupPower both{.battery = minutes(5), .generator = seconds(15)};
  const Outage long_one = live_through(both, hours(3), 1);
  EXPECT_FALSE(long_one.takes_hosts());
  EXPECT_EQ(long_one.cooled_from, seconds(15));
  EXPECT_EQ(live_through(both, seconds(4), 1).cooled_from, seconds(4));
}

TEST(RideThrough, without_generators_only_the_battery_carries) {
  const BackupPower battery{.battery = minutes(5)};
  EXPECT_FALSE(live_through(battery, minutes(4), 1).takes_hosts());
  const Outage o = live_through(battery, minutes(8), 1);
  EXPECT_EQ(o.dark_from, minutes(5));
  EXPECT_EQ(o.dark_to, minutes(8));
  // At half load the battery lasts twice as long.
  EXPECT_FALSE(live_through(battery, minutes(8), 0.5).takes_hosts());
  EXPECT_EQ(live_through({}, minutes(8), 1).dark_from, Seconds(0));
}

TEST(RideThrough, generators_without_batteries_leave_a_gap) {
  const Outage o = live_through({.generator = seconds(12)}, hours(1), 1);
  EXPECT_EQ(o.dark_from, Seconds(0));
  EXPECT_EQ(o.dark_to, seconds(12));
}

TEST(RideThrough, closed_form_equals_the_simulated_mean) {
  for (const BackupPower& backup :
       {BackupPower{}, BackupPower{.battery = minutes(5)}, BackupPower{.generator = minutes(2)},
        BackupPower{.battery = seconds(30), .generator = minutes(2)},
        BackupPower{.battery = minutes(5), .generator = minutes(2)}}) {
    RandomStream random(7, "outages");
    const Seconds mean = minutes(20);
    Seconds sum;
    constexpr int kMany = 200'000;
    for (int i = 0; i < kMany; ++i) {
      const Outage o = live_through(backup, Seconds(random.exponential(mean.base())), 0.8);
      sum += o.dark_to - o.dark_from;
    }
    const Seconds expected = dark_a_year(backup, 1, mean, 0.8);
    EXPECT_NEAR(sum.base() / kMany, expected.base(), 0.01 * mean.base());
  }
}

TEST(RideThrough, battery_lasts_longer_at_less_load) {
  const BackupPower battery{.battery = minutes(5)};
  const auto dark_from = [&](double load) {
    return live_through(battery, hours(10), load).dark_from / minutes(1);
  };
  EXPECT_NEAR(dark_from(0.8), 6.25, 1e-9);
  EXPECT_NEAR(dark_from(1.7), 5, 1e-9);
  EXPECT_NEAR(dark_from(0.05), 100, 1e-9);
  EXPECT_NEAR(dark_from(0.01), 100, 1e-9) << "no less than a twentieth";
  const Outage o = live_through({.battery = seconds(10), .generator = seconds(40)}, hours(1), 1);
  EXPECT_EQ(o.dark_from, seconds(10));
  EXPECT_EQ(o.dark_to, seconds(40));
  EXPECT_EQ(o.cooled_from, seconds(40));
  EXPECT_TRUE(o.takes_hosts());
}

// n d (e^(-ride/d) - e^(-end/d)), d half an hour.
TEST(RideThrough, outage_time_per_year) {
  const auto dark = [](const BackupPower& b, Seconds until = kWhole) {
    return dark_a_year(b, 3, minutes(30), 0.5, until) / minutes(1);
  };
  const auto beyond = [](double t) { return 90 * std::exp(-t / 30); };
  EXPECT_NEAR(dark({}), 90, 1e-9);
  EXPECT_NEAR(dark({.battery = minutes(4)}), beyond(8), 1e-9);
  EXPECT_NEAR(dark({.generator = minutes(20)}), beyond(0) - beyond(20), 1e-9);
  EXPECT_NEAR(dark({.battery = minutes(4), .generator = minutes(20)}), beyond(8) - beyond(20),
              1e-9);
  EXPECT_EQ(dark({.battery = minutes(4), .generator = minutes(8)}), 0);
  EXPECT_EQ(dark({.battery = minutes(4), .generator = minutes(5)}), 0);
  EXPECT_NEAR(dark({.battery = minutes(4)}, minutes(7)), beyond(8) - beyond(15), 1e-9);
  EXPECT_NEAR(dark({.battery = minutes(4), .generator = minutes(12)}, minutes(7)),
              beyond(8) - beyond(12), 1e-9);
  // Outages of centuries are cut at the end of the range.
  EXPECT_NEAR(dark_a_year({}, 1, years(500), 1) / years(1), 500, 1e-9);
}

}  // namespace
}  // namespace orrery::facility
