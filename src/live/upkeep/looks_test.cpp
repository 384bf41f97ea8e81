// How often the store looks before it gives up or passes over a row that is lost, which stamps,
// ids, names and revisions it gives, and what its conditions and locks let through.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/failing_metadata_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/store/store.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::upkeep::looks_tests {
namespace {

// Rows that count how often one was asked for.
class CountingMetadata final : public rows::Metadata {
 public:
  explicit CountingMetadata(rows::Metadata& of) : of_(of) {}
  int gets = 0;
  bool shared = false;

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    ++gets;
    return of_.get(key);
  }
  drives::Outcome<bool> commit(const rows::Commit& commit) override { return of_.commit(commit); }
  drives::Outcome<void> flush() override { return of_.flush(); }
  std::unique_ptr<rows::Cursor> cursor() override { return of_.cursor(); }
  bool is_shared() const override { return shared; }

 private:
  rows::Metadata& of_;
};

class LooksTest : public testing::Test {
 protected:
  LooksTest() {
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(store.make_bucket({.name = "pail", .owner = "main"}));
  }
  rows::Blob blob_of(const std::string& bytes) {
    store::BlobWriter writer = store.writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    return *writer.finish();
  }
  store::Answer<rows::Version> put(const std::string& key, const std::string& bytes) {
    const rows::Blob blob = blob_of(bytes);
    rows::Version version{.size = bytes.size(), .etag = "e"};
    version.extents = {{blob.id, bytes.size(), "e", ""}};
    last_blob = blob.id;
    return store.put("pail", key, version, {blob});
  }
  void lose_row() { ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(last_blob), {}}}})); }
  void set_versioning(rows::Versioning versioning) {
    ASSERT_TRUE(store.change_bucket("pail", [&](rows::Bucket& bucket) -> store::Answer<void> {
      bucket.versioning = versioning;
      return {};
    }));
  }

  rows::MemoryMetadata rows;
  CountingMetadata counting{rows};
  drives::SimulatedDrive drive;
  rows::TimeMs now = 5000;
  store::Store store{{.metadata = counting,
                      .drives = {{"d", &drive}},
                      .tiers = {{"hot", {1, 0}, {"d"}}, {"cold", {1, 0}, {"d"}}},
                      .now_ms = [this] { return now; },
                      .random_bytes = [](std::size_t n) { return std::string(n, '\x0f'); }}};
  std::string last_blob;
};

