// The store over rows and drives in memory: versions, conditions, locks, readers, stamps and names,
// and what happens if rows are lost or answers are missing.
#include "live/store/store.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/rows/failing_metadata_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/rows/records.h"
#include "live/store/blob.h"
#include "live/store/store_fixture.h"

namespace orrery::store::store_tests {
namespace {

// "Using versioning in S3 buckets": what a put and a delete do with versioning on, suspended and
// off.
TEST_F(StoreTest, versions_follow_the_versioning_of_the_bucket) {
  put("k", "off");
  EXPECT_EQ(get("k", "null"), "off");
  put("k", "replaced");
  EXPECT_EQ(get("k"), "replaced");
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{8}, std::uint64_t{1}));
  set_versioning(rows::Versioning::on);
  const std::string one = put("k", "one")->id;
  const std::string two = put("k", "two")->id;
  EXPECT_EQ(get("k", "null"), "replaced") << "the previous version stays";
  EXPECT_EQ(get("k", one), "one");
  EXPECT_EQ(get("k"), "two");
  set_versioning(rows::Versioning::suspended);
  EXPECT_EQ(put("k", "null again")->id, "null");
  EXPECT_EQ(get("k"), "null again");
  EXPECT_EQ(get("k", "null"), "null again") << "the null version is replaced";
  EXPECT_EQ(get("k", two), "two");
  EXPECT_EQ(used(*store).second, 3u);
  put("k", "null once more");
  EXPECT_EQ(used(*store).second, 3u);
  // A delete while versioning is suspended replaces the version "null" by a delete marker with that
  // id.
  EXPECT_EQ(removed("k"), "marker null");
  EXPECT_EQ(get("k"), "marker");
  EXPECT_EQ(used(*store).second, 2u);
  // Once the marker is removed, the next newest version is back.
  EXPECT_EQ(removed("k", {.version_id = "null"}), "marker null");
  EXPECT_EQ(get("k"), "two");
  EXPECT_EQ(removed("k", {.version_id = two}), two);
  EXPECT_EQ(get("k"), "one");
  EXPECT_EQ(removed("k", {.version_id = one}), one);
  EXPECT_EQ(get("k"), "NoSuchKey");
  EXPECT_EQ(get("k", one), "NoSuchVersion");
  EXPECT_EQ(removed("k", {.version_id = one}), one) << "removing a missing object succeeds";
  set_versioning(rows::Versioning::off);
  put("k", "x");
  EXPECT_EQ(removed("k"), "") << "no version, no id";
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  expect_sound();
}

TEST_F(StoreTest, conditions_hold_against_the_newest_version) {
  const WriteCondition none{.if_none_match = "*"};
  EXPECT_EQ(put("k", "a", {.if_match = "e-a"}).error().code, "NoSuchKey");
  EXPECT_TRUE(put("k", "a", none));
  EXPECT_EQ(put("k", "b", none).error().code, "PreconditionFailed");
  EXPECT_TRUE(put("k", "b", {.if_match = "e-a"}));
  EXPECT_EQ(put("k", "c", {.if_match = "e-a"}).error().code, "PreconditionFailed");
  EXPECT_TRUE(put("k", "c", {.if_match = "\"e-b\""})) << "also with quotes";
  EXPECT_TRUE(put("k", "d", {.if_match = "*"}));
  EXPECT_EQ(put("k", "e", {.if_none_match = "e-d"}).error().code, "PreconditionFailed");
  EXPECT_TRUE(put("k", "e", {.if_none_match = "e-c"}));
  EXPECT_EQ(removed("k", {.condition = {.if_match = "e-a"}}), "PreconditionFailed");
  EXPECT_EQ(get("k"), "e");
  set_versioning(rows::Versioning::on);
  removed("k");
  EXPECT_TRUE(put("k", "f", none)) << "a delete marker is not an object";
}

