// Files that no row refers to: who sweeps them and when, how long they stay set aside, and what is
// never touched; also the application of lifecycle rules.
#include "live/upkeep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/records.h"
#include "live/store/blob.h"
#include "live/store/store.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/mend.h"

namespace orrery::upkeep::sweep_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kWeekMs = 7ull * 24 * 3600 * 1000;

// One copy of everything on one drive.
class SweepTest : public store::StoreBench {
 protected:
  SweepTest() : StoreBench(store::one_drive()) { begin(); }
  store::StoreSetting setting() override {
    store::StoreSetting made = StoreBench::setting();
    made.agrees = [this] { return agrees; };
    return made;
  }
  static std::string file_of(const rows::Blob& blob) { return store::shard_name(blob.id, 0, 0); }

  bool agrees = true;
};

TEST_F(SweepTest, files_of_a_dead_run_are_set_aside_and_stay_readable) {
  const rows::Blob left = written("never committed");
  open();
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 1u);
  EXPECT_THAT(drives["d"].files(), IsEmpty());
  ASSERT_EQ(drives["d"].aside()->size(), 1u);
  EXPECT_EQ(drives["d"].aside()->front().name, file_of(left));
  EXPECT_TRUE(drives["d"].open(file_of(left)));
}

TEST_F(SweepTest, files_set_aside_are_removed_after_a_week_of_good_health) {
  written("never committed");
  open();
  ASSERT_TRUE(add_well(*store, 1000));
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  ASSERT_TRUE(add_well(*store, kWeekMs - 1));
  EXPECT_EQ(tend_aside(*store)->files, 1u) << "a millisecond is missing";
  ASSERT_TRUE(add_well(*store, 1));
  const auto done = tend_aside(*store);
  EXPECT_EQ(done->removed, 1u);
  EXPECT_EQ(done->files, 0u);
  EXPECT_THAT(*drives["d"].aside(), IsEmpty());
}

TEST_F(SweepTest, a_clock_that_jumps_does_not_shorten_the_week) {
  written("never committed");
  open();
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  for (const rows::TimeMs jump :
       {rows::TimeMs{1} << 45, -(rows::TimeMs{1} << 45), rows::TimeMs{-5'000'000'000}}) {
    now += jump;
    EXPECT_EQ(tend_aside(*store)->files, 1u);
  }
}

TEST_F(SweepTest, nothing_is_removed_while_the_drives_have_seen_newer_metadata) {
  written("never committed");
  open();
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  ASSERT_TRUE(add_well(*store, 2 * kWeekMs));
  agrees = false;
  EXPECT_EQ(tend_aside(*store)->files, 1u);
  agrees = true;
  EXPECT_EQ(tend_aside(*store)->removed, 1u);
}

// The rows that refer to it were restored from a backup.
TEST_F(SweepTest, a_file_set_aside_is_brought_back_if_a_row_names_it) {
  const rows::Blob left = written("lost and found");
  open();
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  ASSERT_TRUE(add_well(*store, 2 * kWeekMs));
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(left.id), rows::encode(left)}}}));
  const auto done = tend_aside(*store);
  EXPECT_EQ(done->brought_back, 1u);
  EXPECT_EQ(done->removed, 0u);
  EXPECT_TRUE(drives["d"].files().contains(file_of(left)));
}

// A run that ended cleanly leaves nothing behind: if a complete object of it has no row, rows are
// lost.
TEST_F(SweepTest, a_whole_object_of_an_earlier_run_stays_and_is_reported) {
  const rows::Blob lost = written("its row is gone");
  ASSERT_TRUE(end_run(*store));
  open();
  const auto swept = sweep_orphans(*store);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->set_aside, 0u);
  EXPECT_EQ(swept->kept, 1u);
  EXPECT_THAT(swept->says, ElementsAre(HasSubstr(file_of(lost))));
  EXPECT_TRUE(drives["d"].files().contains(file_of(lost)));
}

