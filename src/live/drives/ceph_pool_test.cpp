// The address of a RADOS pool. The port itself is tested with a simulated librados in
// tests/ceph_pool_test.cpp.
#include "live/drives/ceph_pool.h"

#include <gtest/gtest.h>

namespace orrery::drives::ceph_pool_tests {
namespace {

TEST(PoolPlaceTest, is_parsed_or_refused) {
  const auto place = pool_place_of("rados:hot.data/store-1");
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (PoolPlace{.pool = "hot.data", .space = "store-1"}));
  const auto all = pool_place_of("rados:p/n?conf=/a/b.conf&user=client.me&keyring=/k");
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, (PoolPlace{"p", "n", "/a/b.conf", "client.me", "/k"}));
  EXPECT_EQ(pool_place_of("rados:p/n?user=me")->user, "client.me");
  for (const char* bad : {"rados:", "rados:p", "rados:p/", "rados:/n", "rados:p/a/b", "rados:p/n?",
                          "rados:p/n?conf=relative", "rados:p/n?user=", "rados:p/n?zone=a",
                          "rados:p q/n", "rados:p/n?user=a b"}) {
    EXPECT_FALSE(pool_place_of(bad)) << bad;
  }
}

}  // namespace
}  // namespace orrery::drives::ceph_pool_tests
