#include "storage/retention.h"

#include <gtest/gtest.h>

namespace orrery::storage {
namespace {

// "70B hourly = about 24 TB/day" (field guide): 0.98 TB x 24.
TEST(Retention, SeventyBillionHourly) {
  const RetentionVolume v = retain(gigabytes(980), days(30),
                                   {.interval = hours(1),
                                    .newest_hot = 3,
                                    .warm_window = days(2),
                                    .warm_every = 1,
                                    .milestone = days(7)});
  EXPECT_NEAR(v.written_per_day / terabytes(1), 23.5, 0.05);
  EXPECT_EQ(v.saves, 720);
  EXPECT_NEAR(v.hot / terabytes(1), 0.98 * 4, 1e-9);
  EXPECT_NEAR(v.warm / terabytes(1), 0.98 * 48, 1e-9);
  EXPECT_NEAR(v.cold / terabytes(1), 0.98 * 5, 1e-9);
  EXPECT_NEAR(v.undeleted / terabytes(1), 705.6, 1e-6);
  EXPECT_LT(v.total, v.undeleted);
}

TEST(Retention, ThinningTheWindow) {
  RetentionPolicy policy{.interval = minutes(10),
                         .newest_hot = 2,
                         .warm_window = days(1),
                         .warm_every = 6,
                         .milestone = {}};
  const RetentionVolume v = retain(terabytes(1), days(10), policy);
  EXPECT_NEAR(v.warm / terabytes(1), 24, 1e-9);
  EXPECT_EQ(v.cold, Bytes(0));
  EXPECT_EQ(v.to_cold, BytesPerSecond(0));
  EXPECT_NEAR(v.to_warm / v.mean_write, 1.0 / 6, 1e-12);
}

TEST(Retention, AShortRunHoldsNoMoreThanItWrote) {
  const RetentionVolume v = retain(terabytes(1), hours(2),
                                   {.interval = hours(1),
                                    .newest_hot = 5,
                                    .warm_window = days(7),
                                    .warm_every = 1,
                                    .milestone = hours(1)});
  EXPECT_EQ(v.saves, 2);
  EXPECT_LE(v.warm, terabytes(2));
  EXPECT_LE(v.cold, terabytes(2));
  EXPECT_EQ(v.hot, terabytes(3));  // with the one in flight
}

}  // namespace
}  // namespace orrery::storage