TEST_F(SweepTest, part_of_an_object_of_an_earlier_run_is_set_aside) {
  const rows::Blob part = written(std::string(70'000, 'p'));
  ASSERT_TRUE(end_run(*store));
  drives["d"].files()[file_of(part)]->bytes.resize(10);
  open();
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 1u);
}

TEST_F(SweepTest, files_of_an_unknown_run_stop_the_sweep) {
  written("never committed");
  open();
  drives["d"].files()["000000ff00000000000000aa.00.0"] =
      std::make_shared<drives::SimulatedDrive::Content>();
  const auto swept = sweep_orphans(*store);
  ASSERT_FALSE(swept);
  EXPECT_THAT(swept.error().message, HasSubstr("run 255"));
  EXPECT_EQ(drives["d"].files().size(), 2u);
}

TEST_F(SweepTest, pinned_files_and_files_that_are_not_shards_stay) {
  EXPECT_FALSE(has_died(*store).value());
  set_row(rows::row::epoch(7), "another run");
  EXPECT_TRUE(has_died(*store).value());
  for (const char* name :
       {"00000007000000000000002a.00.0", "00000008000000000000002a.00.0", "mine"}) {
    ASSERT_TRUE(drives["d"].create(name));
  }
  EXPECT_FALSE(sweep_orphans(*store)) << "the rows do not know run 8";
  EXPECT_EQ(files(), 3u);
  set_row(rows::row::epoch(8), "");
  store->pins().pin("00000008000000000000002a");
  const auto swept = sweep_orphans(*store);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->files, 2u);
  EXPECT_EQ(swept->set_aside, 1u);
  EXPECT_TRUE(drives["d"].files().contains("00000008000000000000002a.00.0"));
  EXPECT_TRUE(drives["d"].files().contains("mine"));
  EXPECT_FALSE(has_row(rows::row::epoch(7)));
  EXPECT_TRUE(has_row(rows::row::epoch(8))) << "there is still something to sweep";
  EXPECT_TRUE(has_row(rows::row::epoch(store->epoch())));
}

TEST_F(SweepTest, a_run_that_ended_in_order_leaves_nothing_to_sweep) {
  ASSERT_TRUE(put("k", "kept"));
  written("never named");
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 0u) << "this run may still commit it";
  open();
  EXPECT_TRUE(*has_died(*store));
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 1u);
  EXPECT_FALSE(*has_died(*store));
  EXPECT_EQ(get("k"), "kept");
  ASSERT_TRUE(end_run(*store));
  open();
  EXPECT_FALSE(*has_died(*store));
}

// Two gateways on the same rows and drives.
class SharedSweep : public store::StoreBench {
 protected:
  SharedSweep() : StoreBench({{"hot", {1, 1}, {"d0", "d1"}}}) {
    rows.share();
    EXPECT_TRUE(first.open());
    EXPECT_TRUE(second.open());
    EXPECT_TRUE(first.make_bucket({.name = "pail", .owner = "main"}));
  }
  static store::Answer<rows::Version> put(store::Store& by, const std::string& key,
                                          const rows::Blob& blob) {
    rows::Version fresh{.size = blob.size, .etag = "e"};
    fresh.extents = {{blob.id, blob.size, "e", ""}};
    return by.put("pail", key, fresh, {blob});
  }
  static std::string get(store::Store& by, const std::string& key) {
    auto object = by.open_object("pail", key, std::nullopt,
                                 [](const rows::Version&) -> store::Answer<void> { return {}; });
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    return object->reader->read(0, bytes) ? bytes : "unreadable";
  }
  // The first gateway considers the second dead and sweeps its files.
  void give_up_second() {
    rows.lose_sight_of(second.epoch());
    ASSERT_TRUE(sweep_orphans(first));
  }

  store::Store first{setting()};
  store::Store second{setting()};
};

