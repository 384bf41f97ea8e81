// Damaged shards: found by a check or by the scrubber, and rebuilt on their own drive or on another
// drive of the tier.
#include "live/upkeep/mend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/drives/scripted_drive_fixture.h"
#include "live/rows/failing_metadata_fixture.h"
#include "live/rows/records.h"
#include "live/store/blob.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/check.h"

namespace orrery::upkeep::mend_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MendTest : public store::StoreBench {
 protected:
  MendTest() : StoreBench({{"hot", {1, 1}, {"a", "b", "c"}}, {"cold", {1, 0}, {"d"}}}) { begin(); }
  rows::Blob row_of(const std::string& id) {
    return *rows::decode_blob(rows.get(rows::row::blob(id)).value().value());
  }
  rows::Blob row_of(const rows::Blob& blob) { return row_of(blob.id); }
  rows::Blob put_blob(const std::string& key, const std::string& bytes) {
    EXPECT_TRUE(put(key, bytes));
    return row_of(last_blob);
  }
  static std::vector<std::string> places(const rows::Blob& blob) {
    std::vector<std::string> out;
    for (const rows::ShardPlace& shard : blob.shards) {
      out.push_back(shard.drive + ' ' + std::to_string(shard.revision));
    }
    return out;
  }
};

TEST_F(MendTest, a_check_of_shards_counts_the_bytes_read) {
  const rows::Blob blob = put_blob("k", "12345");
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

TEST_F(MendTest, a_shard_goes_back_to_its_drive_or_to_one_without_its_blob) {
  const rows::Blob blob = put_blob("k", "bytes");  // the first blob starts with the second drive
  ASSERT_THAT(places(blob), ElementsAre("b 0", "c 0"));
  drives["b"].files().clear();
  EXPECT_EQ(mend_blob(*store, blob.id, {0}).value().shards, 1);
  EXPECT_THAT(places(row_of(blob)), ElementsAre("b 1", "c 0")) << "its drive is available";
  EXPECT_EQ(drives["b"].files().size(), 1u);
  set["b"] = nullptr;
  open();
  EXPECT_EQ(mend_blob(*store, blob.id, {0}).value().shards, 1);
  EXPECT_THAT(places(row_of(blob)), ElementsAre("a 2", "c 0"));
  set["a"] = nullptr;
  open();
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

TEST_F(MendTest, mending_replaces_the_damaged_file) {
  const rows::Blob blob = put_blob("k", "bytes");
  const std::string name = blob.shards[0].drive;
  drives[name].files().at(store::shard_name(blob.id, 0, 0))->bytes[66] ^= 1;
  EXPECT_EQ(mend_blob(*store, blob.id, {0, 1}).value().shards, 2);
  ASSERT_EQ(drives[name].files().size(), 1u);
  EXPECT_EQ(drives[name].files().begin()->first, store::shard_name(blob.id, 0, 1));
  EXPECT_THAT(places(row_of(blob)), ElementsAre(name + " 1", blob.shards[1].drive + " 1"));
  EXPECT_TRUE(check_store(*store, true)->clean());
}

TEST_F(MendTest, shards_of_a_lost_drive_are_written_elsewhere) {
  for (int i = 0; i < 6; ++i) put("k" + std::to_string(i), std::string(100'000, 'a'));
  set["a"] = nullptr;
  open();
  const auto check = check_store(*store, false);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->blobs, 6u);
  EXPECT_EQ(check->versions, 6u);
  EXPECT_EQ(check->buckets, 1u);
  EXPECT_EQ(check->bytes, 600'000u);
  EXPECT_GT(check->damaged_shards, 0u);
  EXPECT_EQ(check->lost_blobs, 0u) << "each blob has another copy";
  Scrubber scrubber(*store);
  while (*scrubber.step(1 << 24)) {
  }
  EXPECT_EQ(scrubber.counts().mended, check->damaged_shards);
  EXPECT_EQ(scrubber.counts().damaged, check->damaged_shards);
  EXPECT_EQ(scrubber.counts().lost, 0u);
  EXPECT_EQ(scrubber.counts().blobs, 6u);
  EXPECT_EQ(scrubber.counts().rounds, 1u);
  EXPECT_TRUE(check_store(*store, true)->clean());
  const auto cursor = rows.cursor();
  for (cursor->seek("s"); cursor->valid() && cursor->key().starts_with("s"); cursor->next()) {
    const auto blob = rows::decode_blob(cursor->value());
    ASSERT_TRUE(blob);
    EXPECT_NE(blob->shards[0].drive, blob->shards[1].drive) << "two copies, two drives";
    for (const rows::ShardPlace& shard : blob->shards) EXPECT_NE(shard.drive, "a");
  }
}

// Two copies on drives with scripted faults, over rows that fail on demand.
class ScrubTest : public store::StoreBench {
 protected:
  ScrubTest() : StoreBench({{"hot", {1, 1}, {"a", "b"}}}) {
    set = {{"a", &scripted[0]}, {"b", &scripted[1]}};
    through = &failing;
    begin();
  }
  rows::Blob put_bytes(const std::string& key, std::size_t bytes) {
    EXPECT_TRUE(put(key, std::string(bytes, 'x')));
    return *rows::decode_blob(rows.get(rows::row::blob(last_blob)).value().value());
  }
  rows::FailingMetadata failing{rows};
  drives::ScriptedDrive scripted[2];
};

// Two copies of 100 and of 50 bytes: 200 and 100, plus one for each look.
TEST_F(ScrubTest, a_scrub_keeps_to_its_pace) {
  put_bytes("k", 100);
  put_bytes("l", 50);
  Scrubber scrubber(*store);
  EXPECT_TRUE(scrubber.step(201).value()) << "there is another";
  EXPECT_EQ(scrubber.counts().blobs, 1u);
  EXPECT_EQ(scrubber.counts().bytes, 200u);
  EXPECT_FALSE(scrubber.step(102).value()) << "round";
  EXPECT_EQ(scrubber.counts().blobs, 2u);
  EXPECT_EQ(scrubber.counts().bytes, 300u);
  EXPECT_EQ(scrubber.counts().rounds, 1u);
  EXPECT_TRUE(scrubber.step(1).value()) << "from the beginning, with 200 bytes to deduct";
  EXPECT_EQ(scrubber.counts().blobs, 3u);
  EXPECT_TRUE(scrubber.step(150).value());
  EXPECT_TRUE(scrubber.step(50).value());
  EXPECT_EQ(scrubber.counts().blobs, 3u) << "paid";
  EXPECT_FALSE(scrubber.step(1000).value());
  EXPECT_EQ(scrubber.counts().blobs, 4u);
  EXPECT_EQ(scrubber.counts().rounds, 2u);
  EXPECT_EQ(scrubber.counts().damaged + scrubber.counts().mended + scrubber.counts().lost, 0u);
}

TEST_F(ScrubTest, a_scrub_counts_damage_repairs_and_losses) {
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob("0"), "rubbish"}}}));
  const rows::Blob blob = put_bytes("k", 100);
  scripted[0].under.files().clear();
  Scrubber scrubber(*store);
  EXPECT_FALSE(scrubber.step(10'000).value());
  EXPECT_EQ(scrubber.counts().blobs, 1u);
  EXPECT_EQ(scrubber.counts().damaged, 1u);
  EXPECT_EQ(scrubber.counts().mended, 1u);
  EXPECT_EQ(scrubber.counts().lost, 0u);
  scripted[0].under.files().clear();
  scripted[1].under.files().clear();
  EXPECT_FALSE(scrubber.step(10'000).value());
  EXPECT_EQ(scrubber.counts().damaged, 3u);
  EXPECT_EQ(scrubber.counts().mended, 1u);
  EXPECT_EQ(scrubber.counts().lost, 1u);
}

TEST_F(ScrubTest, on_a_remote_drive_only_the_header_is_read) {
  const rows::Blob blob = put_bytes("k", 100);
  EXPECT_EQ(check_shards(store->setting().drives, blob).bytes, 200u);
  scripted[0].remote = true;
  EXPECT_EQ(check_shards(store->setting().drives, blob).bytes, 100u);
  scripted[0].open_fault = drives::Fault{drives::PortFault::busy, "not now"};
  scripted[1].under.files().clear();
  const ShardCheck check = check_shards(store->setting().drives, blob);
  EXPECT_THAT(check.unasked, ElementsAre(1)) << "the first blob has its first shard on the second";
  EXPECT_THAT(check.damaged, ElementsAre(0));
  EXPECT_FALSE(check.lost);
  for (const bool deep : {false, true}) {
    const auto whole = check_store(*store, deep);
    ASSERT_TRUE(whole);
    EXPECT_THAT(whole->faults, ElementsAre(HasSubstr(blob.id)));
    EXPECT_EQ(whole->damaged_shards, 1u);
    EXPECT_EQ(whole->lost_blobs, 0u);
  }
}

TEST_F(ScrubTest, a_fault_of_the_rows_ends_a_mend) {
  const rows::Blob blob = put_bytes("k", 100);
  scripted[1].under.files().clear();  // its first shard
  const auto refused_as = [&](int call) {
    failing.fail_at(call, drives::PortFault::busy);
    const auto mended = mend_blob(*store, blob.id, {0});
    EXPECT_FALSE(store->pins().pinned(blob.id));
    return mended ? "mended" : mended.error().code;
  };
  EXPECT_EQ(refused_as(0), "SlowDown") << "the row is read";
  failing.come_late(1);
  const auto late = mend_blob(*store, blob.id, {0});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->shards, 0);
  EXPECT_THAT(scripted[1].under.files(), IsEmpty()) << "its new file is removed";
  EXPECT_EQ(mend_blob(*store, blob.id, {0})->shards, 1);
  EXPECT_EQ(mend_blob(*store, "none", {0})->shards, 0);
  EXPECT_FALSE(store->pins().pinned("none"));
  scripted[1].under.files().clear();
  EXPECT_EQ(refused_as(1), "SlowDown") << "the row is changed";
}

}  // namespace
}  // namespace orrery::upkeep::mend_tests
