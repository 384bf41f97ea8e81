// Walks over rows end where their kind, bucket, key or upload does, whatever stands behind: rows of
// a neighbour whose name begins alike, rows of another kind, or nothing at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/rows/strict_metadata_fixture.h"
#include "live/store/listing.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep::neighbours_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Nothing is opened: there are no rows but those that a test puts.
class NeighboursTest : public testing::Test {
 protected:
  void set(const std::string& key, const std::string& value) {
    ASSERT_TRUE(rows.commit({.changes = {{key, value}}}));
  }
  bool has(const std::string& key) { return rows.get(key).value().has_value(); }
  void add_bucket(const std::string& name, rows::Versioning versioning = rows::Versioning::off) {
    set(rows::row::bucket(name),
        rows::encode(rows::Bucket{.name = name, .owner = "main", .versioning = versioning}));
  }
  void add_object(const std::string& bucket, const std::string& key, std::uint64_t size = 1) {
    set(rows::row::object(bucket, key),
        rows::encode(rows::Version{.stamp = 9, .id = "null", .size = size}));
  }
  void add_old(const std::string& bucket, const std::string& key, std::uint64_t stamp) {
    set(rows::row::version(bucket, key, stamp),
        rows::encode(
            rows::Version{.stamp = stamp, .id = "v" + std::to_string(stamp), .size = stamp}));
  }
  void add_upload(const std::string& bucket, const std::string& id, rows::TimeMs started = 0) {
    set(rows::row::upload(bucket, "k", id),
        rows::encode(rows::Upload{.id = id, .bucket = bucket, .key = "k", .started_ms = started}));
  }
  void add_part(const std::string& upload, std::uint64_t number, std::uint64_t size) {
    set(rows::row::part(upload, number),
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
    const auto all = store.buckets(owner);
    for (const rows::Bucket& bucket : all.value()) out.push_back(bucket.name);
    return out;
  }
  std::vector<std::uint64_t> numbers(std::string_view upload) {
    std::vector<std::uint64_t> out;
    const auto all = store.parts(upload);
    for (const rows::Part& part : all.value()) out.push_back(part.number);
    return out;
  }
  std::vector<std::string> keys(const store::Answer<store::Page>& page) {
    std::vector<std::string> out;
    for (const store::PageEntry& entry : page.value().entries) {
      out.push_back(entry.key + (entry.common ? "" : '@' + entry.version.id));
    }
    return out;
  }

  rows::MemoryMetadata rows;
  rows::StrictMetadata strict{rows};
  drives::SimulatedDrive drive;
  rows::TimeMs now = 1000;
  store::Store store{{.metadata = strict,
                      .drives = {{"d", &drive}},
                      .tiers = {{"hot", {1, 0}, {"d"}}},
                      .now_ms = [this] { return now; },
                      .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }}};
};

TEST_F(NeighboursTest, buckets_are_those_that_have_a_row_and_an_owner) {
  EXPECT_THAT(names(""), IsEmpty());
  add_bucket("pail");
  set(rows::row::bucket("pot"), rows::encode(rows::Bucket{.name = "pot", .owner = "other"}));
  set(rows::row::bucket("rubbish"), "rubbish");
  EXPECT_THAT(names(""), ElementsAre("pail", "pot"));
  EXPECT_THAT(names("main"), ElementsAre("pail"));
  EXPECT_THAT(names("nobody"), IsEmpty());
  set("a", "before");
  set("c", rows::encode(rows::Bucket{.name = "behind", .owner = "main"}));
  EXPECT_THAT(names(""), ElementsAre("pail", "pot"));
  EXPECT_THAT(names("other"), ElementsAre("pot"));
}

TEST_F(NeighboursTest, parts_are_those_of_one_upload) {
  EXPECT_THAT(numbers("u"), IsEmpty());
  add_part("u", 1, 5);
  add_part("u", 256, 5);
  EXPECT_THAT(numbers("u"), ElementsAre(1u, 256u));
  add_part("u2", 7, 5);
  add_part("t", 8, 5);
  set(rows::row::part("u", 3), "rubbish");
  EXPECT_THAT(numbers("u"), ElementsAre(1u, 256u));
  EXPECT_THAT(numbers("u2"), ElementsAre(7u));
}

