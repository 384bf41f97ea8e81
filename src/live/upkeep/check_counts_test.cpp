// A check of the whole store in numbers: what makes it unclean, how many faults it puts into words,
// and where a shard goes whose drive is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"

namespace orrery::upkeep::check_counts_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CheckCounts, one_thing_that_is_wrong_is_enough) {
  EXPECT_TRUE(StoreCheck{}.clean());
  EXPECT_TRUE((StoreCheck{.buckets = 1, .versions = 2, .blobs = 3, .bytes = 4}.clean()));
  EXPECT_FALSE((StoreCheck{.damaged_shards = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.lost_blobs = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.unreferenced = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.orphans = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.stopped = true}.clean()));
  EXPECT_FALSE((StoreCheck{.faults = {"x"}}.clean()));
}

class CheckCountsTest : public testing::Test {
 protected:
  CheckCountsTest() {
    for (const char* name : {"a", "b", "c", "d"}) set[name] = &drives[name];
    reopen();
  }
  void reopen() {
    store = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = rows,
                            .drives = set,
                            .tiers = {{"hot", {1, 1}, {"a", "b", "c"}}, {"cold", {1, 0}, {"d"}}},
                            .now_ms = [] { return rows::TimeMs{1000}; },
                            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
    ASSERT_TRUE(store->open());
  }
  rows::Blob put(const std::string& key, const std::string& bytes) {
    (void)store->make_bucket({.name = "pail", .owner = "main"});
    store::BlobWriter writer = store->writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    const rows::Blob blob = *writer.finish();
    rows::Version version{.size = bytes.size(), .etag = "e"};
    version.extents = {{blob.id, bytes.size(), "e", ""}};
    EXPECT_TRUE(store->put("pail", key, version, {blob}));
    return blob;
  }
  rows::Blob row_of(const rows::Blob& blob) {
    return *rows::decode_blob(rows.get(rows::row::blob(blob.id)).value().value());
  }
  static std::vector<std::string> places(const rows::Blob& blob) {
    std::vector<std::string> out;
    for (const rows::ShardPlace& shard : blob.shards) {
      out.push_back(shard.drive + ' ' + std::to_string(shard.revision));
    }
    return out;
  }

  rows::MemoryMetadata rows;
  std::map<std::string, drives::SimulatedDrive> drives;
  store::DriveSet set;
  std::unique_ptr<store::Store> store;
};

TEST_F(CheckCountsTest, a_hundred_faults_are_put_into_words_and_all_are_counted) {
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(drives["a"].create("orphan" + std::to_string(i) + ".00.0"));
  }
  ASSERT_TRUE(drives["a"].create("not a shard"));
  const StoreCheck check = check_store(*store, false).value();
  EXPECT_EQ(check.orphans, 120u);
  EXPECT_EQ(check.faults.size(), 100u);
  EXPECT_EQ(check.faults.front(), "no row names the file orphan0.00.0 of drive a");
}

TEST_F(CheckCountsTest, a_drive_that_cannot_be_listed_ends_the_check) {
  drives["d"].broken = true;
  EXPECT_EQ(check_store(*store, false).error().code, "InternalError");
  set["d"] = nullptr;
  reopen();
  EXPECT_TRUE(check_store(*store, false)->clean()) << "one that is away has no files";
}

TEST_F(CheckCountsTest, damage_counts_by_shard_and_a_blob_is_lost_beyond_its_parity) {
  const rows::Blob one = put("one", "first");
  const rows::Blob two = put("two", "second");
  StoreCheck check = check_store(*store, true).value();
  EXPECT_TRUE(check.clean());
  EXPECT_EQ(check.blobs, 2u);
  EXPECT_EQ(check.versions, 2u);
  EXPECT_EQ(check.bytes, 11u);
  const auto flip = [&](const rows::Blob& blob, std::size_t shard) {
    drives[blob.shards[shard].drive]
        .files()
        .at(store::shard_name(blob.id, static_cast<int>(shard), 0))
        ->bytes[66] ^= 1;
  };
  flip(one, 0);
  check = check_store(*store, true).value();
  EXPECT_EQ(check.damaged_shards, 1u);
  EXPECT_EQ(check.lost_blobs, 0u);
  EXPECT_THAT(check.faults, IsEmpty());
  EXPECT_FALSE(check.clean());
  EXPECT_EQ(check_store(*store, false).value().damaged_shards, 0u) << "it was only looked for";
  flip(one, 1);
  flip(two, 1);
  check = check_store(*store, true).value();
  EXPECT_EQ(check.damaged_shards, 3u);
  EXPECT_EQ(check.lost_blobs, 1u);
  EXPECT_THAT(check.faults, ElementsAre("blob " + one.id + " has too few good shards"));
}