TEST_F(SharedSweep, files_that_another_gateway_is_writing_stay) {
  const rows::Blob early = written(first, "of the first");
  const rows::Blob late = written(second, "of the second");
  // This holds whichever run is older.
  EXPECT_EQ(sweep_orphans(second)->set_aside, 0u);
  EXPECT_EQ(sweep_orphans(first)->set_aside, 0u);
  EXPECT_TRUE(put(first, "a", early));
  EXPECT_TRUE(put(second, "b", late));
  EXPECT_EQ(get(second, "a"), "of the first");
  EXPECT_EQ(get(first, "b"), "of the second");
}

TEST_F(SharedSweep, an_older_gateway_sweeps_after_a_dead_newer_one) {
  written(second, "lost");
  EXPECT_FALSE(*has_died(first));
  rows.lose_sight_of(second.epoch());
  EXPECT_TRUE(*has_died(first));
  EXPECT_EQ(sweep_orphans(first)->set_aside, 2u);
  EXPECT_EQ(files(), 0u);
  EXPECT_FALSE(*has_died(first));
}

TEST_F(SharedSweep, a_gateway_taken_for_dead_is_refused_until_it_has_a_new_number) {
  ASSERT_TRUE(put(second, "kept", written(second, "kept")));
  const rows::Blob swept = written(second, "swept");
  const std::uint64_t before = second.epoch();
  rows.lose_sight_of(before);
  EXPECT_EQ(sweep_orphans(first)->set_aside, 2u);
  const auto refusal = put(second, "a", swept);
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().code, "ServiceUnavailable");
  EXPECT_EQ(get(first, "a"), "NoSuchKey");
  rows::Upload upload{.bucket = "pail", .key = "parts"};
  upload.id = *second.begin_upload(upload);
  upload = *second.upload("pail", "parts", upload.id);
  EXPECT_FALSE(second.put_part(upload, {.number = 1, .extent = {swept.id, 5, "e", ""}}, swept));
  ASSERT_TRUE(second.renew());
  EXPECT_GT(second.epoch(), before);
  EXPECT_TRUE(put(second, "a", written(second, "again")));
  EXPECT_EQ(get(first, "a"), "again");
  EXPECT_EQ(get(first, "kept"), "kept");
}

// A shard that another gateway rebuilds already has its file name, but no row yet.
TEST_F(SharedSweep, a_shard_that_another_gateway_rebuilds_stays) {
  const rows::Blob blob = written(first, "bytes");
  ASSERT_TRUE(put(first, "a", blob));
  ASSERT_TRUE(end_run(first));
  rows.lose_sight_of(first.epoch());
  store::BlobReader from(second.setting().drives, blob);
  ASSERT_TRUE(store::write_shard(from, 1, drives["d1"], 7));
  EXPECT_EQ(sweep_orphans(second)->set_aside, 0u);
  EXPECT_EQ(mend_blob(second, blob.id, {0})->shards, 1);
  EXPECT_EQ(get(second, "a"), "bytes");
}

TEST_F(SharedSweep, a_gateway_taken_for_dead_changes_and_mends_nothing) {
  ASSERT_TRUE(put(first, "k", written(first, "bytes")));
  const rows::Blob kept = *rows::decode_blob(
      *rows.get(rows::row::blob(first.find("pail", "k", std::nullopt)->extents.at(0).blob))
           .value());
  const rows::Blob fresh = written(second, "fresh");
  give_up_second();
  const auto changed = second.change_version("pail", "k", std::nullopt,
                                             [&](rows::Version& v) -> store::Answer<void> {
                                               v.extents = {extent_of(fresh, "fresh")};
                                               return {};
                                             },
                                             {fresh});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, "ServiceUnavailable");
  drives["d0"].files().clear();
  const std::size_t before = files();
  const auto mended = mend_blob(second, kept.id, {0});
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->shards, 0);
  EXPECT_EQ(files(), before) << "its files are removed";
  EXPECT_EQ(mend_blob(first, kept.id, {0})->shards, 1);
}

