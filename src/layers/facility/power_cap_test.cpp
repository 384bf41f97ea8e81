// Caps: the oversubscribed tree of NVIDIA's DPS sample, published capped speeds, a capped fleet.
#include "layers/facility/power_cap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/facility/facility_fixture.h"
#include "layers/facility/node_power.h"

namespace orrery::facility {
namespace {

// NVIDIA DPS SDK: 750 kW utility, 1.6 MW board, four 450 kW PDUs, two GB300 racks of 142 kW on
// each.
std::vector<Feed> dps_tree() {
  std::vector<Feed> feeds{{.name = "utility", .limit = kilowatts(750)},
                          {.name = "board", .parent = 0, .limit = kilowatts(1600)}};
  for (int pdu = 0; pdu < 4; ++pdu) {
    const int index = static_cast<int>(feeds.size());
    feeds.push_back({.name = "pdu", .parent = 1, .limit = kilowatts(450)});
    for (int rack = 0; rack < 2; ++rack) {
      feeds.push_back({.name = "rack", .parent = index, .demand = kilowatts(142)});
    }
  }
  return feeds;
}

TEST(PowerTree, dps_sample_is_over_its_utility_and_gets_caps) {
  const TreeReview review = review_tree(dps_tree());
  EXPECT_TRUE(review.overloaded);
  EXPECT_NEAR(review.feeds[0].demand / kilowatts(1), 1136, 1e-6);
  EXPECT_NEAR(review.feeds[0].over / kilowatts(1), 386, 1e-6);
  for (std::size_t i = 1; i < review.feeds.size(); ++i) EXPECT_EQ(review.feeds[i].over, Watts());
  Watts racks;
  for (const FeedState& f : review.feeds) {
    if (f.name != "rack") continue;
    EXPECT_NEAR(f.cap / kilowatts(1), 93.75, 1e-6);
    racks += f.cap;
  }
  EXPECT_NEAR(racks / kilowatts(1), 750, 1e-6);
  EXPECT_NEAR(review.lowest_cap, 750.0 / 1136, 1e-9);

  // 72 GPUs of 1.4 kW are 100.8 of the 142 kW; the rest cannot be capped.
  const NodePower gb300{.nameplate = kilowatts(142), .accelerators = kilowatts(100.8)};
  const double cap = accelerator_cap(gb300, kilowatts(93.75));
  EXPECT_NEAR(cap, (93.75 - 41.2) / 100.8, 1e-9);
  EXPECT_GT(cap, kLowestCap);
  EXPECT_NEAR(capped_speed(cap, Boundness::compute), 0.72, 0.01);
}

TEST(PowerTree, short_pdu_caps_its_own_racks_only) {
  std::vector<Feed> feeds = dps_tree();
  feeds[0].limit = kilowatts(2000);
  feeds[2].limit = kilowatts(200);
  const TreeReview review = review_tree(feeds);
  EXPECT_NEAR(review.feeds[3].cap / kilowatts(1), 100, 1e-6);
  EXPECT_NEAR(review.feeds[4].cap / kilowatts(1), 100, 1e-6);
  EXPECT_NEAR(review.feeds[6].cap / kilowatts(1), 142, 1e-6);
}

TEST(PowerTree, unused_power_of_a_branch_goes_to_the_others) {
  std::vector<Feed> feeds = dps_tree();
  feeds[2].limit = kilowatts(100);  // its two racks get 50 each; 650 remain for six
  const TreeReview review = review_tree(feeds);
  EXPECT_NEAR(review.feeds[3].cap / kilowatts(1), 50, 1e-6);
  EXPECT_NEAR(review.feeds[6].cap / kilowatts(1), 650.0 / 6, 1e-6);
  EXPECT_NEAR(review.feeds[0].cap / kilowatts(1), 750, 1e-6);
}

TEST(PowerTree, enough_power_caps_no_feed) {
  std::vector<Feed> feeds = dps_tree();
  feeds[0].limit = Watts();
  const TreeReview review = review_tree(feeds);
  EXPECT_FALSE(review.overloaded);
  EXPECT_DOUBLE_EQ(review.lowest_cap, 1);
  EXPECT_TRUE(review_tree({}).feeds.empty());
}

// power_capping.csv. The generic fit is low confidence; the widest miss is 0.09.
TEST(PowerCap, is_near_published_points) {
  EXPECT_NEAR(capped_speed(0.857, Boundness::compute), 0.875, 0.09);  // H100 bf16 training
  EXPECT_NEAR(capped_speed(0.625, Boundness::compute), 0.905, 0.10);  // A100 training, recalled
  EXPECT_NEAR(capped_speed(0.714, Boundness::compute), 0.853, 0.03);  // RTX 3090 prefill
  EXPECT_NEAR(capped_speed(0.714, Boundness::memory), 0.974, 0.02);   // RTX 3090 decode
  EXPECT_NEAR(capped_speed(0.857, Boundness::memory), 0.935, 0.06);   // H100 decode
}

TEST(PowerCap, more_power_is_never_slower) {
  for (Boundness b : {Boundness::compute, Boundness::memory}) {
    double last = 0;
    for (int i = 0; i <= 100; ++i) {
      EXPECT_GE(capped_speed(i / 100.0, b), last);
      last = capped_speed(i / 100.0, b);
    }
    EXPECT_DOUBLE_EQ(last, 1);
  }
}

TEST(PowerCap, more_than_a_node_draws_is_no_cap) {
  const NodePower h100{.nameplate = kilowatts(10.2), .accelerators = kilowatts(5.6)};
  EXPECT_DOUBLE_EQ(accelerator_cap(h100, kilowatts(11)), 1);
}

// 100 kW for three feeds that want 100, nothing, and 100 limited to 20 by its own limit: 80 are
// left for the first, wherever the idle feed is in the order.
TEST(PowerCap, feed_without_demand_takes_nothing) {
  const Feed root{.name = "root", .limit = kilowatts(100)};
  const Feed wide{.name = "wide", .parent = 0, .demand = kilowatts(100)};
  const Feed idle{.name = "idle", .parent = 0};
  const Feed held{.name = "held", .parent = 0, .limit = kilowatts(20), .demand = kilowatts(100)};
  const std::vector<std::vector<Feed>> orders = {{root, wide, idle, held},
                                                 {root, idle, wide, held},
                                                 {root, held, idle, wide},
                                                 {root, wide, held, idle}};
  for (const std::vector<Feed>& feeds : orders) {
    const TreeReview review = review_tree(feeds);
    EXPECT_TRUE(review.overloaded);
    for (const FeedState& f : review.feeds) {
      const double kw = f.cap / kilowatts(1);
      if (f.name == "wide") EXPECT_NEAR(kw, 80, 1e-9);
      if (f.name == "idle") EXPECT_NEAR(kw, 0, 1e-9);
      if (f.name == "held") EXPECT_NEAR(kw, 20, 1e-9);
      if (f.name == "root") EXPECT_NEAR(kw, 100, 1e-9);
    }
  }
}

// 1 - 0.9 (1 - x)^1.6 and 1 - 0.45 (1 - x)^2.
TEST(PowerCap, speed_under_a_cap_follows_the_fit) {
  EXPECT_NEAR(capped_speed(0.6, Boundness::compute), 1 - 0.9 * std::pow(0.4, 1.6), 1e-12);
  EXPECT_NEAR(capped_speed(0.6, Boundness::memory), 1 - 0.45 * 0.16, 1e-12);
  for (const double none : {0.0, -0.7}) {
    EXPECT_NEAR(capped_speed(none, Boundness::compute), 0.1, 1e-12);
    EXPECT_NEAR(capped_speed(none, Boundness::memory), 0.55, 1e-12);
  }
  for (const double all : {1.0, 1.4}) {
    EXPECT_EQ(capped_speed(all, Boundness::compute), 1);
    EXPECT_EQ(capped_speed(all, Boundness::memory), 1);
  }
}

TEST(PowerCap, cap_applies_to_the_accelerators) {
  EXPECT_EQ(accelerator_cap(ten_kilowatts(), kilowatts(10)), 1);
  EXPECT_NEAR(accelerator_cap(ten_kilowatts(), kilowatts(9.4)), 0.9, 1e-12);
  EXPECT_NEAR(accelerator_cap(ten_kilowatts(), kilowatts(4.3)), 0.05, 1e-12);
  EXPECT_EQ(accelerator_cap(ten_kilowatts(), kilowatts(3)), 0) << "the rest alone is 4 kW";
  EXPECT_EQ(accelerator_cap({.nameplate = kilowatts(10)}, kilowatts(3)), 1) << "nothing to cap";
}

// A root of 100 kW that draws 10 itself, above a branch limited to 30 that wants 80, a leaf of 60
// and an idle leaf. The branch takes its 30, and the leaf all its 60 of the remaining 90.
TEST(PowerCap, own_demand_of_a_feed_comes_first) {
  const auto review = [](double root_kw) {
    return review_tree(
        std::vector<Feed>{{.name = "root", .limit = kilowatts(root_kw), .demand = kilowatts(10)},
                          {.name = "branch", .parent = 0, .limit = kilowatts(30)},
                          {.name = "rack", .parent = 1, .demand = kilowatts(50)},
                          {.name = "rack", .parent = 1, .demand = kilowatts(30)},
                          {.name = "leaf", .parent = 0, .demand = kilowatts(60)},
                          {.name = "dark", .parent = 0}});
  };
  const auto kw = [](Watts w) { return w / kilowatts(1); };
  const TreeReview ample = review(100);
  EXPECT_TRUE(ample.overloaded);
  EXPECT_NEAR(kw(ample.feeds[0].demand), 150, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[0].limit), 100, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[0].over), 50, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[0].cap), 100, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[1].demand), 80, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[1].over), 50, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[1].cap), 30, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[2].cap), 30 * 50 / 80.0, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[3].cap), 30 * 30 / 80.0, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[4].cap), 60, 1e-9);
  EXPECT_EQ(ample.feeds[5].cap, Watts());
  EXPECT_EQ(ample.feeds[4].over, Watts());
  EXPECT_NEAR(ample.lowest_cap, 30 / 80.0, 1e-9);
  // 48 of 58 are left: 140 in all want it, 0.343 each; the branch's own limit would allow 0.375.
  const TreeReview tight = review(58);
  EXPECT_NEAR(kw(tight.feeds[1].cap), 80 * 48 / 140.0, 1e-9);
  EXPECT_NEAR(kw(tight.feeds[4].cap), 60 * 48 / 140.0, 1e-9);
  EXPECT_NEAR(kw(tight.feeds[3].cap), 30 * 48 / 140.0, 1e-9);
  EXPECT_NEAR(tight.lowest_cap, 48 / 140.0, 1e-9);
  // Not even its own demand is met: nothing is left for those below.
  const TreeReview none = review(9);
  EXPECT_EQ(none.feeds[1].cap, Watts());
  EXPECT_EQ(none.lowest_cap, 0);
}

TEST(PowerCap, limit_that_is_just_met_is_not_exceeded) {
  const TreeReview met = review_tree(std::vector<Feed>{
      {.name = "root", .limit = kilowatts(20)}, {.name = "a", .parent = 0, .demand = watts(2e4)}});
  EXPECT_FALSE(met.overloaded);
  EXPECT_EQ(met.feeds[0].over, Watts());
  EXPECT_EQ(met.lowest_cap, 1);
  EXPECT_EQ(met.feeds[1].name, "a");
}

}  // namespace
}  // namespace orrery::facility
