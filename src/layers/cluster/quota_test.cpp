#include "layers/cluster/quota.h"

#include <gtest/gtest.h>

#include <vector>

#include "layers/cluster/profile.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/rack_meters.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

TEST(Quota, guarantee_borrow_wait_never) {
  std::vector<QuotaState> cohort = {{"a", 64, 32, 60}, {"b", 64, 0, 0}};
  EXPECT_EQ(check_quota(cohort, 0, 4), QuotaVerdict::within);
  EXPECT_EQ(check_quota(cohort, 0, 8), QuotaVerdict::borrows);
  EXPECT_EQ(check_quota(cohort, 0, 40), QuotaVerdict::must_wait);  // 100 > 64 + 32
  EXPECT_EQ(check_quota(cohort, 0, 97), QuotaVerdict::never);
  cohort[1].used = 64;  // b uses its guarantee: nothing to borrow
  EXPECT_EQ(check_quota(cohort, 0, 8), QuotaVerdict::must_wait);
  EXPECT_EQ(check_quota(cohort, 1, 65), QuotaVerdict::never);
}

// A group may use its guarantee and what it may borrow from the cohort, to the last GPU.
TEST(Quota, quota_is_used_to_the_last_gpu) {
  QuotaGate gate;
  const int a = gate.add_group(0, {.tenant = "a", .guaranteed = 10, .may_borrow = 3});
  const int b = gate.add_group(0, {.tenant = "b", .guaranteed = 5});
  const int c = gate.add_group(1, {.tenant = "c", .guaranteed = 4});
  EXPECT_TRUE(gate.could_admit(a, 13));
  EXPECT_FALSE(gate.could_admit(a, 14));
  EXPECT_TRUE(gate.could_admit(b, 5));
  EXPECT_FALSE(gate.could_admit(b, 6));
  EXPECT_EQ(gate.limits(), 5u);
  QueuedJob job{.ask = {.gpus = 3}};
  job.group = static_cast<std::uint16_t>(b);
  gate.started(job);
  std::vector<double> left;
  gate.add_left(left);
  EXPECT_EQ(left, (std::vector<double>{12, 4, 13, 2, 4}));
  EXPECT_TRUE(gate.could_admit(b, 5)) << "with no other job";
  QueuedJob wide{.ask = {.gpus = 12}};
  wide.group = static_cast<std::uint16_t>(a);
  EXPECT_TRUE(gate.admits(wide));
  wide.ask.gpus = 13;
  EXPECT_FALSE(gate.admits(wide)) << "b has 3 of the 15";
  gate.ended(job);
  EXPECT_TRUE(gate.admits(wide));
  EXPECT_EQ(c, 2);
  const int none = gate.add_group(2, {.tenant = "none"});
  EXPECT_FALSE(gate.could_admit(none, 1));
}

}  // namespace
}  // namespace orrery::cluster
