// Buckets, multipart uploads, and the collection of garbage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/rows/records.h"
#include "live/rows/strict_metadata_fixture.h"
#include "live/store/store.h"
#include "live/store/store_fixture.h"

namespace orrery::store::store_buckets_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StoreBuckets : public StoreTest {};

TEST_F(StoreBuckets, buckets_belong_to_an_owner) {
  EXPECT_EQ(store->make_bucket({.name = "pail", .owner = "main"}).error().code,
            "BucketAlreadyOwnedByYou");
  EXPECT_EQ(store->make_bucket({.name = "pail", .owner = "other"}).error().code,
            "BucketAlreadyExists");
  ASSERT_TRUE(store->make_bucket({.name = "shed", .owner = "other"}));
  EXPECT_EQ(store->buckets("main")->size(), 1u);
  EXPECT_EQ(store->buckets("other")->front().name, "shed");
  EXPECT_EQ(store->buckets("")->size(), 2u);
}

TEST_F(StoreBuckets, uploads_count_their_parts_and_leave_nothing_behind) {
  const rows::Upload upload = begun("k");
  put_part(upload, 1, "sent once");
  const rows::Part first = put_part(upload, 1, "again");  // the later one counts
  put_part(upload, 2, "not chosen");
  const rows::Part third = put_part(upload, 3, "!");
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{5 + 10 + 1}, std::uint64_t{0}));
  expect_sound();
  rows::Version whole{.size = 6, .etag = "e-2"};
  whole.extents = {first.extent, {"no such blob", 1, "x", ""}};
  EXPECT_EQ(store->complete_upload(upload, whole, {}).error().code, "InvalidPart");
  whole.extents = {first.extent, third.extent};
  ASSERT_TRUE(store->complete_upload(upload, whole, {}));
  EXPECT_EQ(get("k"), "again!");
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{6}, std::uint64_t{1}));
  EXPECT_EQ(store->upload("pail", "k", upload.id).error().code, "NoSuchUpload");
  expect_sound();
  const rows::Upload left = begun("l");
  put_part(left, 1, "left open");
  ASSERT_TRUE(store->abort_upload("pail", "l", left.id));
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{6}, std::uint64_t{1}));
  expect_sound();
}

TEST_F(StoreBuckets, a_bucket_is_removed_with_its_uploads_but_not_with_objects) {
  ASSERT_TRUE(put("k", "x"));
  EXPECT_EQ(store->remove_bucket("pail").error().code, "BucketNotEmpty");
  removed("k");
  put_part(begun("m"), 1, "open");
  EXPECT_TRUE(store->remove_bucket("pail"));
  ASSERT_TRUE(store->collect());
  EXPECT_EQ(files(), 0u);
}

// If the row of a blob is lost, what uses the blob can still be replaced or removed.
TEST_F(StoreBuckets, an_upload_continues_although_a_blob_of_it_is_lost) {
  const rows::Upload upload = begun("k");
  put_part(upload, 1, "first");
  lose_last_blob();
  const rows::Part second = put_part(upload, 1, "two");
  EXPECT_EQ(used(*store).first, 3u);
  EXPECT_EQ(store->parts(upload.id).value().at(0).extent.blob, second.extent.blob);
  put_part(upload, 2, "not chosen");
  lose_last_blob();
  rows::Version whole{.size = 3, .etag = "e-1"};
  whole.extents = {second.extent};
  ASSERT_TRUE(store->complete_upload(upload, whole, {}));
  EXPECT_EQ(get("k"), "two");
  const rows::Upload aborted = begun("l");
  put_part(aborted, 1, "bytes");
  lose_last_blob();
  EXPECT_TRUE(store->abort_upload("pail", "l", aborted.id));
  EXPECT_FALSE(has_row(rows::row::part(aborted.id, 1)));
  EXPECT_EQ(store->abort_upload("pail", "l", aborted.id).error().code, "NoSuchUpload");
}

