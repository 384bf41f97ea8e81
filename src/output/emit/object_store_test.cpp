#include "output/emit/object_store.h"

#include <gtest/gtest.h>

namespace orrery::emit {
namespace {

TEST(ObjectStore, an_address_is_http_and_a_host) {
  for (const char* good : {"", "http://a", "https://store-1:8118", "http://[::1]:80"}) {
    EXPECT_TRUE(check_object_store(good).empty()) << good;
  }
  for (const char* bad : {"http://", "https://", "ftp://a", "a", "http://a/b", "http://a b",
                          "http://a;b", "https://a_b"}) {
    const Diagnostics d = check_object_store(bad);
    ASSERT_EQ(d.size(), 1U) << bad;
    EXPECT_EQ(d[0].code, "emit.object-store");
  }
}

}  // namespace
}  // namespace orrery::emit
