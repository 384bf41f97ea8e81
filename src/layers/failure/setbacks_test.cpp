#include "layers/failure/setbacks.h"

#include <gtest/gtest.h>

namespace orrery::failure {
namespace {

TEST(Setbacks, lose_their_share_of_their_window) {
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

TEST(Setbacks, what_is_left_comes_later_by_what_they_take) {
  Setbacks s;
  EXPECT_EQ(s.time_after(7, 100), 107);
  s.add({.from_ns = 100, .to_ns = 300, .share = 1, .cause = 0});
  EXPECT_EQ(s.time_after(0, 100), 100);
  EXPECT_EQ(s.time_after(0, 101), 301);
  EXPECT_EQ(s.time_after(200, 1), 301);
  s.add({.from_ns = 400, .to_ns = 1000, .share = 0.5, .cause = 1});
  EXPECT_EQ(s.time_after(0, 250), 500);   // 100 + 100 between + 50 at half pace
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
  EXPECT_EQ(s.time_after(0, 5), 1005);  // together no more than all of it
}

}  // namespace
}  // namespace orrery::failure