TEST_F(StoreTest, held_and_retained_versions_stay) {
  set_versioning(rows::Versioning::on);
  const auto kept = [&](rows::Retention retention, bool hold) {
    rows::Version fresh;
    fresh.retention = std::move(retention);
    fresh.legal_hold = hold;
    return put("k", "x", {}, fresh)->id;
  };
  const rows::TimeMs later = now + 1'000'000;
  const std::string held = kept({}, true);
  const std::string governed = kept({"GOVERNANCE", later}, false);
  const std::string complied = kept({"COMPLIANCE", later}, false);
  EXPECT_EQ(removed("k", {.version_id = held, .bypass_governance = true}), "AccessDenied");
  EXPECT_EQ(removed("k", {.version_id = governed}), "AccessDenied");
  EXPECT_EQ(removed("k", {.version_id = complied, .bypass_governance = true}), "AccessDenied");
  EXPECT_EQ(removed("k", {.version_id = governed, .bypass_governance = true}), governed);
  EXPECT_EQ(removed("k").substr(0, 7), "marker ") << "a delete marker removes nothing";
  now = later - 1;
  EXPECT_EQ(removed("k", {.version_id = complied}), "AccessDenied");
  now = later;
  EXPECT_EQ(removed("k", {.version_id = complied}), complied);
}

TEST_F(StoreTest, a_removal_may_name_the_version_that_it_means) {
  set_versioning(rows::Versioning::on);
  const rows::Version old = *put("k", "old");
  put("k", "new");
  const auto only = [&](const rows::Version& there) { return there.stamp == old.stamp; };
  const auto gone = store->remove("pail", "k", {.only = only});
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->marker) << "another version is now the newest";
  EXPECT_EQ(get("k"), "new");
  const auto other = store->remove(
      "pail", "k", {.version_id = old.id, .only = [](const rows::Version&) { return false; }});
  EXPECT_TRUE(other);
  EXPECT_EQ(get("k", old.id), "old");
}

TEST_F(StoreTest, a_change_discards_unused_blobs_and_refuses_markers) {
  put("k", "first");
  const rows::Blob other = written("other");
  ASSERT_TRUE(store->change_version("pail", "k", std::nullopt,
                                    [&](rows::Version& v) -> Answer<void> {
                                      v.extents = {{other.id, 5, v.etag, ""}};
                                      return {};
                                    },
                                    {other}));
  EXPECT_EQ(get("k"), "other");
  expect_sound();
  const auto nothing = [](rows::Version&) -> Answer<void> { return {}; };
  EXPECT_EQ(store->change_version("pail", "no", std::nullopt, nothing).error().code, "NoSuchKey");
  EXPECT_EQ(store->change_version("pail", "k", "v", nothing).error().code, "NoSuchVersion");
  set_versioning(rows::Versioning::on);
  const std::string marker = store->remove("pail", "k", {})->version_id;
  EXPECT_EQ(store->change_version("pail", "k", std::nullopt, nothing).error().code, "NoSuchKey");
  EXPECT_EQ(store->change_version("pail", "k", marker, nothing).error().code, "MethodNotAllowed");
}

TEST_F(StoreTest, a_blob_stays_while_it_is_read) {
  BlobPins pins;
  pins.pin("b");
  pins.pin("b");
  pins.unpin("b");
  EXPECT_TRUE(pins.pinned("b"));
  pins.unpin("b");
  EXPECT_FALSE(pins.pinned("b"));
  put("k", "bytes");
  auto reader = store->open_object("pail", "k", std::nullopt,
                                   [](const rows::Version&) -> Answer<void> { return {}; });
  ASSERT_TRUE(reader);
  removed("k");
  EXPECT_EQ(*store->collect(), 0u);
  std::string bytes(5, ' ');
  ASSERT_TRUE(reader->reader->read(0, bytes));
  EXPECT_EQ(bytes, "bytes");
  reader->reader.reset();
  EXPECT_EQ(*store->collect(), 1u);
}