// The bucket, the key and the blob are asked for each time.
TEST_F(LooksTest, a_reader_looks_twenty_times_for_a_blob) {
  ASSERT_TRUE(put("k", "bytes"));
  lose_row();
  counting.gets = 0;
  const auto opened = store.open_object(
      "pail", "k", {}, [](const rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "InternalError");
  EXPECT_EQ(counting.gets, 20 * 3);
  EXPECT_FALSE(store.pins().pinned(last_blob));
}

TEST_F(LooksTest, who_changes_looks_twenty_times_and_then_passes_over_it) {
  ASSERT_TRUE(put("k", "bytes"));
  lose_row();
  counting.gets = 0;
  EXPECT_TRUE(store.put("pail", "k", {.size = 0}, {}));
  EXPECT_EQ(counting.gets, 21 * 3) << "a put over it";
  ASSERT_TRUE(put("k", "bytes"));
  lose_row();
  counting.gets = 0;
  EXPECT_TRUE(
      store.change_version("pail", "k", {}, [](rows::Version& version) -> store::Answer<void> {
        version.extents.clear();
        return {};
      }));
  EXPECT_EQ(counting.gets, 21 * 3) << "a change that drops it";
  ASSERT_TRUE(put("k", "bytes"));
  lose_row();
  counting.gets = 0;
  EXPECT_TRUE(store.remove("pail", "k", {}));
  EXPECT_EQ(counting.gets, 21 * 3) << "a removal";
}

TEST_F(LooksTest, a_part_that_replaces_a_lost_one_is_taken_after_twenty_looks) {
  const std::string id = store.begin_upload({.id = {}, .bucket = "pail", .key = "u"}).value();
  const rows::Upload upload = store.upload("pail", "u", id).value();
  EXPECT_EQ(upload.started_ms, 5000);
  EXPECT_EQ(upload.id, "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f");
  const rows::Blob first = blob_of("first");
  const rows::Part part{.number = 1, .extent = {first.id, 5, "", ""}};
  ASSERT_TRUE(store.put_part(upload, part, first));
  EXPECT_EQ(store.usage().of("pail").bytes, 5u);
  last_blob = first.id;
  lose_row();
  const rows::Blob second = blob_of("two");
  counting.gets = 0;
  EXPECT_TRUE(store.put_part(upload, {.number = 1, .extent = {second.id, 3, "", ""}}, second));
  EXPECT_EQ(counting.gets, 21 * 2) << "the part and its blob";
  EXPECT_EQ(store.usage().of("pail").bytes, 3u);
  EXPECT_EQ(store.parts(id).value().at(0).extent.blob, second.id);
  EXPECT_TRUE(rows.get(rows::row::blob(second.id)).value());
}

// Whose answer was lost may have come about: what it names must stay where it is.
TEST_F(LooksTest, a_change_without_an_answer_is_undecided) {
  rows.lose_answer();
  const auto lost = put("k", "bytes");
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().undecided);
  rows.lose_answer();
  const auto changed = store.change_version(
      "pail", "k", {}, [](rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_FALSE(changed);
  EXPECT_TRUE(changed.error().undecided);
  const std::string id = store.begin_upload({.id = {}, .bucket = "pail", .key = "u"}).value();
  rows.lose_answer();
  const auto part = store.put_part(store.upload("pail", "u", id).value(), {.number = 1}, {});
  ASSERT_FALSE(part);
  EXPECT_TRUE(part.error().undecided);
  const auto none = store.put("none", "k", {}, {});
  ASSERT_FALSE(none);
  EXPECT_FALSE(none.error().undecided);
}

TEST_F(LooksTest, an_upload_is_aborted_though_a_blob_of_it_is_lost) {
  const std::string id = store.begin_upload({.id = {}, .bucket = "pail", .key = "u"}).value();
  const rows::Blob blob = blob_of("bytes");
  ASSERT_TRUE(store.put_part(store.upload("pail", "u", id).value(),
                             {.number = 1, .extent = {blob.id, 5, "", ""}}, blob));
  last_blob = blob.id;
  lose_row();
  EXPECT_TRUE(store.abort_upload("pail", "u", id));
  EXPECT_FALSE(rows.get(rows::row::part(id, 1)).value());
  EXPECT_EQ(store.usage().of("pail").bytes, 0u);
  EXPECT_EQ(store.abort_upload("pail", "u", id).error().code, "NoSuchUpload");
}

TEST_F(LooksTest, a_blob_whose_row_cannot_be_read_is_named) {
  ASSERT_TRUE(put("k", "bytes"));
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(last_blob), "rubbish"}}}));
  const auto opened = store.open_object(
      "pail", "k", {}, [](const rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "InternalError");
  EXPECT_EQ(opened.error().message, "the row of blob " + last_blob + " is unreadable");
  EXPECT_FALSE(store.remove("pail", "k", {}));
  EXPECT_FALSE(store.put("pail", "k", {}, {}));
}

