// Listings of objects and versions: pages, prefixes and delimiters, and the rows of one bucket
// among others with similar names.
#include "live/store/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/rows/records.h"
#include "live/rows/strict_metadata_fixture.h"
#include "live/store/store_fixture.h"

namespace orrery::store::listing_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ListingTest : public StoreTest {
 protected:
  std::vector<std::string> listed(PageRequest request, bool* truncated = nullptr) {
    request.bucket = "pail";
    const auto page = page_of_objects(rows, request);
    EXPECT_TRUE(page);
    std::vector<std::string> keys;
    for (const PageEntry& entry : page->entries) keys.push_back(entry.key);
    if (truncated) *truncated = page->truncated;
    return keys;
  }
};

TEST_F(ListingTest, pages_of_any_size_add_up_to_the_same_listing) {
  for (const char* key : {"a", "a/1", "a/2", "a/b/3", "b", "b-", "c/", "c/x", "d//e"})
    put(key, "x");
  set_versioning(rows::Versioning::on);
  put("gone", "x");
  EXPECT_EQ(removed("gone").substr(0, 7), "marker ");
  ASSERT_TRUE(store->make_bucket({.name = "pail2", .owner = "main"}));
  EXPECT_THAT(listed({}), ElementsAre("a", "a/1", "a/2", "a/b/3", "b", "b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.delimiter = "/"}), ElementsAre("a", "a/", "b", "b-", "c/", "d/"));
  EXPECT_THAT(listed({.prefix = "a/", .delimiter = "/"}), ElementsAre("a/1", "a/2", "a/b/"));
  EXPECT_THAT(listed({.prefix = "d/", .delimiter = "/"}), ElementsAre("d//"));
  EXPECT_THAT(listed({.prefix = "b"}), ElementsAre("b", "b-"));
  EXPECT_THAT(listed({.delimiter = "/b"}),
              ElementsAre("a", "a/1", "a/2", "a/b", "b", "b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.prefix = "z"}), ElementsAre());
  EXPECT_THAT(listed({.most = 0}), ElementsAre());
  for (const PageRequest& whole : {PageRequest{}, PageRequest{.bucket = {}, .delimiter = "/"},
                                   PageRequest{.bucket = {}, .prefix = "a/", .delimiter = "/"},
                                   PageRequest{.bucket = {}, .prefix = "b"}}) {
    const std::vector<std::string> all = listed(whole);
    for (std::size_t most = 1; most <= all.size() + 1; ++most) {
      std::vector<std::string> pages;
      PageRequest request = whole;
      request.most = most;
      bool more = true;
      while (more) {
        const auto page = listed(request, &more);
        pages.insert(pages.end(), page.begin(), page.end());
        EXPECT_TRUE(!more || page.size() == most);
        if (more) request.after = page.back();
      }
      EXPECT_EQ(pages, all) << most;
    }
  }
  // After a key of the bucket, after a key that does not exist, and after a text before the prefix.
  EXPECT_THAT(listed({.after = "b"}), ElementsAre("b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.after = "b!"}), ElementsAre("b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.prefix = "b", .after = "a"}), ElementsAre("b", "b-"));
  EXPECT_THAT(listed({.delimiter = "/", .after = "a/"}), ElementsAre("b", "b-", "c/", "d/"));
}

TEST_F(ListingTest, a_key_right_after_a_common_prefix_is_listed) {
  for (const char* key : {"a/1", "a/2", "a0", "a00", "a1", "b/x", "b0/y"}) put(key, "x");
  EXPECT_THAT(listed({.delimiter = "/"}), ElementsAre("a/", "a0", "a00", "a1", "b/", "b0/"));
  EXPECT_THAT(listed({.delimiter = "/", .after = "a/"}),
              ElementsAre("a0", "a00", "a1", "b/", "b0/"));
}

TEST_F(ListingTest, versions_are_listed_newest_first_and_paged_by_their_ids) {
  set_versioning(rows::Versioning::on);
  put("a", "1");
  put("a", "2");
  put("a", "3");
  removed("b");
  put("c/x", "4");
  const auto page = [&](PageRequest request) {
    request.bucket = "pail";
    return page_of_versions(rows, request).value_or(Page{});
  };
  const Page all = page({});
  ASSERT_EQ(all.entries.size(), 5u);
  EXPECT_EQ(all.entries[0].version.etag, "e-3");
  EXPECT_EQ(all.entries[2].version.etag, "e-1");
  EXPECT_TRUE(all.entries[0].newest);
  EXPECT_FALSE(all.entries[1].newest);
  EXPECT_TRUE(all.entries[3].version.marker);
  EXPECT_FALSE(all.truncated);
  for (std::size_t most = 1; most < 6; ++most) {
    std::vector<std::string> ids;
    PageRequest request{.bucket = "pail", .most = most};
    Page part = page(request);
    while (true) {
      for (const PageEntry& entry : part.entries) ids.push_back(entry.version.id);
      if (!part.truncated) break;
      EXPECT_EQ(part.entries.size(), most);
      request.after = part.entries.back().key;
      request.after_version = part.entries.back().version.id;
      part = page(request);
    }
    ASSERT_EQ(ids.size(), 5u) << most;
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(ids[i], all.entries[i].version.id);
  }
  // A key marker without a version id comes after all versions of the key.
  EXPECT_EQ(page({.bucket = {}, .after = "a"}).entries.size(), 2u);
  EXPECT_TRUE(page({.bucket = {}, .delimiter = "/"}).entries.back().common);
}

class Pages : public testing::Test {
 protected:
  Pages()
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
  // Shows "KEY:ID" for each version, "KEY..." for a common prefix, and "+" if the page is
  // truncated.
  static std::vector<std::string> shown(const Answer<Page>& page) {
    if (!page) return {page.error().code};
    std::vector<std::string> out;
    for (const PageEntry& entry : page->entries) {
      out.push_back(entry.common ? entry.key + "..."
                                 : entry.key + ':' + entry.version.id + (entry.newest ? "!" : ""));
    }
    if (page->truncated) out.emplace_back("+");
    return out;
  }
  std::vector<std::string> objects(PageRequest request) {
    request.bucket = "pail";
    return shown(page_of_objects(rows, request));
  }
  std::vector<std::string> versions(PageRequest request) {
    request.bucket = "pail";
    return shown(page_of_versions(rows, request));
  }

  rows::MemoryMetadata rows;
  drives::SimulatedDrive drive;
  Store store;
};

TEST_F(Pages, a_truncated_page_says_so) {
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
      << "a prefix that no longer fits on the page";
  EXPECT_THAT(versions({.delimiter = "/", .most = 1}), ElementsAre("a:i!", "+"));
  EXPECT_THAT(versions({.prefix = "b/", .delimiter = "/"}), ElementsAre("b/1:i!", "b/2:i!"));
  EXPECT_THAT(versions({.delimiter = "/", .after = "b/"}), ElementsAre("c:i!", "d/..."));
}

TEST_F(Pages, a_page_may_end_between_the_versions_of_a_key) {
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

TEST_F(Pages, delete_markers_are_listed_as_versions_only) {
  rows::Version marker = version(9, "m");
  marker.marker = true;
  add("a/1", marker);
  add("b", marker);
  add("c", version(1, "i"));
  EXPECT_THAT(objects({}), ElementsAre("c:i!"));
  EXPECT_THAT(objects({.delimiter = "/", .most = 1}), ElementsAre("c:i!")) << "no prefix of it";
  EXPECT_THAT(versions({}), ElementsAre("a/1:m!", "b:m!", "c:i!"));
}

// Walks read a cursor only while it is on a row.
class StrictListing : public StoreBench {
 protected:
  void add_object(const std::string& bucket, const std::string& key) {
    set_row(rows::row::object(bucket, key),
            rows::encode(rows::Version{.stamp = 9, .id = "null", .size = 1}));
  }
  void add_old(const std::string& bucket, const std::string& key, std::uint64_t stamp) {
    set_row(rows::row::version(bucket, key, stamp),
            rows::encode(rows::Version{.stamp = stamp, .id = "v" + std::to_string(stamp)}));
  }
  static std::vector<std::string> keys(const Answer<Page>& page) {
    std::vector<std::string> out;
    for (const PageEntry& entry : page.value().entries) {
      out.push_back(entry.key + (entry.common ? "" : '@' + entry.version.id));
    }
    return out;
  }
  rows::StrictMetadata strict{rows};
};

TEST_F(StrictListing, ends_with_its_bucket) {
  const PageRequest of{.bucket = "pail"};
  EXPECT_THAT(keys(page_of_objects(strict, of)), IsEmpty());
  add_object("pail", "a");
  add_object("pail", "b");
  EXPECT_THAT(keys(page_of_objects(strict, of)), ElementsAre("a@null", "b@null"));
  EXPECT_THAT(keys(page_of_versions(strict, of)), ElementsAre("a@null", "b@null"));
  add_old("pail", "a", 5);
  add_old("pail", "a", 4);
  EXPECT_THAT(keys(page_of_versions(strict, of)), ElementsAre("a@null", "a@v5", "a@v4", "b@null"));
  add_object("pail2", "a");
  add_object("pai", "z");
  add_old("pail", "a2", 3);
  EXPECT_THAT(keys(page_of_objects(strict, of)), ElementsAre("a@null", "b@null"));
  EXPECT_THAT(keys(page_of_versions(strict, of)), ElementsAre("a@null", "a@v5", "a@v4", "b@null"));
  PageRequest none = of;
  none.most = 0;
  EXPECT_THAT(keys(page_of_objects(strict, none)), IsEmpty());
  EXPECT_FALSE(page_of_objects(strict, none)->truncated);
}

}  // namespace
}  // namespace orrery::store::listing_tests
