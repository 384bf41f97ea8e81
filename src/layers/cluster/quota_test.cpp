#include "layers/cluster/quota.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::cluster {
namespace {

TEST(Quota, GuaranteeBorrowWaitNever) {
  std::vector<QuotaState> cohort = {{"a", 64, 32, 60}, {"b", 64, 0, 0}};
  EXPECT_EQ(check_quota(cohort, 0, 4), QuotaVerdict::within);
  EXPECT_EQ(check_quota(cohort, 0, 8), QuotaVerdict::borrows);
  EXPECT_EQ(check_quota(cohort, 0, 40), QuotaVerdict::must_wait);  // 100 > 64 + 32
  EXPECT_EQ(check_quota(cohort, 0, 97), QuotaVerdict::never);
  cohort[1].used = 64;  // b's guarantee is in use: nothing to borrow
  EXPECT_EQ(check_quota(cohort, 0, 8), QuotaVerdict::must_wait);
  EXPECT_EQ(check_quota(cohort, 1, 65), QuotaVerdict::never);
}

}  // namespace
}  // namespace orrery::cluster
