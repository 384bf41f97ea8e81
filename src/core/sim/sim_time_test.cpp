#include "core/sim/sim_time.h"

#include <gtest/gtest.h>

#include "core/sim/kernel.h"

namespace orrery::sim {
namespace {

TEST(SimTime, times_saturate_at_the_end_of_the_range) {
  EXPECT_EQ(SimTime::from(Seconds(-1)).ns(), 0);
  EXPECT_EQ(SimTime::from(Seconds(1.6e-9)).ns(), 2);
  EXPECT_EQ(SimTime::from(Seconds(0.4e-9)).ns(), 0);
  EXPECT_TRUE(SimTime::from(Seconds(9.2e9)).is_never());
  EXPECT_FALSE(SimTime::from(Seconds(9.1e9)).is_never());
  EXPECT_EQ(SimTime::nanoseconds(3).after(Seconds(4e-9)).ns(), 7);
  const SimTime late = SimTime::nanoseconds(SimTime::never().ns() - 5);
  EXPECT_EQ(late.after(Seconds(4e-9)).ns(), SimTime::never().ns() - 1);
  EXPECT_TRUE(late.after(Seconds(5e-9)).is_never());
  EXPECT_TRUE(late.after(Seconds(6e-9)).is_never());
  EXPECT_TRUE((SimTime::never() + SimTime::nanoseconds(1)).is_never());
  EXPECT_EQ((SimTime::nanoseconds(9) - SimTime::nanoseconds(4)).ns(), 5);
  EXPECT_DOUBLE_EQ(SimTime::nanoseconds(1'500'000'000).seconds().base(), 1.5);
}

}  // namespace
}  // namespace orrery::sim
