// Digests made on a second thread.
#include "live/s3server/hash_lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace orrery::s3server::hash_lane_tests {
namespace {

using testing::ElementsAre;

TEST(HashLaneTest, runs_one_piece_after_the_other) {
  std::vector<int> done;
  HashLane lane;
  lane.wait();  // no piece is in progress
  for (int i = 0; i < 3; ++i) {
    lane.begin([&done, i] { done.push_back(i); });
    lane.wait();
    EXPECT_EQ(done.size(), static_cast<std::size_t>(i) + 1);
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  {
    HashLane dropped;
    dropped.begin([&done] { done.push_back(9); });
  }
  EXPECT_LE(done.size(), 4u);
}

}  // namespace
}  // namespace orrery::s3server::hash_lane_tests