TEST_F(NeighboursTest, a_bucket_is_removed_with_its_uploads_beside_one_that_begins_alike) {
  for (const char* name : {"pail", "pail2", "pai"}) add_bucket(name);
  ASSERT_TRUE(store.remove_bucket("pai")) << "no row of an object is there at all";
  add_object("pail2", "k");
  add_upload("pail", "one");
  add_upload("pail", "two");
  set(rows::row::upload("pail", "k", "three"), "rubbish");
  add_upload("pail2", "mine");
  add_part("one", 1, 5);
  add_part("mine", 1, 5);
  ASSERT_TRUE(store.remove_bucket("pail"));
  EXPECT_FALSE(has(rows::row::bucket("pail")));
  EXPECT_FALSE(has(rows::row::upload("pail", "k", "one")));
  EXPECT_FALSE(has(rows::row::upload("pail", "k", "two")));
  EXPECT_FALSE(has(rows::row::part("one", 1)));
  EXPECT_TRUE(has(rows::row::upload("pail2", "k", "mine")));
  EXPECT_TRUE(has(rows::row::part("mine", 1)));
  EXPECT_EQ(store.remove_bucket("pail2").error().code, "BucketNotEmpty");
  EXPECT_TRUE(has(rows::row::bucket("pail2")));
  EXPECT_EQ(store.remove_bucket("pail").error().code, "NoSuchBucket");
}

// A removal that was refused leaves a mark on the bucket: one, however often it is tried.
TEST_F(NeighboursTest, a_bucket_that_is_not_removed_keeps_its_documents) {
  set(rows::row::bucket("pail"),
      rows::encode(rows::Bucket{.name = "pail", .owner = "main", .documents = {{"policy", "p"}}}));
  add_object("pail", "k");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(store.remove_bucket("pail"));
  const rows::Bucket bucket = store.bucket("pail").value();
  ASSERT_EQ(bucket.documents.size(), 2u);
  EXPECT_EQ(net::header_of(bucket.documents, "policy"), "p");
  EXPECT_EQ(net::header_of(bucket.documents, "removing"), store.fresh_id());
}

TEST_F(NeighboursTest, a_version_is_looked_for_among_those_of_its_key) {
  add_bucket("pail", rows::Versioning::on);
  add_object("pail", "k");
  EXPECT_EQ(store.find("pail", "k", "v5").error().code, "NoSuchVersion");
  add_old("pail", "k", 5);
  EXPECT_EQ(store.find("pail", "k", "v5").value().stamp, 5u);
  EXPECT_EQ(store.find("pail", "k", "v6").error().code, "NoSuchVersion");
  add_old("pail", "k2", 6);
  add_old("pail2", "k", 7);
  set(rows::row::version("pail", "k", 8), "rubbish");
  EXPECT_EQ(store.find("pail", "k", "v6").error().code, "NoSuchVersion");
  EXPECT_EQ(store.find("pail", "k", "v7").error().code, "NoSuchVersion");
  EXPECT_EQ(store.find("pail", "k", "v5").value().stamp, 5u) << "behind one that is unreadable";
  EXPECT_EQ(store.find("pail", "k", "null").value().stamp, 9u);
  EXPECT_EQ(store.find("pail", "k", std::nullopt).value().stamp, 9u);
  EXPECT_EQ(store.find("pail", "none", std::nullopt).error().code, "NoSuchKey");
}

TEST_F(NeighboursTest, the_one_before_takes_the_place_of_the_newest_where_there_is_one) {
  add_bucket("pail", rows::Versioning::on);
  add_object("pail", "k");
  add_old("pail", "k", 5);
  add_old("pail", "k", 4);
  ASSERT_TRUE(store.remove("pail", "k", {.version_id = "null"}));
  EXPECT_EQ(store.find("pail", "k", std::nullopt).value().id, "v5");
  EXPECT_FALSE(has(rows::row::version("pail", "k", 5)));
  add_old("pail", "k2", 3);
  for (const char* id : {"v5", "v4"}) ASSERT_TRUE(store.remove("pail", "k", {.version_id = id}));
  EXPECT_FALSE(has(rows::row::object("pail", "k"))) << "k2's version is not k's";
  EXPECT_TRUE(has(rows::row::version("pail", "k2", 3)));
  add_object("pail", "l");
  ASSERT_TRUE(store.remove("pail", "l", {.version_id = "null"})) << "no row behind it";
  EXPECT_FALSE(has(rows::row::object("pail", "l")));
}

