// A walk over all versions of a bucket, page by page, with the place of each version.
#include "live/upkeep/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/rows/records.h"
#include "live/store/listing.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::upkeep::walk_tests {
namespace {

using testing::ElementsAre;

class WalkTest : public store::StoreBench {
 protected:
  WalkTest() { store = made(); }
  void add(const std::string& key, const rows::Version& version, bool newest = true) {
    set_row(
        newest ? rows::row::object("pail", key) : rows::row::version("pail", key, version.stamp),
        rows::encode(version));
  }
  static rows::Version version(std::uint64_t stamp, const std::string& id) {
    return {.stamp = stamp, .id = id, .modified_ms = static_cast<rows::TimeMs>(100 * stamp)};
  }
};

// A page has a thousand versions: those of the last key continue on the second page.
TEST_F(WalkTest, all_versions_are_visited_with_their_places) {
  rows::Commit commit;
  for (int i = 0; i < 998; ++i) {
    const std::string key = "k" + std::to_string(1000 + i);
    commit.changes.push_back({rows::row::object("pail", key), rows::encode(version(1, "i"))});
  }
  ASSERT_TRUE(rows.commit(commit));
  add("l", version(9, "l9"));
  for (const std::uint64_t stamp : {8u, 7u, 6u}) {
    add("l", version(stamp, "l" + std::to_string(stamp)), false);
  }
  add("m", version(2, "m2"));
  std::vector<std::string> seen;
  int alone = 0;
  const auto take = [&](const store::PageEntry& entry,
                        const VersionPlace& place) -> store::Answer<void> {
    alone += place.alone ? 1 : 0;
    if (entry.key < "l") return {};
    seen.push_back(place.version.id + (place.newest ? " newest" : "") +
                   (place.alone ? " alone" : "") + " since " + std::to_string(place.since_ms) +
                   " newer " + std::to_string(place.newer));
    return {};
  };
  int pages = 0;
  ASSERT_TRUE(walk_versions(*store, "pail", [&] { return ++pages > 5; }, take));
  EXPECT_EQ(pages, 2);
  EXPECT_THAT(
      seen, ElementsAre("l9 newest since 0 newer 0", "l8 since 900 newer 0", "l7 since 800 newer 1",
                        "l6 since 700 newer 2", "m2 newest alone since 0 newer 0"));
  EXPECT_EQ(alone, 999);
  int taken = 0;
  ASSERT_TRUE(walk_versions(
      *store, "pail", [&] { return taken > 0; },
      [&](const store::PageEntry&, const VersionPlace&) -> store::Answer<void> {
        ++taken;
        return {};
      }));
  EXPECT_EQ(taken, 1000) << "stopped between two pages";
  const auto refusal = walk_versions(
      *store, "pail", [] { return false; },
      [](const store::PageEntry&, const VersionPlace&) { return store::refused("SlowDown"); });
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().code, "SlowDown");
}

}  // namespace
}  // namespace orrery::upkeep::walk_tests