// An object of several parts is one sequence of bytes: reads may start at any offset and have any
// length.
TEST_F(StoreTest, parts_are_read_across_their_borders) {
  const std::string all = "abcdefghijklmnopqrstuvwxyz";
  std::vector<rows::Blob> blobs;
  rows::Version whole{.size = all.size(), .etag = "e"};
  std::size_t at = 0;
  for (const std::size_t bytes : {5u, 1u, 0u, 12u, 8u}) {
    if (bytes > 0) blobs.push_back(written(all.substr(at, bytes)));
    whole.extents.push_back({bytes > 0 ? blobs.back().id : "", bytes, "e", ""});
    at += bytes;
  }
  ASSERT_TRUE(store->put("pail", "k", whole, blobs));
  auto object = store->open_object("pail", "k", std::nullopt,
                                   [](const rows::Version&) -> Answer<void> { return {}; });
  ASSERT_TRUE(object);
  for (std::size_t from = 0; from <= all.size(); ++from) {
    for (std::size_t count = 1; count <= 30; ++count) {
      std::string bytes(count, '\0');
      const auto got = object->reader->read(from, bytes);
      ASSERT_TRUE(got);
      EXPECT_EQ(bytes.substr(0, *got), all.substr(from, count)) << from << ' ' << count;
    }
  }
}

TEST_F(StoreTest, a_removal_is_as_durable_as_requested) {
  set_versioning(rows::Versioning::on);
  put("k", "x");
  EXPECT_EQ(rows.pending(), 0u);
  const auto marked = store->remove("pail", "k", {.durable = false});
  ASSERT_TRUE(marked && marked->marker);
  EXPECT_EQ(rows.pending(), 1u) << "the marker is not synced";
  EXPECT_EQ(marked->version_id.size(), 32u) << "sixteen digits of the stamp, eight random bytes";
  ASSERT_TRUE(store->remove("pail", "k", {}));
  EXPECT_EQ(rows.pending(), 0u);
  ASSERT_TRUE(store->remove("pail", "k", {.version_id = marked->version_id, .durable = false}));
  EXPECT_EQ(rows.pending(), 1u);
}

// A store on one drive, with the clock at 5 s.
class StoreOnOneDrive : public StoreBench {
 protected:
  StoreOnOneDrive() : StoreBench(one_drive()) {
    now = 5000;
    step_ms = 0;
    begin();
  }
};

TEST_F(StoreOnOneDrive, a_lost_blob_fails_reads_but_not_changes) {
  ASSERT_TRUE(put("k", "bytes"));
  lose_last_blob();
  EXPECT_EQ(opened("k").error().code, "InternalError");
  EXPECT_FALSE(store->pins().pinned(last_blob));
  EXPECT_TRUE(put("k", "new"));
  lose_last_blob();
  change("k", [](rows::Version& version) { version.extents.clear(); });
  ASSERT_TRUE(put("k", "bytes"));
  lose_last_blob();
  EXPECT_TRUE(store->remove("pail", "k", {}));
}

TEST_F(StoreOnOneDrive, a_change_without_an_answer_is_undecided) {
  rows.lose_answer();
  const auto lost = put("k", "bytes");
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().undecided);
  rows.lose_answer();
  const auto changed =
      store->change_version("pail", "k", {}, [](rows::Version&) -> Answer<void> { return {}; });
  ASSERT_FALSE(changed);
  EXPECT_TRUE(changed.error().undecided);
  const std::string id = store->begin_upload({.id = {}, .bucket = "pail", .key = "u"}).value();
  rows.lose_answer();
  const auto part = store->put_part(store->upload("pail", "u", id).value(), {.number = 1}, {});
  ASSERT_FALSE(part);
  EXPECT_TRUE(part.error().undecided);
  const auto none = store->put("none", "k", {}, {});
  ASSERT_FALSE(none);
  EXPECT_FALSE(none.error().undecided);
}

