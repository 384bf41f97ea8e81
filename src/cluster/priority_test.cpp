#include "cluster/priority.h"

#include <gtest/gtest.h>

namespace orrery::cluster {
namespace {

TEST(Priority, WeightedSum) {
  const double p =
      job_priority({.age = 0.5, .fair_share = 0.25, .size = 1, .partition = 0, .qos = 1},
                   {.age = 1000, .fair_share = 10000, .size = 0, .partition = 5, .qos = 2000});
  EXPECT_DOUBLE_EQ(p, 500 + 2500 + 2000);
}

TEST(Priority, AgeFillsUpAndStops) {
  EXPECT_DOUBLE_EQ(age_factor(days(3.5), days(7)), 0.5);
  EXPECT_EQ(age_factor(days(30), days(7)), 1);
  EXPECT_DOUBLE_EQ(size_factor(32, 128), 0.25);
}

// Slurm's documentation: use equal to the share gives 0.5, none gives 1, twice the share 0.25.
TEST(Priority, ClassicFairShare) {
  EXPECT_EQ(classic_fair_share(0, 0.2), 1);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.2, 0.2), 0.5);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.4, 0.2), 0.25);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.4, 0.2, 2), 0.5);
  EXPECT_EQ(classic_fair_share(0.1, 0), 0);
}

TEST(Priority, UseHalvesInAHalfLife) { EXPECT_DOUBLE_EQ(decayed_use(800, days(14), days(7)), 200); }

TEST(Priority, ABetterAccountAlwaysComesFirst) {
  // Account a has used a tenth of what b has; its heaviest user still comes before b's lightest.
  const std::vector<FairUser> users = {{"a", "heavy", 1, 1, 9},
                                       {"a", "light", 1, 1, 1},
                                       {"b", "heavy", 1, 1, 99},
                                       {"b", "light", 1, 1, 1}};
  const std::vector<double> f = fair_tree(users);
  EXPECT_EQ(f, (std::vector<double>{0.75, 1, 0.25, 0.5}));
}

TEST(Priority, EqualsShareARank) {
  const std::vector<FairUser> users = {{"a", "x", 1, 1, 0}, {"b", "y", 1, 1, 0}};
  EXPECT_EQ(fair_tree(users), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace orrery::cluster
