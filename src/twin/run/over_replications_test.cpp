// The mean over replications, and the interval that contains eight in ten of them.
#include "twin/run/over_replications.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::run {

namespace {

TEST(OverReplications, an_estimate_is_the_mean_with_its_middle_eighty_percent) {
  std::vector<Replication> done(3);
  done[0].events = 1, done[1].events = 2, done[2].events = 6;
  const OverReplications over(done);
  const auto events = [](const Replication& r) { return static_cast<double>(r.events); };
  const Estimate e = over.estimate(events);
  EXPECT_DOUBLE_EQ(e.value, 3);
  EXPECT_DOUBLE_EQ(e.low, 1.2);
  EXPECT_DOUBLE_EQ(e.high, 5.2);
  // The interval always includes the mean.
  std::vector<Replication> skewed(21);
  skewed.back().events = 210;
  const Estimate s = OverReplications(skewed).estimate(events);
  EXPECT_DOUBLE_EQ(s.value, 10);
  EXPECT_DOUBLE_EQ(s.high, 10);
  EXPECT_DOUBLE_EQ(s.low, 0);
}

}  // namespace
}  // namespace orrery::run
