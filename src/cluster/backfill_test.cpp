#include "cluster/backfill.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery::cluster {
namespace {

// 10 nodes: 4 run until t=100, 3 until t=50, 3 are free; the head needs 8.
const RunningEnd kRunning[] = {{seconds(100), 4}, {seconds(50), 3}};

TEST(Backfill, ShadowByHand) {
  const Shadow s = shadow_of(kRunning, 3, 8, seconds(0));
  EXPECT_TRUE(s.reachable);
  EXPECT_EQ(s.time, seconds(100));
  EXPECT_EQ(s.surplus, 2);
}

TEST(Backfill, EasyLetsPassWhatEndsInTimeOrFitsTheSurplus) {
  const Shadow s = shadow_of(kRunning, 3, 8, seconds(0));
  EXPECT_TRUE(may_backfill({.nodes = 3, .limit = seconds(100)}, 3, s, seconds(0)));
  EXPECT_FALSE(may_backfill({.nodes = 3, .limit = seconds(101)}, 3, s, seconds(0)));
  EXPECT_TRUE(may_backfill({.nodes = 2, .limit = hours(9)}, 3, s, seconds(0)));
  EXPECT_FALSE(may_backfill({.nodes = 4, .limit = seconds(1)}, 3, s, seconds(0)));
}

TEST(Backfill, JobsThatEndTogetherCountTogether) {
  const RunningEnd ends[] = {{seconds(50), 3}, {seconds(50), 4}};
  const Shadow s = shadow_of(ends, 3, 5, seconds(0));
  EXPECT_EQ(s.time, seconds(50));
  EXPECT_EQ(s.surplus, 5);
}

TEST(Backfill, AHeadThatFitsOrNeverWill) {
  EXPECT_EQ(shadow_of(kRunning, 9, 8, seconds(7)).time, seconds(7));
  const Shadow never = shadow_of(kRunning, 3, 11, seconds(0));
  EXPECT_FALSE(never.reachable);
  EXPECT_TRUE(may_backfill({.nodes = 1, .limit = hours(9)}, 3, never, seconds(0)));
}

TEST(Backfill, EveryVariantHasANameAndRules) {
  for (const auto v :
       {BackfillVariant::fifo, BackfillVariant::easy_counted, BackfillVariant::easy_reserved,
        BackfillVariant::conservative, BackfillVariant::slurm_periodic}) {
    EXPECT_FALSE(std::string(to_text(v)).empty());
    EXPECT_GT(std::string(rules_of(v)).size(), 20u);
  }
}

}  // namespace
}  // namespace orrery::cluster