TEST_F(StoreOnOneDrive, an_unreadable_blob_row_fails_every_call) {
  ASSERT_TRUE(put("k", "bytes"));
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(last_blob), "rubbish"}}}));
  const auto opened =
      store->open_object("pail", "k", {}, [](const rows::Version&) -> Answer<void> { return {}; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "InternalError");
  EXPECT_NE(opened.error().message.find(last_blob), std::string::npos);
  EXPECT_FALSE(store->remove("pail", "k", {}));
  EXPECT_FALSE(store->put("pail", "k", {}, {}));
}

TEST(StoreRuns, a_run_takes_a_number_however_many_others_start) {
  rows::MemoryMetadata rows;
  rows::FailingMetadata late(rows);
  const StoreSetting setting{.metadata = late,
                             .now_ms = [] { return rows::TimeMs{0}; },
                             .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }};
  late.come_late(999);
  Store first(setting);
  EXPECT_TRUE(first.open());
  EXPECT_EQ(first.epoch(), 1u);
  late.come_late(1000);
  Store second(setting);
  EXPECT_EQ(second.open().error().code, "ServiceUnavailable");
  EXPECT_EQ(second.epoch(), 0u);
  EXPECT_TRUE(second.open());
  EXPECT_EQ(second.epoch(), 2u);
  EXPECT_TRUE(second.renew());
  EXPECT_EQ(second.epoch(), 2u) << "a live run keeps its number";
}

// The rows are older than the drives, which have recorded run 41.
TEST_F(StoreTest, a_run_avoids_numbers_and_names_that_the_drives_have_seen) {
  const rows::Blob before = written("of run 1");
  StoreSetting later = setting();
  later.run_after = 41;
  Store again(later);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.epoch(), 42u);
  EXPECT_NE(again.writer("hot").so_far().id.substr(8, 8), before.id.substr(8, 8))
      << "random for each run";
}

