#include "layers/traffic/autoscaler.h"

#include <gtest/gtest.h>

namespace orrery::traffic {
namespace {

TEST(Autoscale, replicas_are_added_once_the_load_seen_is_old_enough) {
  AutoscalePolicy policy({.target = 10, .lag = 30, .hold = 60, .least = 1, .most = 9}, 2);
  EXPECT_EQ(policy.look(15, 35), 2) << "nothing is known yet";
  EXPECT_EQ(policy.look(30, 35), 2);
  EXPECT_EQ(policy.look(45, 35), 4) << "35 in flight at 15 s";
  EXPECT_EQ(policy.look(60, 900), 4);
  EXPECT_EQ(policy.look(90, 900), 9) << "as many as there may be";
}

TEST(Autoscale, replicas_are_removed_only_after_the_hold) {
  AutoscalePolicy policy({.target = 10, .lag = 0, .hold = 60, .least = 2, .most = 9}, 5);
  EXPECT_EQ(policy.look(15, 45), 5);
  EXPECT_EQ(policy.look(30, 21), 5);
  EXPECT_EQ(policy.look(75, 5), 5) << "five were wanted 60 s ago";
  EXPECT_EQ(policy.look(90, 5), 3) << "the 21 of the second 30 are left";
  EXPECT_EQ(policy.look(91, 5), 2);
}

TEST(Autoscale, exactly_met_target_adds_no_replica) {
  AutoscalePolicy policy({.target = 0.1, .lag = 0, .hold = 0, .least = 1, .most = 9}, 1);
  EXPECT_EQ(policy.look(15, 0.3), 3);
  EXPECT_EQ(policy.look(30, 0.329), 3) << "within a tenth";
  EXPECT_EQ(policy.look(45, 0.331), 4);
  EXPECT_EQ(policy.look(60, 0.361), 4) << "within a tenth";
  EXPECT_EQ(policy.look(75, 0), 1);
}

}  // namespace
}  // namespace orrery::traffic