// Only the rows that a test writes, next to rows with similar names.
class RowsTest : public StoreBench {
 protected:
  void set(const std::string& key, const std::string& value) {
    ASSERT_TRUE(rows.commit({.changes = {{key, value}}}));
  }
  bool has_row(const std::string& key) { return rows.get(key).value().has_value(); }
  void add_bucket(const std::string& name, rows::Versioning versioning = rows::Versioning::off) {
    set_row(rows::row::bucket(name),
            rows::encode(rows::Bucket{.name = name, .owner = "main", .versioning = versioning}));
  }
  void add_object(const std::string& bucket, const std::string& key, std::uint64_t size = 1) {
    set_row(rows::row::object(bucket, key),
            rows::encode(rows::Version{.stamp = 9, .id = "null", .size = size}));
  }
  void add_old(const std::string& bucket, const std::string& key, std::uint64_t stamp) {
    set_row(rows::row::version(bucket, key, stamp),
            rows::encode(
                rows::Version{.stamp = stamp, .id = "v" + std::to_string(stamp), .size = stamp}));
  }
  void add_upload(const std::string& bucket, const std::string& id, rows::TimeMs started = 0) {
    set_row(
        rows::row::upload(bucket, "k", id),
        rows::encode(rows::Upload{.id = id, .bucket = bucket, .key = "k", .started_ms = started}));
  }
  void add_part(const std::string& upload, std::uint64_t number, std::uint64_t size) {
    set_row(rows::row::part(upload, number),
            rows::encode(rows::Part{.number = number, .extent = {"", size, "", ""}}));
  }
  static rows::RowChange garbage_row(const std::string& id) {
    return {rows::row::garbage(id),
            rows::encode(rows::Blob{
                .id = id, .tier = "hot", .plan = {1, 0}, .block_bytes = 1, .shards = {{"d", 0}}})};
  }
  void add_garbage(const std::string& id) {
    ASSERT_TRUE(rows.commit({.changes = {garbage_row(id)}}));
  }
  void add_garbage_up_to(int count) {
    rows::Commit commit;
    for (int i = 0; i < count; ++i) commit.changes.push_back(garbage_row(garbage_id(i)));
    ASSERT_TRUE(rows.commit(commit));
  }
  static std::string garbage_id(int number) {
    const std::string digits = std::to_string(number);
    return std::string(5 - digits.size(), '0') + digits;
  }
  std::vector<std::string> names(std::string_view owner) {
    std::vector<std::string> out;
    const auto all = store->buckets(owner);
    for (const rows::Bucket& bucket : all.value()) out.push_back(bucket.name);
    return out;
  }
  std::vector<std::uint64_t> numbers(std::string_view upload) {
    std::vector<std::uint64_t> out;
    const auto all = store->parts(upload);
    for (const rows::Part& part : all.value()) out.push_back(part.number);
    return out;
  }

  RowsTest() : StoreBench(one_drive()) {
    through = &strict;
    store = made();
  }
  rows::StrictMetadata strict{rows};
};

TEST_F(RowsTest, buckets_are_read_from_their_rows) {
  EXPECT_THAT(names(""), IsEmpty());
  add_bucket("pail");
  set_row(rows::row::bucket("pot"), rows::encode(rows::Bucket{.name = "pot", .owner = "other"}));
  set_row(rows::row::bucket("rubbish"), "rubbish");
  EXPECT_THAT(names(""), ElementsAre("pail", "pot"));
  EXPECT_THAT(names("main"), ElementsAre("pail"));
  EXPECT_THAT(names("nobody"), IsEmpty());
  set_row("a", "before");
  set_row("c", rows::encode(rows::Bucket{.name = "behind", .owner = "main"}));
  EXPECT_THAT(names(""), ElementsAre("pail", "pot"));
  EXPECT_THAT(names("other"), ElementsAre("pot"));
}

