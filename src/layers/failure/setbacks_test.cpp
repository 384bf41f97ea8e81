#include "layers/failure/setbacks.h"

#include <gtest/gtest.h>

namespace orrery::failure {
namespace {

TEST(Setbacks, setbacks_lose_their_share_of_their_window) {
  Setbacks s;
  s.add({.from_ns = 100, .to_ns = 300, .share = 0.25, .cause = 1});
  EXPECT_EQ(s.lost_ns(50), 0);
  EXPECT_EQ(s.lost_ns(200), 25);
  EXPECT_EQ(s.lost_ns(1000), 50);
  s.end(1, 200);
  EXPECT_EQ(s.lost_ns(1000), 25);
  s.end(2, 150);
  EXPECT_EQ(s.lost_ns(1000), 25);
}

TEST(Setbacks, setbacks_delay_the_remaining_work) {
  Setbacks s;
  EXPECT_EQ(s.time_after(7, 100), 107);
  s.add({.from_ns = 100, .to_ns = 300, .share = 1, .cause = 0});
  EXPECT_EQ(s.time_after(0, 100), 100);
  EXPECT_EQ(s.time_after(0, 101), 301);
  EXPECT_EQ(s.time_after(200, 1), 301);
  s.add({.from_ns = 400, .to_ns = 1000, .share = 0.5, .cause = 1});
  EXPECT_EQ(s.time_after(0, 250), 500);   // 100 + 100 in between + 50 at half speed
  EXPECT_EQ(s.time_after(0, 600), 1100);  // 100 + 100 + 300 + 100
  for (const std::int64_t left : {1, 90, 150, 333, 499, 700}) {
    const std::int64_t then = s.time_after(0, left);
    EXPECT_NEAR(static_cast<double>(then - s.lost_ns(then)), static_cast<double>(left), 1) << left;
  }
}

TEST(Setbacks, one_without_end_has_no_after) {
  Setbacks s;
  s.add({.from_ns = 0, .to_ns = 1'000, .share = 0.7, .cause = 0});
  s.add({.from_ns = 0, .to_ns = 1'000, .share = 0.7, .cause = 1});
  EXPECT_EQ(s.time_after(0, 5), 1005);  // together at most all of the time
}

// From 100 to 200 half is lost, from 150 to 300 another quarter.
TEST(Setbacks, setbacks_delay_the_work) {
  Setbacks all;
  EXPECT_EQ(all.time_after(10, 5), 15);
  all.add({.from_ns = 100, .to_ns = 200, .share = 0.5, .cause = 1});
  all.add({.from_ns = 150, .to_ns = 300, .share = 0.25, .cause = 2});
  EXPECT_EQ(all.lost_ns(100), 0);
  EXPECT_EQ(all.lost_ns(140), 20);
  EXPECT_EQ(all.lost_ns(190), 45 + 10);
  EXPECT_EQ(all.lost_ns(1000), 50 + 37);
  EXPECT_EQ(all.time_after(90, 10), 100);
  EXPECT_EQ(all.time_after(90, 30), 140);  // 10, and 20 at half
  EXPECT_EQ(all.time_after(100, 25), 150);
  EXPECT_EQ(all.time_after(100, 30), 170);  // 5 more at a quarter
  EXPECT_EQ(all.time_after(200, 75), 300);
  EXPECT_EQ(all.time_after(200, 80), 305);
  all.end(2, 200);
  EXPECT_EQ(all.lost_ns(1000), 50 + 12);
  EXPECT_EQ(all.all()[0].to_ns, 200);
  all.end(1, 50);  // ended before it began: no effect
  EXPECT_EQ(all.all()[0].to_ns, 100);
  EXPECT_EQ(all.lost_ns(1000), 12);
  all.add({.from_ns = 0, .to_ns = 400, .share = 0.7});
  all.add({.from_ns = 0, .to_ns = 400, .share = 0.6});
  EXPECT_EQ(all.time_after(10, 1), 401) << "more than all cannot be lost";
  all.clear();
  EXPECT_TRUE(all.all().empty());
  EXPECT_EQ(all.lost_ns(1000), 0);
}

}  // namespace
}  // namespace orrery::failure