// Five bytes twice, in two shards; a block that is wrong has none.
TEST_F(CheckCountsTest, a_check_of_shards_counts_what_it_read) {
  const rows::Blob blob = put("k", "12345");
  ShardCheck check = check_shards(set, blob);
  EXPECT_EQ(check.bytes, 10u);
  EXPECT_THAT(check.damaged, IsEmpty());
  EXPECT_THAT(check.unasked, IsEmpty());
  EXPECT_FALSE(check.lost);
  drives[blob.shards[1].drive].files().clear();
  check = check_shards(set, blob);
  EXPECT_EQ(check.bytes, 5u);
  EXPECT_THAT(check.damaged, ElementsAre(1));
}

TEST_F(CheckCountsTest, a_shard_is_written_anew_where_it_was_or_where_nothing_of_its_blob_is) {
  const rows::Blob blob = put("k", "bytes");  // the first blob begins with the second drive
  ASSERT_THAT(places(blob), ElementsAre("b 0", "c 0"));
  drives["b"].files().clear();
  EXPECT_EQ(mend_blob(*store, blob.id, {0}).value().shards, 1);
  EXPECT_THAT(places(row_of(blob)), ElementsAre("b 1", "c 0")) << "its drive is there";
  EXPECT_EQ(drives["b"].files().size(), 1u);
  set["b"] = nullptr;
  reopen();
  EXPECT_EQ(mend_blob(*store, blob.id, {0}).value().shards, 1);
  EXPECT_THAT(places(row_of(blob)), ElementsAre("a 2", "c 0"));
  set["a"] = nullptr;
  reopen();
  const Mended none = mend_blob(*store, blob.id, {0}).value();
  EXPECT_EQ(none.shards, 0);
  ASSERT_TRUE(none.fault) << "c has the other, and d is of another tier";
  EXPECT_EQ(none.fault->kind, drives::PortFault::missing);
  EXPECT_THAT(places(row_of(blob)), ElementsAre("a 2", "c 0"));
  EXPECT_FALSE(store->pins().pinned(blob.id));
  const Mended gone = mend_blob(*store, "none", {0}).value();
  EXPECT_EQ(gone.shards, 0);
  EXPECT_FALSE(gone.fault);
}

TEST_F(CheckCountsTest, what_was_mended_leaves_its_old_file_and_no_other) {
  const rows::Blob blob = put("k", "bytes");
  const std::string name = blob.shards[0].drive;
  drives[name].files().at(store::shard_name(blob.id, 0, 0))->bytes[66] ^= 1;
  EXPECT_EQ(mend_blob(*store, blob.id, {0, 1}).value().shards, 2);
  ASSERT_EQ(drives[name].files().size(), 1u);
  EXPECT_EQ(drives[name].files().begin()->first, store::shard_name(blob.id, 0, 1));
  EXPECT_THAT(places(row_of(blob)), ElementsAre(name + " 1", blob.shards[1].drive + " 1"));
  EXPECT_TRUE(check_store(*store, true)->clean());
}

TEST_F(CheckCountsTest, a_check_that_is_stopped_says_nothing_of_the_rest) {
  put("one", "bytes");
  put("two", "bytes");
  int asked = 0;
  const auto check = check_store(*store, true, [&asked] { return ++asked > 2; });
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->stopped);
  EXPECT_FALSE(check->clean());
  EXPECT_EQ(asked, 3) << "it ends at once";
  EXPECT_THAT(check->faults, IsEmpty()) << "what was not read is not missing";
  EXPECT_EQ(check->orphans, 0u);
}

}  // namespace
}  // namespace orrery::upkeep::check_counts_tests
