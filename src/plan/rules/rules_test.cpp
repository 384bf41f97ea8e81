#include "plan/rules/rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/review/lab_fixture.h"

namespace orrery::rules {
namespace {

TEST(Rules, errors_come_first) {
  design::Design d = review::lab_design("superpod-h100");
  d.sites[0].power = megawatts(1);
  d.fabric.storage.converged = true;
  const auto findings = check_rules(review::reviewed(d));
  ASSERT_GE(findings.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(findings, {}, &Finding::severity));
  EXPECT_EQ(findings[0].rule, "facility.power-above-site");
}

}  // namespace
}  // namespace orrery::rules
