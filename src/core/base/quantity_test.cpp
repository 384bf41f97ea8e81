#include "core/base/quantity.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Quantity, quantities_compute_like_numbers) {
  Seconds t(7);
  t += Seconds(5);
  EXPECT_EQ(t.base(), 12);
  t -= Seconds(2);
  EXPECT_EQ(t.base(), 10);
  t *= 3;
  EXPECT_EQ(t.base(), 30);
  t /= 4;
  EXPECT_EQ(t.base(), 7.5);
  EXPECT_EQ((-t).base(), -7.5);
  EXPECT_EQ((t + t - Seconds(1)).base(), 14);
  EXPECT_EQ((2 * t).base(), 15);
  EXPECT_EQ((t / 5).base(), 1.5);
  EXPECT_EQ((15 / t).base(), 2);
  EXPECT_EQ(Seconds().base(), 0);
  EXPECT_EQ(min(Seconds(2), Seconds(3)), Seconds(2));
  EXPECT_EQ(min(Seconds(3), Seconds(2)), Seconds(2));
  EXPECT_EQ(max(Seconds(2), Seconds(3)), Seconds(3));
  EXPECT_EQ(max(Seconds(3), Seconds(2)), Seconds(3));
}

}  // namespace
}  // namespace orrery
