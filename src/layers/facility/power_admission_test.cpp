#include "layers/facility/power_admission.h"

#include <gtest/gtest.h>

namespace orrery::facility {
namespace {

// 100 kW at a PUE of 1.25 are 80 kW of IT; 20 are always drawn, so 60 are left for jobs.
TEST(PowerAdmission, admission_by_remaining_power) {
  PowerRoom room{.feed = kilowatts(100), .pue = 1.25, .always = kilowatts(20)};
  EXPECT_TRUE(admits(room, kilowatts(60)));
  EXPECT_FALSE(admits(room, kilowatts(60.1)));
  room.running = kilowatts(40);
  EXPECT_NEAR(room.left() / kilowatts(1), 20, 1e-9);
  EXPECT_TRUE(admits(room, kilowatts(20)));
  EXPECT_FALSE(admits(room, kilowatts(21)));
}

TEST(PowerAdmission, host_counts_above_idle) {
  EXPECT_NEAR(rise_of({.peak = kilowatts(8), .idle = kilowatts(2)}) / kilowatts(1), 6, 1e-12);
}

TEST(PowerAdmission, admission_up_to_the_remaining_power) {
  const PowerRoom room{
      .feed = kilowatts(90), .pue = 1.25, .always = kilowatts(11), .running = kilowatts(23)};
  EXPECT_NEAR(room.left() / kilowatts(1), 72 - 34, 1e-9);
  EXPECT_NEAR(admissible(room).base() - room.left().base(), 9e-5, 1e-9);
  EXPECT_TRUE(admits(room, admissible(room)));
  EXPECT_FALSE(admits(room, admissible(room) + watts(1e-3)));
}

}  // namespace
}  // namespace orrery::facility