TEST_F(NeighboursTest, listings_are_of_one_bucket) {
  const store::PageRequest of{.bucket = "pail"};
  EXPECT_THAT(keys(store::page_of_objects(strict, of)), IsEmpty());
  add_object("pail", "a");
  add_object("pail", "b");
  EXPECT_THAT(keys(store::page_of_objects(strict, of)), ElementsAre("a@null", "b@null"));
  EXPECT_THAT(keys(store::page_of_versions(strict, of)), ElementsAre("a@null", "b@null"));
  add_old("pail", "a", 5);
  add_old("pail", "a", 4);
  EXPECT_THAT(keys(store::page_of_versions(strict, of)),
              ElementsAre("a@null", "a@v5", "a@v4", "b@null"));
  add_object("pail2", "a");
  add_object("pai", "z");
  add_old("pail", "a2", 3);
  EXPECT_THAT(keys(store::page_of_objects(strict, of)), ElementsAre("a@null", "b@null"));
  EXPECT_THAT(keys(store::page_of_versions(strict, of)),
              ElementsAre("a@null", "a@v5", "a@v4", "b@null"));
  store::PageRequest none = of;
  none.most = 0;
  EXPECT_THAT(keys(store::page_of_objects(strict, none)), IsEmpty());
  EXPECT_FALSE(store::page_of_objects(strict, none)->truncated);
}

TEST_F(NeighboursTest, what_is_held_is_counted_by_bucket) {
  ASSERT_TRUE(store.measure());
  EXPECT_TRUE(store.usage().all().empty());
  add_object("pail", "a", 10);
  ASSERT_TRUE(store.measure());
  EXPECT_EQ(store.usage().of("pail").bytes, 10u) << "and nothing behind it";
  add_object("pail2", "a", 20);
  add_old("pail", "a", 5);
  add_upload("pail", "u");
  add_upload("pail2", "u2");
  add_part("u", 1, 100);
  add_part("u2", 1, 200);
  add_part("lost", 1, 400);
  set(rows::row::object("pail", "gone"),
      rows::encode(rows::Version{.stamp = 1, .marker = true, .size = 0}));
  for (const std::string& key : {rows::row::object("pail", "x"), rows::row::version("pail", "x", 1),
                                 rows::row::upload("pail", "x", "y"), rows::row::part("u", 2)}) {
    set(key, "rubbish");
  }
  set("w", "behind all");
  ASSERT_TRUE(store.measure());
  EXPECT_EQ(store.usage().of("pail").bytes, 115u) << "10 + 5 + 100";
  EXPECT_EQ(store.usage().of("pail").objects, 2u);
  EXPECT_EQ(store.usage().of("pail2").bytes, 220u);
  EXPECT_EQ(store.usage().of("pail2").objects, 1u);
  EXPECT_EQ(store.usage().all().size(), 2u);
}

TEST_F(NeighboursTest, garbage_is_collected_up_to_its_end) {
  EXPECT_EQ(store.collect().value(), 0u);
  add_garbage("a");
  EXPECT_EQ(store.collect().value(), 1u);
  EXPECT_EQ(store.collect().value(), 0u);
  add_garbage("b");
  add_garbage("c");
  set("h", "behind");
  ASSERT_TRUE(drive.create("b.00.0"));
  EXPECT_EQ(store.collect().value(), 2u);
  EXPECT_TRUE(drive.files().empty());
  EXPECT_TRUE(has("h"));
  EXPECT_FALSE(has(rows::row::garbage("b")));
  EXPECT_FALSE(has(rows::row::garbage("c")));
}

TEST_F(NeighboursTest, garbage_goes_five_hundred_at_a_time) {
  add_garbage_up_to(1001);
  EXPECT_EQ(store.collect().value(), 500u);
  EXPECT_FALSE(has(rows::row::garbage(garbage_id(499))));
  EXPECT_TRUE(has(rows::row::garbage(garbage_id(500))));
  EXPECT_EQ(store.collect().value(), 500u);
  EXPECT_EQ(store.collect().value(), 1u);
  EXPECT_EQ(store.collect().value(), 0u);
}

// A thousand that must wait are passed over in one call, and the next begins behind them.
TEST_F(NeighboursTest, what_is_read_is_passed_over_a_thousand_at_a_time) {
  add_garbage_up_to(1001);
  for (int i = 0; i < 1000; ++i) store.pins().pin(garbage_id(i));
  EXPECT_EQ(store.collect().value(), 0u);
  EXPECT_EQ(store.collect().value(), 1u) << "the last";
  EXPECT_FALSE(has(rows::row::garbage(garbage_id(1000))));
  store.pins().unpin(garbage_id(0));
  EXPECT_EQ(store.collect().value(), 1u) << "from the front again";
  EXPECT_FALSE(has(rows::row::garbage(garbage_id(0))));
  store.pins().unpin(garbage_id(998));
  add_garbage(garbage_id(1000));
  EXPECT_EQ(store.collect().value(), 2u) << "999 of them wait";
}