// A stamp is the clock in nanoseconds, plus one if the clock did not advance.
TEST_F(StoreOnOneDrive, stamps_follow_the_clock_and_never_repeat) {
  EXPECT_EQ(put("a", "1")->stamp, 5'000'000'000u);
  EXPECT_EQ(put("b", "2")->stamp, 5'000'000'001u);
  now = 4000;
  EXPECT_EQ(put("c", "3")->stamp, 5'000'000'002u);
  now = 5001;
  EXPECT_EQ(put("d", "4")->stamp, 5'001'000'000u);
  // Another gateway whose clock is ahead has put this one.
  ASSERT_TRUE(rows.commit(
      {.changes = {{rows::row::object("pail", "e"),
                    rows::encode(rows::Version{.stamp = 9'000'000'000, .id = "null"})}}}));
  const rows::Version after = put("e", "5").value();
  EXPECT_EQ(after.stamp, 9'000'000'001u);
  EXPECT_EQ(after.modified_ms, 5001);
  EXPECT_EQ(after.id, "null");
  EXPECT_EQ(put("f", "6")->stamp, 5'001'000'002u) << "other gateways do not affect this stamp";
}

TEST_F(StoreOnOneDrive, versions_have_ids_if_versioning_is_on) {
  set_versioning(rows::Versioning::on);
  const std::string id = put("k", "1")->id;
  EXPECT_EQ(id.substr(0, 16), "000000012a05f200") << "5e9 in 16 digits";
  EXPECT_EQ(id.size(), 32u);
  set_versioning(rows::Versioning::suspended);
  EXPECT_EQ(put("k", "2")->id, "null");
  EXPECT_EQ(store->find("pail", "k", id).value().size, 1u);
  const Removed marked = store->remove("pail", "k", {}).value();
  EXPECT_TRUE(marked.marker);
  EXPECT_EQ(marked.version_id, "null");
  const Removed gone = store->remove("pail", "k", {.version_id = "null"}).value();
  EXPECT_TRUE(gone.marker) << "the removed version was a delete marker";
  EXPECT_EQ(gone.version_id, "null");
  const Removed none = store->remove("pail", "k", {.version_id = "none"}).value();
  EXPECT_FALSE(none.marker);
  EXPECT_EQ(none.version_id, "none");
}

TEST_F(StoreOnOneDrive, blobs_are_named_by_their_run_and_number) {
  const std::string first = written("1").id;
  const std::string second = written("2").id;
  EXPECT_EQ(first.substr(0, 8), "00000001");
  EXPECT_EQ(second.substr(0, 8), "00000001");
  EXPECT_EQ(std::stoull(second.substr(8), nullptr, 16) - std::stoull(first.substr(8), nullptr, 16),
            1u);
  EXPECT_NE(first.substr(8, 8), "00000000") << "each run starts at a random number";
  EXPECT_EQ(run_of("0000001f0000000000000002"), 31u);
  EXPECT_EQ(store->writer("cold").so_far().tier, "cold");
  EXPECT_EQ(store->writer("none").so_far().tier, "hot") << "the first tier is used";
  EXPECT_TRUE(store->has_tier("cold"));
  EXPECT_FALSE(store->has_tier("warm"));
}

TEST_F(StoreOnOneDrive, revisions_of_gateways_never_collide) {
  EXPECT_EQ(store->fresh_revision(0), 1u);
  EXPECT_EQ(store->fresh_revision(41), 42u);
  rows.share();
  EXPECT_EQ(store->fresh_revision(0), 65'536u) << "run 1, shifted by 16 bits";
  EXPECT_EQ(store->fresh_revision(65'535), 65'536u);
  EXPECT_EQ(store->fresh_revision(65'536), 65'537u);
}

TEST_F(StoreOnOneDrive, forgetting_a_blob_removes_its_files) {
  rows::Blob blob = written("bytes");
  ASSERT_EQ(drives["d"].files().size(), 1u);
  blob.shards.insert(blob.shards.begin(), {{"none", 0}, {"", 0}});
  store->forget(blob);
  EXPECT_EQ(drives["d"].files().size(), 1u) << "it is shard 0, not shard 2";
  blob.shards.erase(blob.shards.begin(), blob.shards.begin() + 2);
  blob.shards[0].revision = 1;
  store->forget(blob);
  EXPECT_EQ(drives["d"].files().size(), 1u) << "a file of another revision";
  blob.shards[0].revision = 0;
  store->forget(blob);
  EXPECT_TRUE(drives["d"].files().empty());
}

TEST_F(StoreOnOneDrive, a_blob_is_pinned_while_its_reader_lives) {
  const auto reader = store->open_extents({{"none", 5, "e", ""}, {"", 0, "", ""}});
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, kRowChanged);
  EXPECT_FALSE(store->pins().pinned("none"));
  EXPECT_FALSE(store->pins().pinned(""));
  BlobWriter writer = store->writer("hot");
  ASSERT_TRUE(writer.append("four"));
  const rows::Blob blob = *writer.finish();
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(blob.id), rows::encode(blob)}}}));
  {
    const auto good = store->open_extents({{blob.id, 4, "e", ""}});
    ASSERT_TRUE(good);
    EXPECT_TRUE(store->pins().pinned(blob.id));
  }
  EXPECT_FALSE(store->pins().pinned(blob.id)) << "only until its reader ends";
}

TEST(ReadTimesTest, are_kept_for_each_version_up_to_100000) {
  ReadTimes times;
  times.note("b", "k", "v", 5);
  times.note("b", "k", "w", 7);
  EXPECT_EQ(times.last("b", "k", "v"), 5);
  EXPECT_EQ(times.last("b", "k", "w"), 7);
  EXPECT_EQ(times.last("b", "k", "x"), 0);
  EXPECT_EQ(times.last("c", "k", "v"), 0);
  times.note("b", "k", "v", 9);
  EXPECT_EQ(times.last("b", "k", "v"), 9);
  for (int i = 2; i < 100'000; ++i) times.note("b", std::to_string(i), "v", i);
  EXPECT_EQ(times.last("b", "k", "v"), 9);
  times.note("b", "more", "v", 7);
  EXPECT_EQ(times.last("b", "k", "v"), 0) << "all are forgotten";
  EXPECT_EQ(times.last("b", "more", "v"), 7);
}

TEST(BlobPinsTest, hold_until_the_last_reader_has_gone) {
  BlobPins pins;
  for (int i = 0; i < 2; ++i) pins.pin("b");
  pins.pin("c");
  pins.unpin("b");
  EXPECT_TRUE(pins.pinned("b"));
  pins.unpin("b");
  EXPECT_FALSE(pins.pinned("b"));
  pins.unpin("b");  // was not pinned
  EXPECT_FALSE(pins.pinned("b"));
  EXPECT_TRUE(pins.pinned("c"));
}

TEST(WriteConditions, hold_for_the_newest_version_unless_it_is_a_marker) {
  const rows::Version there{.etag = "e"};
  const rows::Version marker{.marker = true, .etag = "e"};
  const auto says = [](const WriteCondition& condition, const std::optional<rows::Version>& head) {
    const auto good = check_condition(condition, head);
    return good ? "good" : good.error().code;
  };
  for (const char* right : {"e", "\"e\"", "*"}) {
    EXPECT_EQ(says({.if_match = right}, there), "good") << right;
    EXPECT_EQ(says({.if_match = right}, marker), "NoSuchKey") << right;
    EXPECT_EQ(says({.if_match = right}, std::nullopt), "NoSuchKey") << right;
    EXPECT_EQ(says({.if_none_match = right}, there), "PreconditionFailed") << right;
    EXPECT_EQ(says({.if_none_match = right}, marker), "good") << right;
    EXPECT_EQ(says({.if_none_match = right}, std::nullopt), "good") << right;
  }
  EXPECT_EQ(says({.if_match = "f"}, there), "PreconditionFailed");
  EXPECT_EQ(says({.if_none_match = "f"}, there), "good");
  EXPECT_EQ(says({}, there), "good");
  EXPECT_EQ(says({.if_match = "e", .if_none_match = "f"}, there), "good");
  EXPECT_EQ(says({.if_match = "e", .if_none_match = "e"}, there), "PreconditionFailed");
}

TEST(VersionLocks, hold_until_their_date_and_governance_can_be_bypassed) {
  const auto locked = [](const std::string& mode, rows::TimeMs until, bool hold) {
    return rows::Version{.retention = {mode, until}, .legal_hold = hold};
  };
  EXPECT_TRUE(check_unlocked(locked("", 0, false), 10, false));
  EXPECT_TRUE(check_unlocked(locked("", 99, false), 10, false)) << "without a mode it is nothing";
  EXPECT_FALSE(check_unlocked(locked("", 0, true), 10, true)) << "a hold is not bypassed";
  EXPECT_FALSE(check_unlocked(locked("GOVERNANCE", 11, false), 10, false));
  EXPECT_TRUE(check_unlocked(locked("GOVERNANCE", 10, false), 10, false));
  EXPECT_TRUE(check_unlocked(locked("GOVERNANCE", 11, false), 10, true));
  EXPECT_FALSE(check_unlocked(locked("COMPLIANCE", 11, false), 10, true));
  EXPECT_TRUE(check_unlocked(locked("COMPLIANCE", 10, false), 10, false));
  EXPECT_EQ(check_unlocked(locked("COMPLIANCE", 11, false), 10, true).error().code, "AccessDenied");
}

}  // namespace
}  // namespace orrery::store::store_tests
