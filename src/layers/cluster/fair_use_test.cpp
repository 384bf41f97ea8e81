#include "layers/cluster/fair_use.h"

#include <gtest/gtest.h>

#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/rack_meters.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

sim::SimTime at(Seconds s) { return sim::SimTime::from(s); }

TEST(FairUse, lower_usage_comes_first_and_usage_fades) {
  FairUse fair;
  const std::size_t a = fair.add_user({.account = "a", .user = "x"});
  const std::size_t b = fair.add_user({.account = "b", .user = "y"});
  EXPECT_EQ(fair.factor(a), fair.factor(b));
  fair.add_use(a, 1000);
  fair.add_use(b, 600);
  fair.settle(at(seconds(300)));
  EXPECT_LT(fair.factor(a), fair.factor(b));
  // Two half-lives later a quarter of a's use is left, and b has just used more.
  fair.add_use(b, 0);
  fair.settle(at(days(14)));
  fair.add_use(b, 200);
  fair.settle(at(days(14)));
  EXPECT_GT(fair.factor(a), fair.factor(b));
}

// Equal shares, use three to one: 2^(-0.75 / 0.5) and 2^(-0.25 / 0.5). Both decay alike, so time
// alone changes no rank.
TEST(FairUse, classic_factors_follow_what_was_used) {
  FairUse fair(catalog::FairShareBy::classic);
  const std::size_t a = fair.add_user({.account = "a", .user = "x"});
  const std::size_t b = fair.add_user({.account = "b", .user = "y"});
  fair.add_use(a, 3000);
  fair.add_use(b, 1000);
  for (const Seconds now : {seconds(300), days(7)}) {
    fair.settle(at(now));
    EXPECT_NEAR(fair.factor(a), 0.353553390593274, 1e-12);
    EXPECT_NEAR(fair.factor(b), 0.707106781186548, 1e-12);
  }
}

// Half is left after a week: 100 GPU-seconds then count as much as 50 now.
TEST(FairUse, usage_halves_in_a_week) {
  FairUse use(catalog::FairShareBy::classic);
  const std::size_t early = use.add_user({.account = "a", .user = "u"});
  const std::size_t late = use.add_user({.account = "b", .user = "v"});
  EXPECT_EQ(use.factor(early), 1);
  use.add_use(early, 100);
  use.settle(at_s(7 * 86'400));
  use.add_use(late, 50);
  use.settle(at_s(7 * 86'400));
  // Each has used half and owns half: 2^-1.
  EXPECT_DOUBLE_EQ(use.factor(early), 0.5);
  EXPECT_DOUBLE_EQ(use.factor(late), 0.5);
}

}  // namespace
}  // namespace orrery::cluster
