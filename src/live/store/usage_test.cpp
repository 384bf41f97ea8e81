// The contents of buckets, as counted from the rows.
#include <gtest/gtest.h>

#include <string>

#include "live/rows/records.h"
#include "live/rows/strict_metadata_fixture.h"
#include "live/store/store_fixture.h"

namespace orrery::store::usage_tests {
namespace {

TEST(Usage, is_added_up_per_bucket) {
  Usage use;
  use.add("b", 10, 1);
  use.add("b", 5, 1);
  use.add("b", -10, -1);
  use.add("c", 3, 1);
  EXPECT_EQ(use.of("b").bytes, 5u);
  EXPECT_EQ(use.of("b").objects, 1u);
  EXPECT_EQ(use.of("none").bytes, 0u);
  EXPECT_EQ(use.all().size(), 2u);
  use.set({{"d", {1, 2}}});
  EXPECT_EQ(use.of("b").bytes, 0u);
  EXPECT_EQ(use.of("d").objects, 2u);
}

class UsageTest : public StoreBench {
 protected:
  UsageTest() {
    through = &strict;
    store = made();
  }
  rows::StrictMetadata strict{rows};
};

// Other rows are those of a bucket with a similar name, of an upload that no longer exists, and
// unreadable ones.
TEST_F(UsageTest, is_measured_from_the_rows_of_each_bucket) {
  ASSERT_TRUE(store->measure());
  EXPECT_TRUE(store->usage().all().empty());
  const auto object = [&](const std::string& bucket, const std::string& key, std::uint64_t size) {
    set_row(rows::row::object(bucket, key),
            rows::encode(rows::Version{.id = "null", .size = size}));
  };
  const auto upload = [&](const std::string& bucket, const std::string& id) {
    set_row(rows::row::upload(bucket, "k", id),
            rows::encode(rows::Upload{.id = id, .bucket = bucket, .key = "k"}));
  };
  const auto part = [&](const std::string& id, std::uint64_t size) {
    set_row(rows::row::part(id, 1),
            rows::encode(rows::Part{.number = 1, .extent = {"", size, "", ""}}));
  };
  object("pail", "a", 10);
  ASSERT_TRUE(store->measure());
  EXPECT_EQ(store->usage().of("pail").bytes, 10u);
  object("pail2", "a", 20);
  set_row(rows::row::version("pail", "a", 5), rows::encode(rows::Version{.stamp = 5, .size = 5}));
  set_row(rows::row::object("pail", "gone"),
          rows::encode(rows::Version{.marker = true, .size = 1}));
  upload("pail", "u");
  upload("pail2", "u2");
  part("u", 100);
  part("u2", 200);
  part("lost", 400);
  for (const std::string& key : {rows::row::object("pail", "x"), rows::row::version("pail", "x", 1),
                                 rows::row::upload("pail", "x", "y"), rows::row::part("u", 2)}) {
    set_row(key, "rubbish");
  }
  set_row("w", "the last row");
  ASSERT_TRUE(store->measure());
  EXPECT_EQ(store->usage().of("pail").bytes, 115u) << "10 + 5 + 100";
  EXPECT_EQ(store->usage().of("pail").objects, 2u);
  EXPECT_EQ(store->usage().of("pail2").bytes, 220u);
  EXPECT_EQ(store->usage().of("pail2").objects, 1u);
  EXPECT_EQ(store->usage().all().size(), 2u);
}

}  // namespace
}  // namespace orrery::store::usage_tests
