#include "cluster/fair_use.h"

#include <gtest/gtest.h>

namespace orrery::cluster {
namespace {

sim::SimTime at(Seconds s) { return sim::SimTime::from(s); }

TEST(FairUse, who_used_less_of_its_share_comes_first_and_use_fades) {
  FairUse fair;
  const std::size_t a = fair.add_user({.account = "a", .user = "x"});
  const std::size_t b = fair.add_user({.account = "b", .user = "y"});
  EXPECT_EQ(fair.factor(a), fair.factor(b));
  fair.add_use(a, 1000);
  fair.add_use(b, 600);
  fair.settle(at(seconds(300)));
  EXPECT_LT(fair.factor(a), fair.factor(b));
  // Two half-lives later a quarter is left of a's, and b has just used more.
  fair.add_use(b, 0);
  fair.settle(at(days(14)));
  fair.add_use(b, 200);
  fair.settle(at(days(14)));
  EXPECT_GT(fair.factor(a), fair.factor(b));
}

}  // namespace
}  // namespace orrery::cluster