// Others may read what was removed for ten minutes since it was first seen to be garbage.
TEST_F(LooksTest, garbage_ripens_where_others_may_read_it) {
  ASSERT_TRUE(put("k", "bytes") && store.remove("pail", "k", {}));
  counting.shared = true;
  const auto collected = [&](rows::TimeMs after) {
    now = 5000 + after;
    return store.collect().value();
  };
  EXPECT_EQ(collected(0), 0u);
  EXPECT_EQ(collected(599'999), 0u);
  EXPECT_EQ(collected(600'000), 1u);
  EXPECT_EQ(collected(600'000), 0u);
  EXPECT_TRUE(drive.files().empty());
}

TEST(LooksAtEtags, a_quick_one_has_32_digits_and_its_mark) {
  const std::string digits = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(crc_of_etag(digits + "-1"), 0x0123456789abcdefu);
  EXPECT_FALSE(crc_of_etag(digits + "0-1"));
  EXPECT_FALSE(crc_of_etag(digits.substr(1) + "-1"));
  EXPECT_FALSE(crc_of_etag(digits.substr(16) + "-1"));
  EXPECT_FALSE(crc_of_etag(digits + "-2"));
  EXPECT_FALSE(crc_of_etag(digits + "00"));
  EXPECT_EQ(quick_etag(1, "0000000a00000000000000ff"), "00000000000000010000000a000000ff-1");
  EXPECT_EQ(quick_etag(1, "ab"), "0000000000000001000000000000abab-1") << "its first and its last";
}

TEST(LooksOfRuns, a_run_tries_for_its_number_a_thousand_times) {
  rows::MemoryMetadata rows;
  rows::FailingMetadata late(rows);
  const store::StoreSetting setting{
      .metadata = late,
      .now_ms = [] { return rows::TimeMs{0}; },
      .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }};
  late.come_late(999);
  store::Store first(setting);
  EXPECT_TRUE(first.open());
  EXPECT_EQ(first.epoch(), 1u);
  late.come_late(1000);
  store::Store second(setting);
  EXPECT_EQ(second.open().error().code, "ServiceUnavailable");
  EXPECT_EQ(late.still_late(), 0);
  EXPECT_EQ(second.epoch(), 0u);
  EXPECT_TRUE(second.open());
  EXPECT_EQ(second.epoch(), 2u);
}

// Nanoseconds of the clock, and a step more where it stands still or goes back.
TEST_F(LooksTest, stamps_follow_the_clock_and_each_other) {
  EXPECT_EQ(put("a", "1")->stamp, 5'000'000'000u);
  EXPECT_EQ(put("b", "2")->stamp, 5'000'000'001u);
  now = 4000;
  EXPECT_EQ(put("c", "3")->stamp, 5'000'000'002u);
  now = 5001;
  EXPECT_EQ(put("d", "4")->stamp, 5'001'000'000u);
  // Another gateway's clock was ahead when it put this one.
  ASSERT_TRUE(rows.commit(
      {.changes = {{rows::row::object("pail", "e"),
                    rows::encode(rows::Version{.stamp = 9'000'000'000, .id = "null"})}}}));
  const rows::Version after = put("e", "5").value();
  EXPECT_EQ(after.stamp, 9'000'000'001u);
  EXPECT_EQ(after.modified_ms, 5001);
  EXPECT_EQ(after.id, "null");
  EXPECT_EQ(put("f", "6")->stamp, 5'001'000'002u) << "of this gateway it is no measure";
}

TEST_F(LooksTest, versions_have_ids_where_they_are_kept) {
  set_versioning(rows::Versioning::on);
  EXPECT_EQ(put("k", "1")->id, "000000012a05f2000f0f0f0f0f0f0f0f") << "5e9 in 16 digits";
  set_versioning(rows::Versioning::suspended);
  EXPECT_EQ(put("k", "2")->id, "null");
  EXPECT_EQ(store.find("pail", "k", "000000012a05f2000f0f0f0f0f0f0f0f").value().size, 1u);
  const store::Removed marked = store.remove("pail", "k", {}).value();
  EXPECT_TRUE(marked.marker);
  EXPECT_EQ(marked.version_id, "null");
  const store::Removed gone = store.remove("pail", "k", {.version_id = "null"}).value();
  EXPECT_TRUE(gone.marker) << "what went was one";
  EXPECT_EQ(gone.version_id, "null");
  const store::Removed none = store.remove("pail", "k", {.version_id = "none"}).value();
  EXPECT_FALSE(none.marker);
  EXPECT_EQ(none.version_id, "none");
}

TEST_F(LooksTest, blobs_are_named_by_their_run_and_number) {
  const std::string first = blob_of("1").id;
  const std::string second = blob_of("2").id;
  EXPECT_EQ(first.substr(0, 8), "00000001");
  EXPECT_EQ(second.substr(0, 8), "00000001");
  EXPECT_EQ(std::stoull(second.substr(8), nullptr, 16) - std::stoull(first.substr(8), nullptr, 16),
            1u);
  EXPECT_NE(first.substr(8, 8), "00000000") << "each run begins at a number that is drawn";
  EXPECT_EQ(store::run_of("0000001f0000000000000002"), 31u);
  EXPECT_EQ(store.writer("cold").so_far().tier, "cold");
  EXPECT_EQ(store.writer("none").so_far().tier, "hot") << "the first takes it";
  EXPECT_TRUE(store.has_tier("cold"));
  EXPECT_FALSE(store.has_tier("warm"));
}

TEST_F(LooksTest, a_revision_is_the_next_or_one_of_this_runs_own) {
  EXPECT_EQ(store.fresh_revision(0), 1u);
  EXPECT_EQ(store.fresh_revision(41), 42u);
  counting.shared = true;
  EXPECT_EQ(store.fresh_revision(0), 65'536u) << "run 1, shifted by 16 bits";
  EXPECT_EQ(store.fresh_revision(65'535), 65'536u);
  EXPECT_EQ(store.fresh_revision(65'536), 65'537u);
}

TEST_F(LooksTest, what_is_forgotten_is_removed_from_the_drives_that_are_there) {
  rows::Blob blob = blob_of("bytes");
  ASSERT_EQ(drive.files().size(), 1u);
  blob.shards.insert(blob.shards.begin(), {{"none", 0}, {"", 0}});
  store.forget(blob);
  EXPECT_EQ(drive.files().size(), 1u) << "it is shard 0, not shard 2";
  blob.shards.erase(blob.shards.begin(), blob.shards.begin() + 2);
  blob.shards[0].revision = 1;
  store.forget(blob);
  EXPECT_EQ(drive.files().size(), 1u) << "of another revision";
  blob.shards[0].revision = 0;
  store.forget(blob);
  EXPECT_TRUE(drive.files().empty());
}

TEST(LooksAtReads, a_hundred_thousand_are_remembered_and_then_none) {
  store::ReadTimes times;
  for (int i = 0; i < 100'000; ++i) times.note("b", std::to_string(i), "v", 1 + i);
  EXPECT_EQ(times.last("b", "0", "v"), 1);
  EXPECT_EQ(times.last("b", "99999", "v"), 100'000);
  times.note("b", "more", "v", 7);
  EXPECT_EQ(times.last("b", "0", "v"), 0);
  EXPECT_EQ(times.last("b", "99999", "v"), 0);
  EXPECT_EQ(times.last("b", "more", "v"), 7);
}

TEST(LooksAtConditions, hold_for_the_newest_that_is_no_marker) {
  const rows::Version there{.etag = "e"};
  const rows::Version marker{.marker = true, .etag = "e"};
  const auto says = [](const store::WriteCondition& condition,
                       const std::optional<rows::Version>& head) {
    const auto good = store::check_condition(condition, head);
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

TEST(LooksAtLocks, hold_until_their_moment_and_yield_to_who_may_bypass_them) {
  const auto locked = [](const std::string& mode, rows::TimeMs until, bool hold) {
    return rows::Version{.retention = {mode, until}, .legal_hold = hold};
  };
  EXPECT_TRUE(store::check_unlocked(locked("", 0, false), 10, false));
  EXPECT_TRUE(store::check_unlocked(locked("", 99, false), 10, false))
      << "without a mode it is nothing";
  EXPECT_FALSE(store::check_unlocked(locked("", 0, true), 10, true)) << "a hold is not bypassed";
  EXPECT_FALSE(store::check_unlocked(locked("GOVERNANCE", 11, false), 10, false));
  EXPECT_TRUE(store::check_unlocked(locked("GOVERNANCE", 10, false), 10, false));
  EXPECT_TRUE(store::check_unlocked(locked("GOVERNANCE", 11, false), 10, true));
  EXPECT_FALSE(store::check_unlocked(locked("COMPLIANCE", 11, false), 10, true));
  EXPECT_TRUE(store::check_unlocked(locked("COMPLIANCE", 10, false), 10, false));
  EXPECT_EQ(store::check_unlocked(locked("COMPLIANCE", 11, false), 10, true).error().code,
            "AccessDenied");
}

// A part that nobody chose and whose blob is lost does not hold the others back.
TEST_F(LooksTest, an_upload_ends_without_what_it_lost_and_does_not_need) {
  const auto id = store.begin_upload({.id = {}, .bucket = "pail", .key = "k"});
  const rows::Upload upload = *store.upload("pail", "k", *id);
  const rows::Blob kept = blob_of("kept");
  const rows::Blob lost = blob_of("lost");
  const rows::Extent extent{kept.id, 4, "e-kept", ""};
  ASSERT_TRUE(store.put_part(upload, {1, 1000, extent}, kept));
  ASSERT_TRUE(store.put_part(upload, {2, 1000, {lost.id, 4, "e-lost", ""}}, lost));
  last_blob = lost.id;
  lose_row();
  rows::Version whole{.size = 4, .etag = "e-1"};
  whole.extents = {extent};
  const auto done = store.complete_upload(upload, whole, {});
  EXPECT_TRUE(done) << done.error().code;
  EXPECT_EQ(store.find("pail", "k", std::nullopt)->etag, "e-1");
}

}  // namespace
}  // namespace orrery::upkeep::looks_tests
