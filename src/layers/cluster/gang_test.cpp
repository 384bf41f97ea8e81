#include "layers/cluster/gang.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::cluster {
namespace {

TEST(Gang, fits_waits_or_never) {
  const std::vector<int> empty(8, 8);
  EXPECT_EQ(place_gang({.nodes = 8}, empty, 8).verdict, GangVerdict::fits);
  // "A job that gets 7 of 8 nodes waits forever": the fleet has no eighth node.
  const std::vector<int> seven(7, 8);
  const GangAnswer never = place_gang({.nodes = 8}, seven, 8);
  EXPECT_EQ(never.verdict, GangVerdict::never);
  EXPECT_EQ(never.nodes_short, 1);
  // With eight nodes of which one is busy it waits, and only until that one is free.
  std::vector<int> one_busy(8, 8);
  one_busy[3] = 0;
  EXPECT_EQ(place_gang({.nodes = 8}, one_busy, 8).verdict, GangVerdict::waits);
  EXPECT_EQ(place_gang({.nodes = 1, .gpus_per_node = 16}, empty, 8).verdict, GangVerdict::never);
}

TEST(Gang, free_gpus_in_the_wrong_places) {
  const std::vector<int> halves(8, 4);  // 32 GPUs free, but no whole node
  EXPECT_EQ(place_gang({.nodes = 2}, halves, 8).verdict, GangVerdict::fragmented);
  EXPECT_EQ(place_gang({.nodes = 8, .gpus_per_node = 4}, halves, 8).verdict, GangVerdict::fits);
}

TEST(Gang, quota_stops_what_the_fleet_could) {
  const std::vector<int> empty(8, 8);
  EXPECT_EQ(place_gang({.nodes = 4}, empty, 8, 31).verdict, GangVerdict::over_quota);
  EXPECT_EQ(place_gang({.nodes = 4}, empty, 8, 32).verdict, GangVerdict::fits);
}

TEST(Gang, two_halves_deadlock) {
  const HeldGang two[] = {{"a", 8, 4}, {"b", 8, 4}};
  const HoldOutcome o = resolve_holds(two, 0);
  EXPECT_TRUE(o.deadlock);
  EXPECT_EQ(o.stuck, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.nodes_idle, 8);
  // With atomic allocation one of them runs.
  EXPECT_EQ(gangs_started_atomically(two, 8), 1);
}

TEST(Gang, seven_of_eight_holds_seven_for_nothing) {
  const HeldGang one[] = {{"a", 8, 7}};
  const HoldOutcome o = resolve_holds(one, 0);
  EXPECT_TRUE(o.deadlock);
  EXPECT_EQ(o.nodes_idle, 7);
}

TEST(Gang, one_that_can_finish_frees_the_rest) {
  const HeldGang three[] = {{"a", 8, 5}, {"b", 4, 2}, {"c", 6, 1}};
  const HoldOutcome o = resolve_holds(three, 2);  // b finishes, then a, then c
  EXPECT_FALSE(o.deadlock);
  EXPECT_EQ(o.finish_order, (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(o.nodes_idle, 0) << "no gang is stuck, so no node is wasted";
  EXPECT_TRUE(o.stuck.empty());
  EXPECT_TRUE(resolve_holds(three, 1).deadlock) << "one short";
}

TEST(Gang, gangs_that_hold_and_wait_deadlock) {
  const HeldGang two[] = {{"a", 8, 4}, {"b", 9, 2}};
  const HoldOutcome stuck = resolve_holds(two, 3);  // a lacks 4, b lacks 7
  EXPECT_TRUE(stuck.deadlock);
  EXPECT_EQ(stuck.nodes_idle, 9) << "4 and 2 held, 3 free";
  EXPECT_TRUE(stuck.finish_order.empty());
  const HoldOutcome half = resolve_holds(std::span(two, 2), 4);
  EXPECT_EQ(half.finish_order, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(half.nodes_idle, 0);
  EXPECT_EQ(gangs_started_atomically(two, 17), 2);
  EXPECT_EQ(gangs_started_atomically(two, 16), 1);
  EXPECT_EQ(gangs_started_atomically(two, 7), 0);
  const std::vector<int> free{8, 3, 5, 8};
  const GangAnswer answer = place_gang({.nodes = 3, .gpus_per_node = 6}, free, 8);
  EXPECT_EQ(answer.verdict, GangVerdict::fragmented);  // 18 requested, 24 free
  EXPECT_EQ(answer.nodes_free, 2);
  EXPECT_EQ(answer.nodes_short, 1);
  EXPECT_EQ(place_gang({.nodes = 4, .gpus_per_node = 6}, free, 8).verdict, GangVerdict::fragmented);
  EXPECT_EQ(place_gang({.nodes = 4, .gpus_per_node = 7}, free, 8).verdict, GangVerdict::waits);
  EXPECT_EQ(place_gang({.nodes = 2, .gpus_per_node = 8}, free, 8).nodes_short, 0);
  EXPECT_EQ(place_gang({.nodes = 5, .gpus_per_node = 1}, free, 8).verdict, GangVerdict::never);
  EXPECT_EQ(place_gang({.nodes = 1, .gpus_per_node = 9}, free, 8).verdict, GangVerdict::never);
}

}  // namespace
}  // namespace orrery::cluster
