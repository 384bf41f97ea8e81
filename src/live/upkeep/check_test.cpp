// A check of the whole store: what it counts, and what makes a store unsound.
#include "live/upkeep/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/records.h"
#include "live/store/blob.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/mend.h"

namespace orrery::upkeep::check_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckTest : public store::StoreBench {
 protected:
  CheckTest() : StoreBench({{"hot", {1, 1}, {"a", "b", "c"}}, {"cold", {1, 0}, {"d"}}}) { begin(); }
  rows::Blob put_blob(const std::string& key, const std::string& bytes) {
    EXPECT_TRUE(put(key, bytes));
    return *rows::decode_blob(rows.get(rows::row::blob(last_blob)).value().value());
  }
};

TEST(StoreCheckTest, any_single_fault_makes_a_store_unclean) {
  EXPECT_TRUE(StoreCheck{}.clean());
  EXPECT_TRUE((StoreCheck{.buckets = 1, .versions = 2, .blobs = 3, .bytes = 4}.clean()));
  EXPECT_FALSE((StoreCheck{.damaged_shards = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.lost_blobs = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.unreferenced = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.orphans = 1}.clean()));
  EXPECT_FALSE((StoreCheck{.stopped = true}.clean()));
  EXPECT_FALSE((StoreCheck{.faults = {"x"}}.clean()));
}

TEST_F(CheckTest, all_faults_are_counted_and_a_hundred_are_described) {
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(drives["a"].create("orphan" + std::to_string(i) + ".00.0"));
  }
  ASSERT_TRUE(drives["a"].create("not a shard"));
  const StoreCheck check = check_store(*store, false).value();
  EXPECT_EQ(check.orphans, 120u);
  EXPECT_EQ(check.faults.size(), 100u);
  EXPECT_EQ(check.faults.front(), "no metadata row refers to file orphan0.00.0 on drive a");
}

TEST_F(CheckTest, a_drive_that_cannot_be_listed_ends_the_check) {
  drives["d"].broken = true;
  EXPECT_EQ(check_store(*store, false).error().code, "InternalError");
  set["d"] = nullptr;
  open();
  EXPECT_TRUE(check_store(*store, false)->clean()) << "a missing drive lists no files";
}

TEST_F(CheckTest, damage_counts_shards_and_loss_counts_blobs) {
  const rows::Blob one = put_blob("one", "first");
  const rows::Blob two = put_blob("two", "second");
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
  EXPECT_EQ(check_store(*store, false).value().damaged_shards, 0u) << "the check only looked for "
                                                                      "the file";
  flip(one, 1);
  flip(two, 1);
  check = check_store(*store, true).value();
  EXPECT_EQ(check.damaged_shards, 3u);
  EXPECT_EQ(check.lost_blobs, 1u);
  EXPECT_THAT(check.faults, ElementsAre("blob " + one.id + " has too few intact shards"));
}

TEST_F(CheckTest, each_kind_of_fault_is_described) {
  const rows::Blob blob = put_blob("k", "four");
  const auto good = check_store(*store, true);
  ASSERT_TRUE(good && good->clean());
  EXPECT_EQ(good->buckets, 1u);
  EXPECT_EQ(good->versions, 1u);
  EXPECT_EQ(good->blobs, 1u);
  EXPECT_EQ(good->bytes, 4u);
  const auto faults = [&](const rows::RowChange& change) {
    const auto before = rows.get(change.key).value_or(std::nullopt);
    set_row(change.key, change.value);
    const auto check = check_store(*store, false);
    set_row(change.key, before);
    std::string all;
    for (const std::string& fault : check->faults) all += fault + '\n';
    return all;
  };
  EXPECT_THAT(faults({rows::row::bucket("tub"), "rubbish"}), HasSubstr("row of a bucket"));
  EXPECT_THAT(faults({rows::row::object("pail", "l"), "rubbish"}), HasSubstr("row of a version"));
  EXPECT_THAT(faults({rows::row::object("gone", "k"), rows::encode(rows::Version{.id = "null"})}),
              HasSubstr("to bucket gone"));
  EXPECT_THAT(faults({rows::row::blob(blob.id), std::nullopt}), HasSubstr("names blob " + blob.id));
  EXPECT_THAT(faults({rows::row::blob("x"), "rubbish"}), HasSubstr("row of a blob"));
  EXPECT_THAT(faults({rows::row::object("pail", "k"), std::nullopt}),
              HasSubstr("no object uses blob " + blob.id));
}

TEST_F(CheckTest, only_a_deep_check_finds_a_flipped_bit) {
  const rows::Blob blob = put_blob("k", std::string(70'000, 'a'));
  auto& content = *drives[blob.shards[0].drive].files().begin()->second;
  content.bytes[5000] ^= 1;
  EXPECT_TRUE(check_store(*store, false)->clean());
  EXPECT_FALSE(check_store(*store, true)->clean());
}

TEST_F(CheckTest, a_blob_without_a_version_and_a_file_without_a_row_are_counted) {
  drives["a"].files()["0000000900000000000000ff.00.0"] =
      std::make_shared<drives::SimulatedDrive::Content>();
  drives["a"].files()["readme.txt"] = std::make_shared<drives::SimulatedDrive::Content>();
  EXPECT_EQ(check_store(*store, false)->orphans, 1u);
  const rows::Blob loose = written("loose");
  set_row(rows::row::blob(loose.id), rows::encode(loose));
  EXPECT_EQ(check_store(*store, false)->unreferenced, 1u);
}

// Small blobs are stored in their rows: a wrong byte there cannot be repaired, and is never
// returned.
TEST_F(CheckTest, a_damaged_blob_in_its_row_is_lost) {
  tiers.front().held_bytes_max = 10;
  open();
  rows::Blob blob = put_blob("k", "first");
  EXPECT_EQ(files(), 0u);
  blob.held[0] ^= 1;
  set_row(rows::row::blob(blob.id), rows::encode(blob));
  EXPECT_EQ(get("k"), "unreadable");
  EXPECT_EQ(check_store(*store, false)->lost_blobs, 1u);
  EXPECT_EQ(check_store(*store, true)->lost_blobs, 1u);
  Scrubber scrubber(*store);
  ASSERT_TRUE(scrubber.step(1 << 20));
  EXPECT_EQ(scrubber.counts().lost, 1u);
  ASSERT_TRUE(store->remove("pail", "k", {}));
  EXPECT_TRUE(check_store(*store, true)->clean());
}

TEST_F(CheckTest, a_check_that_is_stopped_says_nothing_of_the_rest) {
  EXPECT_TRUE(put("one", "bytes"));
  EXPECT_TRUE(put("two", "bytes"));
  int asked = 0;
  const auto check = check_store(*store, true, [&asked] { return ++asked > 2; });
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->stopped);
  EXPECT_FALSE(check->clean());
  EXPECT_EQ(asked, 3) << "it ends at once";
  EXPECT_TRUE(check->faults.empty()) << "unread rows do not count as missing";
  EXPECT_EQ(check->orphans, 0u);
}

}  // namespace
}  // namespace orrery::upkeep::check_tests
