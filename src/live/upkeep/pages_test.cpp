// Walks over rows: pages that end in the middle of a key's versions or behind a common prefix, all
// versions of a bucket over several pages, and what the buckets hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/failing_metadata_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/store/listing.h"
#include "live/upkeep/lifecycle.h"
#include "live/upkeep/walk.h"

namespace orrery::upkeep::pages_tests {
namespace {

using testing::ElementsAre;

class PagesTest : public testing::Test {
 protected:
  PagesTest()
      : store({.metadata = rows,
               .drives = {{"d", &drive}},
               .tiers = {{"hot", {1, 0}, {"d"}}},
               .now_ms = [] { return rows::TimeMs{5}; },
               .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }}) {}

  void add(const std::string& key, const rows::Version& version, bool newest = true) {
    const std::string row =
        newest ? rows::row::object("pail", key) : rows::row::version("pail", key, version.stamp);
    ASSERT_TRUE(rows.commit({.changes = {{row, rows::encode(version)}}}));
  }
  static rows::Version version(std::uint64_t stamp, const std::string& id, std::uint64_t size = 3) {
    rows::Version made{.stamp = stamp, .id = id, .size = size};
    made.modified_ms = static_cast<rows::TimeMs>(100 * stamp);
    return made;
  }
  // "KEY:ID" of each, "KEY..." of what stands for several, "+" where more follows.
  static std::vector<std::string> shown(const store::Answer<store::Page>& page) {
    if (!page) return {page.error().code};
    std::vector<std::string> out;
    for (const store::PageEntry& entry : page->entries) {
      out.push_back(entry.common ? entry.key + "..."
                                 : entry.key + ':' + entry.version.id + (entry.newest ? "!" : ""));
    }
    if (page->truncated) out.emplace_back("+");
    return out;
  }
  std::vector<std::string> objects(store::PageRequest request) {
    request.bucket = "pail";
    return shown(store::page_of_objects(rows, request));
  }
  std::vector<std::string> versions(store::PageRequest request) {
    request.bucket = "pail";
    return shown(store::page_of_versions(rows, request));
  }

  rows::MemoryMetadata rows;
  drives::SimulatedDrive drive;
  store::Store store;
};

TEST_F(PagesTest, a_page_has_as_many_as_it_may_and_says_that_more_follow) {
  for (const char* key : {"a", "b/1", "b/2", "c", "d/1"}) add(key, version(1, "i"));
  EXPECT_THAT(objects({.most = 5}), ElementsAre("a:i!", "b/1:i!", "b/2:i!", "c:i!", "d/1:i!"));
  EXPECT_THAT(objects({.most = 4}), ElementsAre("a:i!", "b/1:i!", "b/2:i!", "c:i!", "+"));
  EXPECT_THAT(objects({.most = 0}), ElementsAre());
  EXPECT_THAT(objects({.delimiter = "/", .most = 4}),
              ElementsAre("a:i!", "b/...", "c:i!", "d/..."));
  EXPECT_THAT(objects({.delimiter = "/", .most = 3}), ElementsAre("a:i!", "b/...", "c:i!", "+"));
  EXPECT_THAT(objects({.delimiter = "/", .most = 2}), ElementsAre("a:i!", "b/...", "+"));
  EXPECT_THAT(objects({.delimiter = "/", .after = "b/", .most = 2}), ElementsAre("c:i!", "d/..."));
  EXPECT_THAT(objects({.delimiter = "/", .after = "c", .most = 2}), ElementsAre("d/..."));
  EXPECT_THAT(versions({.delimiter = "/", .most = 4}),
              ElementsAre("a:i!", "b/...", "c:i!", "d/..."));
  EXPECT_THAT(versions({.delimiter = "/", .most = 3}), ElementsAre("a:i!", "b/...", "c:i!", "+"))
      << "a prefix that does not fit any more";
  EXPECT_THAT(versions({.delimiter = "/", .most = 1}), ElementsAre("a:i!", "+"));
  EXPECT_THAT(versions({.prefix = "b/", .delimiter = "/"}), ElementsAre("b/1:i!", "b/2:i!"));
  EXPECT_THAT(versions({.delimiter = "/", .after = "b/"}), ElementsAre("c:i!", "d/..."));
}

TEST_F(PagesTest, a_page_may_end_between_the_versions_of_a_key) {
  add("k", version(9, "v9"));
  for (const std::uint64_t stamp : {8u, 7u, 6u}) {
    add("k", version(stamp, "v" + std::to_string(stamp)), false);
  }
  add("l", version(5, "w"));
  EXPECT_THAT(versions({.most = 2}), ElementsAre("k:v9!", "k:v8", "+"));
  EXPECT_THAT(versions({.most = 4}), ElementsAre("k:v9!", "k:v8", "k:v7", "k:v6", "+"));
  EXPECT_THAT(versions({.most = 5}), ElementsAre("k:v9!", "k:v8", "k:v7", "k:v6", "l:w!"));
  EXPECT_THAT(versions({.after = "k", .after_version = "v9", .most = 2}),
              ElementsAre("k:v8", "k:v7", "+"));
  EXPECT_THAT(versions({.after = "k", .after_version = "v8"}), ElementsAre("k:v7", "k:v6", "l:w!"));
  EXPECT_THAT(versions({.after = "k", .after_version = "v6"}), ElementsAre("l:w!"));
  EXPECT_THAT(versions({.after = "k"}), ElementsAre("l:w!"));
  EXPECT_THAT(versions({.after = "j"}).size(), 5u);
  EXPECT_THAT(objects({}), ElementsAre("k:v9!", "l:w!"));
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::version("pail", "k", 7), "rubbish"}}}));
  EXPECT_THAT(versions({}), ElementsAre("InternalError"));
}