TEST_F(RowsTest, parts_are_those_of_one_upload) {
  EXPECT_THAT(numbers("u"), IsEmpty());
  add_part("u", 1, 5);
  add_part("u", 256, 5);
  EXPECT_THAT(numbers("u"), ElementsAre(1u, 256u));
  add_part("u2", 7, 5);
  add_part("t", 8, 5);
  set_row(rows::row::part("u", 3), "rubbish");
  EXPECT_THAT(numbers("u"), ElementsAre(1u, 256u));
  EXPECT_THAT(numbers("u2"), ElementsAre(7u));
}

TEST_F(RowsTest, removing_a_bucket_spares_buckets_whose_names_begin_alike) {
  for (const char* name : {"pail", "pail2", "pai"}) add_bucket(name);
  ASSERT_TRUE(store->remove_bucket("pai")) << "there is no row of an object";
  add_object("pail2", "k");
  add_upload("pail", "one");
  add_upload("pail", "two");
  set_row(rows::row::upload("pail", "k", "three"), "rubbish");
  add_upload("pail2", "mine");
  add_part("one", 1, 5);
  add_part("mine", 1, 5);
  ASSERT_TRUE(store->remove_bucket("pail"));
  EXPECT_FALSE(has_row(rows::row::bucket("pail")));
  EXPECT_FALSE(has_row(rows::row::upload("pail", "k", "one")));
  EXPECT_FALSE(has_row(rows::row::upload("pail", "k", "two")));
  EXPECT_FALSE(has_row(rows::row::part("one", 1)));
  EXPECT_TRUE(has_row(rows::row::upload("pail2", "k", "mine")));
  EXPECT_TRUE(has_row(rows::row::part("mine", 1)));
  EXPECT_EQ(store->remove_bucket("pail2").error().code, "BucketNotEmpty");
  EXPECT_TRUE(has_row(rows::row::bucket("pail2")));
  EXPECT_EQ(store->remove_bucket("pail").error().code, "NoSuchBucket");
}

// A refused removal leaves one mark on the bucket, however often it is tried.
TEST_F(RowsTest, a_bucket_that_is_not_empty_keeps_its_documents) {
  set_row(
      rows::row::bucket("pail"),
      rows::encode(rows::Bucket{.name = "pail", .owner = "main", .documents = {{"policy", "p"}}}));
  add_object("pail", "k");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(store->remove_bucket("pail"));
  const rows::Bucket bucket = store->bucket("pail").value();
  ASSERT_EQ(bucket.documents.size(), 2u);
  EXPECT_EQ(net::header_of(bucket.documents, "policy"), "p");
  EXPECT_NE(net::header_of(bucket.documents, "removing"), "");
}

TEST_F(RowsTest, a_version_is_found_among_those_of_its_key) {
  add_bucket("pail", rows::Versioning::on);
  add_object("pail", "k");
  EXPECT_EQ(store->find("pail", "k", "v5").error().code, "NoSuchVersion");
  add_old("pail", "k", 5);
  EXPECT_EQ(store->find("pail", "k", "v5").value().stamp, 5u);
  EXPECT_EQ(store->find("pail", "k", "v6").error().code, "NoSuchVersion");
  add_old("pail", "k2", 6);
  add_old("pail2", "k", 7);
  set_row(rows::row::version("pail", "k", 8), "rubbish");
  EXPECT_EQ(store->find("pail", "k", "v6").error().code, "NoSuchVersion");
  EXPECT_EQ(store->find("pail", "k", "v7").error().code, "NoSuchVersion");
  EXPECT_EQ(store->find("pail", "k", "v5").value().stamp, 5u) << "after an unreadable row";
  EXPECT_EQ(store->find("pail", "k", "null").value().stamp, 9u);
  EXPECT_EQ(store->find("pail", "k", std::nullopt).value().stamp, 9u);
  EXPECT_EQ(store->find("pail", "none", std::nullopt).error().code, "NoSuchKey");
}

