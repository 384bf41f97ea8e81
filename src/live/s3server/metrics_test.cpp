// Counts of requests by kind.
#include "live/s3server/metrics.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace orrery::s3server::metrics_tests {
namespace {

TEST(GatewayCountsTest, refusals_faults_bytes_and_latencies_are_counted_by_kind) {
  GatewayCounts counts;
  counts.add(RequestKind::list, 499, 7, 0.25);
  counts.add(RequestKind::list, 500, 8, 0.5);
  counts.add(RequestKind::list, 399, 9, 0.0);
  counts.add(RequestKind::list, 400, 1, 0.001);
  const KindCounts& list = counts.kinds[static_cast<std::size_t>(RequestKind::list)];
  EXPECT_EQ(list.requests, 4u);
  EXPECT_EQ(list.refused, 2u);
  EXPECT_EQ(list.faults, 1u);
  EXPECT_EQ(list.bytes, 25u);
  EXPECT_EQ(list.micros, 751'000u);
  EXPECT_EQ(list.within[0], 2u) << "a millisecond is within the first bound";
  counts.add(RequestKind::get, 200, 0, 0.003);
  counts.add(RequestKind::get, 200, 0, 0.0031);
  counts.add(RequestKind::get, 200, 0, 11);
  const KindCounts& gets = counts.kinds[static_cast<std::size_t>(RequestKind::get)];
  EXPECT_EQ(gets.within[0], 0u);
  EXPECT_EQ(gets.within[1], 1u) << "a bound belongs to its bucket";
  EXPECT_EQ(gets.within[2], 1u);
  EXPECT_EQ(gets.within[kLatencyBounds.size()], 1u);
}

TEST(RequestKindTest, follows_the_action) {
  for (const auto& [action, kind] : std::vector<std::pair<const char*, RequestKind>>{
           {"s3:GetObject", RequestKind::get},
           {"s3:GetObjectTagging", RequestKind::get},
           {"s3:PutObject", RequestKind::put},
           {"s3:PutObjectAcl", RequestKind::other},
           {"s3:ListBucket", RequestKind::list},
           {"s3:DeleteObject", RequestKind::remove},
           {"s3:DeleteObjectVersion", RequestKind::remove},
           {"s3:DeleteBucket", RequestKind::other},
           {"s3:GetBucketAcl", RequestKind::other}}) {
    EXPECT_EQ(request_kind_of(action), kind) << action;
  }
}

}  // namespace
}  // namespace orrery::s3server::metrics_tests