TEST_F(NeighboursTest, runs_are_those_that_have_a_row) {
  EXPECT_FALSE(has_died(store).value());
  EXPECT_EQ(sweep_orphans(store).value().files, 0u);
  set(rows::row::epoch(0), "this run's own");
  set("f", "behind");
  EXPECT_FALSE(has_died(store).value());
  set(rows::row::epoch(7), "another's");
  EXPECT_TRUE(has_died(store).value());
  ASSERT_TRUE(drive.create("00000007000000000000002a.00.0"));
  ASSERT_TRUE(drive.create("00000008000000000000002a.00.0"));
  ASSERT_TRUE(drive.create("mine"));
  EXPECT_FALSE(sweep_orphans(store)) << "the rows know of no run 8";
  EXPECT_EQ(drive.files().size(), 3u);
  set(rows::row::epoch(8), "");
  store.pins().pin("00000008000000000000002a");
  const auto swept = sweep_orphans(store);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->files, 2u);
  EXPECT_EQ(swept->set_aside, 1u);
  EXPECT_TRUE(drive.files().contains("00000008000000000000002a.00.0"));
  EXPECT_TRUE(drive.files().contains("mine"));
  EXPECT_FALSE(has(rows::row::epoch(7)));
  EXPECT_TRUE(has(rows::row::epoch(8))) << "there is still something to sweep";
  EXPECT_TRUE(has(rows::row::epoch(0)));
}

TEST_F(NeighboursTest, a_scrub_and_a_check_end_with_their_rows) {
  Scrubber scrubber(store);
  EXPECT_FALSE(scrubber.step(1).value()) << "nothing is there";
  EXPECT_EQ(scrubber.counts().rounds, 1u);
  const rows::Blob held{
      .id = "x", .size = 1, .tier = "hot", .plan = {1, 0}, .block_bytes = 9, .shards = {{"d", 0}}};
  set(rows::row::blob("x"), rows::encode(held));
  EXPECT_FALSE(scrubber.step(1000).value());
  EXPECT_EQ(scrubber.counts().blobs, 1u);
  set("t", rows::encode(held));
  EXPECT_FALSE(scrubber.step(1000).value());
  EXPECT_EQ(scrubber.counts().blobs, 2u);
  EXPECT_EQ(scrubber.counts().rounds, 3u);
  add_bucket("pail");
  add_object("pail", "k", 7);
  add_old("pail", "k", 5);
  set("w", "behind all");
  const auto check = check_store(store, false);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->buckets, 1u);
  EXPECT_EQ(check->versions, 2u);
  EXPECT_EQ(check->bytes, 12u);
  EXPECT_EQ(check->blobs, 1u);
  EXPECT_EQ(check->unreferenced, 1u);
  EXPECT_EQ(check->damaged_shards, 1u);
}

TEST_F(NeighboursTest, rules_end_the_uploads_of_their_bucket) {
  set(rows::row::bucket("pail"),
      rows::encode(
          rows::Bucket{.name = "pail",
                       .owner = "main",
                       .documents = {{"lifecycle",
                                      "<LifecycleConfiguration><Rule><ID>r</ID><Prefix/><Status>"
                                      "Enabled</Status><AbortIncompleteMultipartUpload>"
                                      "<DaysAfterInitiation>1</DaysAfterInitiation>"
                                      "</AbortIncompleteMultipartUpload></Rule>"
                                      "</LifecycleConfiguration>"}}}));
  add_bucket("pail2");
  now = 10'000;
  const auto never = [] { return false; };
  EXPECT_EQ(run_lifecycle(store, 1000, never).value().aborted, 0u);
  add_upload("pail", "old", 9000);
  add_upload("pail", "young", 9001);
  set(rows::row::upload("pail", "k", "rubbish"), "rubbish");
  EXPECT_EQ(run_lifecycle(store, 1000, never).value().aborted, 1u);
  EXPECT_FALSE(has(rows::row::upload("pail", "k", "old")));
  EXPECT_TRUE(has(rows::row::upload("pail", "k", "young")));
  add_upload("pail2", "theirs", 0);
  const LifecycleRun run = run_lifecycle(store, 1000, never).value();
  EXPECT_EQ(run.aborted + run.expired + run.removed, 0u);
  EXPECT_TRUE(has(rows::row::upload("pail2", "k", "theirs")));
}

}  // namespace
}  // namespace orrery::upkeep::neighbours_tests
