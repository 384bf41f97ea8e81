#include "layers/failure/recovery_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/failure/recovery.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

sim::SimTime at_second(double s) { return sim::SimTime::from(seconds(s)); }

TEST(RecoveryDesk, spare_is_called_and_the_job_released) {
  RecoveryDesk desk(100);
  desk.job_runs(at_second(0), "a");
  const auto down = desk.host_down(at_second(100), 7, "a", 103);
  EXPECT_THAT(down.spares, ElementsAre(103));
  EXPECT_THAT(down.lemons, IsEmpty());
  EXPECT_FALSE(down.is_released) << "it still ends there";
  const auto waits = desk.job_waits(at_second(110), "a");
  EXPECT_TRUE(waits.is_released);
  EXPECT_THAT(waits.spares, IsEmpty());
  desk.job_runs(at_second(120), "a");
  EXPECT_EQ(desk.looks(), 5u);
  const auto back = desk.host_back(at_second(5000), 7);
  EXPECT_THAT(back.lemons, IsEmpty());
  EXPECT_EQ(desk.looks(), 6u);
  EXPECT_TRUE(RecoveryDesk::Call{}.is_released);
}

// A run that ends without any host seen down is released too.
TEST(RecoveryDesk, job_that_ended_by_itself_is_released) {
  RecoveryDesk desk(100);
  desk.job_runs(at_second(0), "a");
  EXPECT_TRUE(desk.job_waits(at_second(50), "a").is_released);
}

// After 30 days of 100 hosts without a fault, the third failure within an hour has odds of 0.01523
// x 1000 e^-0.15 = 13: above ten.
TEST(RecoveryDesk, host_that_fails_repeatedly_returns_as_a_lemon) {
  RecoveryDesk desk(100);
  desk.job_runs(at_second(0), "a");
  for (int k = 0; k < 3; ++k) {
    const double t = 30 * 86'400 + 1000 * k;
    desk.host_down(at_second(t), 42, "", -1);
    const std::uint64_t looks = desk.looks();
    const auto back = desk.host_back(at_second(t + 500), 42);
    if (k < 2) {
      EXPECT_THAT(back.lemons, IsEmpty()) << k;
      EXPECT_EQ(desk.looks(), looks + 1);
    } else {
      EXPECT_THAT(back.lemons, ElementsAre(42));
      EXPECT_EQ(desk.looks(), looks + 2);
    }
  }
}

// Four runs in a row that each bring down another host: the job is held, and judged from scratch
// once an operator has released it.
TEST(RecoveryDesk, job_that_breaks_hosts_is_held) {
  RecoveryDesk desk(100);
  for (int k = 0; k < 4; ++k) {
    const double t = 1000 * k;
    desk.job_runs(at_second(t), "a");
    desk.host_down(at_second(t + 60), k, "a", -1);
    EXPECT_EQ(desk.job_waits(at_second(t + 70), "a").is_released, k < 3) << k;
  }
  desk.job_runs(at_second(5000), "a");
  desk.host_down(at_second(5060), 50, "a", -1);
  EXPECT_TRUE(desk.job_waits(at_second(5070), "a").is_released);
}

sim::SimTime small_s(std::int64_t s) { return sim::SimTime::nanoseconds(s * 1'000'000'000); }

TEST(RecoveryDesk, desk_looks_once_per_job_and_twice_per_host) {
  RecoveryDesk desk(10);
  EXPECT_EQ(desk.looks(), 0u);
  desk.job_runs(small_s(10), "a");
  EXPECT_EQ(desk.looks(), 1u);
  desk.host_down(small_s(20), 3, "a", -1);
  EXPECT_EQ(desk.looks(), 3u);
  desk.job_waits(small_s(21), "a");
  EXPECT_EQ(desk.looks(), 4u);
  const RecoveryDesk::Call back = desk.host_back(small_s(4000), 3);
  EXPECT_EQ(desk.looks(), back.lemons.empty() ? 5u : 6u);
}

}  // namespace
}  // namespace orrery::failure