TEST_F(RowsTest, the_next_version_becomes_the_newest) {
  add_bucket("pail", rows::Versioning::on);
  add_object("pail", "k");
  add_old("pail", "k", 5);
  add_old("pail", "k", 4);
  ASSERT_TRUE(store->remove("pail", "k", {.version_id = "null"}));
  EXPECT_EQ(store->find("pail", "k", std::nullopt).value().id, "v5");
  EXPECT_FALSE(has_row(rows::row::version("pail", "k", 5)));
  add_old("pail", "k2", 3);
  for (const char* id : {"v5", "v4"}) ASSERT_TRUE(store->remove("pail", "k", {.version_id = id}));
  EXPECT_FALSE(has_row(rows::row::object("pail", "k"))) << "k2's version is not k's";
  EXPECT_TRUE(has_row(rows::row::version("pail", "k2", 3)));
  add_object("pail", "l");
  ASSERT_TRUE(store->remove("pail", "l", {.version_id = "null"})) << "there is no row after it";
  EXPECT_FALSE(has_row(rows::row::object("pail", "l")));
}

TEST_F(RowsTest, garbage_is_collected_and_other_rows_stay) {
  EXPECT_EQ(store->collect().value(), 0u);
  add_garbage("a");
  EXPECT_EQ(store->collect().value(), 1u);
  EXPECT_EQ(store->collect().value(), 0u);
  add_garbage("b");
  add_garbage("c");
  set_row("h", "behind");
  ASSERT_TRUE(drives["d"].create("b.00.0"));
  EXPECT_EQ(store->collect().value(), 2u);
  EXPECT_TRUE(drives["d"].files().empty());
  EXPECT_TRUE(has_row("h"));
  EXPECT_FALSE(has_row(rows::row::garbage("b")));
  EXPECT_FALSE(has_row(rows::row::garbage("c")));
}

TEST_F(RowsTest, garbage_is_collected_500_blobs_at_a_time) {
  add_garbage_up_to(1001);
  EXPECT_EQ(store->collect().value(), 500u);
  EXPECT_FALSE(has_row(rows::row::garbage(garbage_id(499))));
  EXPECT_TRUE(has_row(rows::row::garbage(garbage_id(500))));
  EXPECT_EQ(store->collect().value(), 500u);
  EXPECT_EQ(store->collect().value(), 1u);
  EXPECT_EQ(store->collect().value(), 0u);
}

// One call passes over a thousand rows that must wait, and the next begins after them.
TEST_F(RowsTest, garbage_that_is_being_read_does_not_hold_up_the_rest) {
  add_garbage_up_to(1001);
  for (int i = 0; i < 1000; ++i) store->pins().pin(garbage_id(i));
  EXPECT_EQ(store->collect().value(), 0u);
  EXPECT_EQ(store->collect().value(), 1u) << "the last";
  EXPECT_FALSE(has_row(rows::row::garbage(garbage_id(1000))));
  store->pins().unpin(garbage_id(0));
  EXPECT_EQ(store->collect().value(), 1u) << "from the beginning again";
  EXPECT_FALSE(has_row(rows::row::garbage(garbage_id(0))));
  store->pins().unpin(garbage_id(998));
  add_garbage(garbage_id(1000));
  EXPECT_EQ(store->collect().value(), 2u) << "999 of them wait";
}

// Other gateways may still be reading what was removed, so it stays for ten minutes after it was
// first seen.
TEST_F(RowsTest, shared_garbage_stays_for_ten_minutes) {
  rows.share();
  open();
  ASSERT_TRUE(store->make_bucket({.name = "pail", .owner = "main"}));
  ASSERT_TRUE(put("k", "bytes"));
  auto object = opened("k");
  ASSERT_TRUE(object && store->remove("pail", "k", {}));
  object->reader.reset();
  const rows::TimeMs seen = now;
  const auto collected = [&](rows::TimeMs after) {
    now = seen + after;
    return store->collect().value();
  };
  EXPECT_EQ(collected(0), 0u);
  EXPECT_EQ(collected(599'999), 0u);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(collected(600'000), 1u);
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace orrery::store::store_buckets_tests