TEST_F(SharedSweep, files_that_their_row_places_elsewhere_are_set_aside) {
  ASSERT_TRUE(put(second, "k", written(second, "bytes")));
  const std::string blob = second.find("pail", "k", std::nullopt)->extents.at(0).blob;
  rows.lose_sight_of(second.epoch());
  const auto content = drives["d0"].files().begin()->second;
  const std::string name = drives["d0"].files().begin()->first;
  drives["d1"].files()[name] = content;  // the same revision on another drive
  drives["d0"].files()[store::shard_name(blob, 5, 0)] = content;  // a shard that does not exist
  drives["d0"].files()[store::shard_name(blob, 0, 9)] =
      content;  // a later revision than the row's: its commit may follow
  drives["d0"].files()["notes"] = content;  // not a file of the store
  const auto swept = sweep_orphans(first);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->set_aside, 2u);
  EXPECT_EQ(swept->files, 5u) << "all existing shards";
  EXPECT_FALSE(drives["d1"].files().contains(name));
  EXPECT_FALSE(drives["d0"].files().contains(store::shard_name(blob, 5, 0)));
  EXPECT_TRUE(drives["d0"].files().contains(store::shard_name(blob, 0, 9)));
  EXPECT_TRUE(drives["d0"].files().contains("notes"));
}

class LifecycleRunTest : public store::StoreBench {
 protected:
  LifecycleRunTest() : StoreBench(store::one_drive()) { begin(rows::Versioning::on); }
  void set_rule(const std::string& action) {
    ASSERT_TRUE(store->change_bucket("pail", [&](rows::Bucket& bucket) -> store::Answer<void> {
      bucket.documents = {
          {"lifecycle", "<LifecycleConfiguration><Rule><Prefix/><Status>Enabled</Status>" + action +
                            "</Rule></LifecycleConfiguration>"}};
      return {};
    }));
  }
  LifecycleRun run() {
    const auto done = run_lifecycle(*store, 1000, [] { return false; });
    EXPECT_TRUE(done);
    return done.value_or(LifecycleRun{});
  }
};

TEST_F(LifecycleRunTest, a_rule_leaves_held_versions_and_goes_on_with_others) {
  set_rule(
      "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays>"
      "</NoncurrentVersionExpiration>");
  const std::string held = put("k", "held", {}, {.legal_hold = true})->id;
  ASSERT_TRUE(put("k", "new") && put("z", "1") && put("z", "2"));
  now += 10'000;
  EXPECT_EQ(run().removed, 1u);
  EXPECT_EQ(rows.pending(), 0u) << "the removals are durable at the end";
  EXPECT_EQ(get("k", held), "held");
  EXPECT_EQ(get("z"), "2");
}

TEST_F(LifecycleRunTest, a_rule_aborts_old_uploads_of_its_bucket) {
  set_rule(
      "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation>"
      "</AbortIncompleteMultipartUpload>");
  ASSERT_TRUE(store->make_bucket({.name = "pail2", .owner = "main"}));
  EXPECT_EQ(run().aborted, 0u);
  const auto add = [&](const std::string& bucket, const std::string& id, rows::TimeMs age) {
    set_row(rows::row::upload(bucket, "k", id),
            rows::encode(
                rows::Upload{.id = id, .bucket = bucket, .key = "k", .started_ms = now - age}));
  };
  add("pail", "old", 1000);
  add("pail", "young", 999);
  add("pail2", "theirs", now);
  set_row(rows::row::upload("pail", "k", "rubbish"), "rubbish");
  EXPECT_EQ(run().aborted, 1u);
  EXPECT_FALSE(has_row(rows::row::upload("pail", "k", "old")));
  EXPECT_TRUE(has_row(rows::row::upload("pail", "k", "young")));
  EXPECT_TRUE(has_row(rows::row::upload("pail2", "k", "theirs")));
}

}  // namespace
}  // namespace orrery::upkeep::sweep_tests
