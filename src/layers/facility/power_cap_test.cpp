// Caps: the oversubscribed tree of NVIDIA's DPS sample, published capped speeds, a capped fleet.
#include "layers/facility/power_cap.h"

#include <gtest/gtest.h>

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

TEST(PowerTree, the_dps_sample_is_over_its_utility_and_gets_caps) {
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

TEST(PowerTree, a_short_pdu_caps_its_own_racks_only) {
  std::vector<Feed> feeds = dps_tree();
  feeds[0].limit = kilowatts(2000);
  feeds[2].limit = kilowatts(200);
  const TreeReview review = review_tree(feeds);
  EXPECT_NEAR(review.feeds[3].cap / kilowatts(1), 100, 1e-6);
  EXPECT_NEAR(review.feeds[4].cap / kilowatts(1), 100, 1e-6);
  EXPECT_NEAR(review.feeds[6].cap / kilowatts(1), 142, 1e-6);
}

TEST(PowerTree, what_one_short_branch_cannot_use_goes_to_the_others) {
  std::vector<Feed> feeds = dps_tree();
  feeds[2].limit = kilowatts(100);  // its two racks get 50 each; 650 remain for six
  const TreeReview review = review_tree(feeds);
  EXPECT_NEAR(review.feeds[3].cap / kilowatts(1), 50, 1e-6);
  EXPECT_NEAR(review.feeds[6].cap / kilowatts(1), 650.0 / 6, 1e-6);
  EXPECT_NEAR(review.feeds[0].cap / kilowatts(1), 750, 1e-6);
}

TEST(PowerTree, enough_power_caps_nobody) {
  std::vector<Feed> feeds = dps_tree();
  feeds[0].limit = Watts();
  const TreeReview review = review_tree(feeds);
  EXPECT_FALSE(review.overloaded);
  EXPECT_DOUBLE_EQ(review.lowest_cap, 1);
  EXPECT_TRUE(review_tree({}).feeds.empty());
}

// power_capping.csv. The generic fit is low confidence; the widest miss is 0.09.
TEST(PowerCap, lies_near_published_points) {
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

}  // namespace
}  // namespace orrery::facility