TEST_F(PagesTest, what_is_gone_is_listed_as_a_version_only) {
  rows::Version marker = version(9, "m");
  marker.marker = true;
  add("a/1", marker);
  add("b", marker);
  add("c", version(1, "i"));
  EXPECT_THAT(objects({}), ElementsAre("c:i!"));
  EXPECT_THAT(objects({.delimiter = "/", .most = 1}), ElementsAre("c:i!")) << "no prefix of it";
  EXPECT_THAT(versions({}), ElementsAre("a/1:m!", "b:m!", "c:i!"));
}

// A thousand to a page: the last key of the first goes on in the second.
TEST_F(PagesTest, all_versions_of_a_bucket_are_walked_with_their_places) {
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
  ASSERT_TRUE(walk_versions(store, "pail", [&] { return ++pages > 5; }, take));
  EXPECT_EQ(pages, 2);
  EXPECT_THAT(
      seen, ElementsAre("l9 newest since 0 newer 0", "l8 since 900 newer 0", "l7 since 800 newer 1",
                        "l6 since 700 newer 2", "m2 newest alone since 0 newer 0"));
  EXPECT_EQ(alone, 999);
  int taken = 0;
  ASSERT_TRUE(walk_versions(
      store, "pail", [&] { return taken > 0; },
      [&](const store::PageEntry&, const VersionPlace&) -> store::Answer<void> {
        ++taken;
        return {};
      }));
  EXPECT_EQ(taken, 1000) << "stopped between two pages";
  const auto refusal = walk_versions(
      store, "pail", [] { return false; },
      [](const store::PageEntry&, const VersionPlace&) { return store::refused("SlowDown"); });
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().code, "SlowDown");
}

TEST_F(PagesTest, what_buckets_hold_is_counted_from_the_rows) {
  add("a", version(1, "i", 10));
  add("a", version(0, "o", 200), false);
  rows::Version marker = version(2, "m", 7);
  marker.marker = true;
  add("b", marker);
  rows::Commit commit;
  commit.changes = {{rows::row::object("pail", "bad"), "rubbish"},
                    {rows::row::object("tub", "t"), rows::encode(version(1, "i", 3000))},
                    {rows::row::upload("pail", "u", "up"),
                     rows::encode(rows::Upload{.id = "up", .bucket = "pail", .key = "u"})},
                    {rows::row::part("up", 1),
                     rows::encode(rows::Part{.number = 1, .extent = {"", 40'000, "e", ""}})},
                    {rows::row::part("up", 2),
                     rows::encode(rows::Part{.number = 2, .extent = {"", 500'000, "e", ""}})},
                    {rows::row::part("gone", 1),
                     rows::encode(rows::Part{.number = 1, .extent = {"", 9, "e", ""}})},
                    {rows::row::part("up", 3), "rubbish"}};
  ASSERT_TRUE(rows.commit(commit));
  ASSERT_TRUE(store.measure());
  EXPECT_EQ(store.usage().of("pail").bytes, 540'210u);
  EXPECT_EQ(store.usage().of("pail").objects, 2u);
  EXPECT_EQ(store.usage().of("tub").bytes, 3000u);
  EXPECT_EQ(store.usage().of("tub").objects, 1u);
  EXPECT_EQ(store.usage().all().size(), 2u);
}

TEST(RuleDocuments, have_one_name_once_they_are_read) {
  const std::string rules =
      "<Rule><ID>a</ID><Prefix/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>"
      "</Rule>";
  for (const std::string name : {"LifecycleConfiguration", "BucketLifecycleConfiguration"}) {
    const auto read = lifecycle_of("<" + name + ">" + rules + "</" + name + ">");
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->document.name, "LifecycleConfiguration");
    EXPECT_EQ(read->rules.size(), 1u);
  }
  EXPECT_FALSE(lifecycle_of("<Lifecycle>" + rules + "</Lifecycle>"));
}

}  // namespace
}  // namespace orrery::upkeep::pages_tests
