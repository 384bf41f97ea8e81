// What is left out holds nothing, bounds hold exactly, room on a disk is taken ahead as far as it
// is promised, and rows that cannot be read are passed over.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "live/drives/folder_drive.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/store/store.h"
#include "live/upkeep/lifecycle.h"
#include "live/upkeep/store_folder.h"

namespace orrery::upkeep::store_gaps_tests {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

TEST(StoreGaps, a_record_that_says_nothing_holds_nothing) {
  const rows::Version version;
  EXPECT_EQ(version.stamp, 0u);
  EXPECT_FALSE(version.marker);
  EXPECT_EQ(version.size, 0u);
  EXPECT_EQ(version.modified_ms, 0);
  EXPECT_FALSE(version.legal_hold);
  EXPECT_FALSE(version.multipart);
  EXPECT_EQ(version.restored_until_ms, 0);
  EXPECT_EQ(rows::Retention{}.until_ms, 0);
  EXPECT_EQ(rows::ShardPlace{}.revision, 0u);
  const rows::Blob blob;
  EXPECT_EQ(blob.size, 0u);
  EXPECT_EQ(blob.block_bytes, 0u);
  EXPECT_EQ(rows::Extent{}.size, 0u);
  EXPECT_FALSE(rows::TierCopy{}.checked);
  const rows::Bucket bucket;
  EXPECT_EQ(bucket.created_ms, 0);
  EXPECT_EQ(bucket.versioning, rows::Versioning::off);
  EXPECT_EQ(bucket.acl, "private");
  EXPECT_FALSE(bucket.locks);
  EXPECT_EQ(bucket.lock_days, 0u);
  EXPECT_EQ(bucket.lock_years, 0u);
  EXPECT_EQ(rows::Upload{}.started_ms, 0);
  EXPECT_EQ(rows::Part{}.number, 0u);
  EXPECT_EQ(rows::Part{}.modified_ms, 0);
  EXPECT_EQ(rows::Tenant{}.quota_bytes, 0u);
  EXPECT_EQ(store::Tier{}.held_bytes_max, 0u);
  EXPECT_EQ(store::ShardName{}.shard, 0);
  EXPECT_EQ(store::ShardName{}.revision, 0u);
  const LifecycleRule rule;
  EXPECT_TRUE(rule.enabled);
  EXPECT_EQ(rule.larger_than, 0u);
  EXPECT_FALSE(rule.expire_lone_markers);
  EXPECT_EQ(rule.noncurrent_kept, 0u);
  const VersionPlace place;
  EXPECT_TRUE(place.newest);
  EXPECT_EQ(place.since_ms, 0);
  EXPECT_EQ(place.newer, 0u);
  EXPECT_FALSE(place.alone);
}

TEST(StoreGaps, a_bucket_has_up_to_a_thousand_rules) {
  const auto read = [](int rules) {
    std::string text = "<LifecycleConfiguration>";
    for (int i = 0; i < rules; ++i) {
      text += "<Rule><ID>r" + std::to_string(i) +
              "</ID><Prefix/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>"
              "</Rule>";
    }
    const auto lifecycle = lifecycle_of(text + "</LifecycleConfiguration>");
    return lifecycle ? std::to_string(lifecycle->rules.size()) : lifecycle.error().code;
  };
  EXPECT_EQ(read(1), "1");
  EXPECT_EQ(read(1000), "1000");
  EXPECT_EQ(read(1001), "MalformedXML");
  EXPECT_EQ(read(0), "MalformedXML");
}

class StoreGapsTest : public testing::Test {
 protected:
  StoreGapsTest()
      : store(store::StoreSetting{
            .metadata = rows,
            .drives = set,
            .tiers = {{"hot", {1, 0}, {"d"}}},
            .now_ms = [] { return rows::TimeMs{5}; },
            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }}) {
    EXPECT_TRUE(store.open() && store.make_bucket({.name = "pail", .owner = "main"}));
  }
  rows::MemoryMetadata rows;
  drives::SimulatedDrive drive;
  store::DriveSet set = {{"d", &drive}};
  store::Store store;
};

TEST_F(StoreGapsTest, a_blob_that_was_not_found_is_not_held) {
  const auto reader = store.open_extents({{"none", 5, "e", ""}, {"", 0, "", ""}});
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, store::kRowChanged);
  EXPECT_FALSE(store.pins().pinned("none"));
  EXPECT_FALSE(store.pins().pinned(""));
  store::BlobWriter writer = store.writer("hot");
  ASSERT_TRUE(writer.append("four"));
  const rows::Blob blob = *writer.finish();
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(blob.id), rows::encode(blob)}}}));
  {
    const auto good = store.open_extents({{blob.id, 4, "e", ""}});
    ASSERT_TRUE(good);
    EXPECT_TRUE(store.pins().pinned(blob.id));
  }
  EXPECT_FALSE(store.pins().pinned(blob.id)) << "until its reader ends";
}

// Of rows that are none, of markers and of parts whose upload is gone nothing is counted.
TEST_F(StoreGapsTest, what_buckets_hold_is_counted_from_rows_that_can_be_read) {
  ASSERT_TRUE(rows.commit(
      {.changes = {
           {rows::row::object("pail", "a"), rows::encode(rows::Version{.id = "null", .size = 70})},
           {rows::row::object("pail", "b"),
            rows::encode(rows::Version{.id = "x", .marker = true, .size = 1000})},
           {rows::row::object("pail", "c"), "rubbish"},
           {rows::row::version("pail", "b", 7), rows::encode(rows::Version{.id = "y", .size = 11})},
           {rows::row::object("tub", "a"), rows::encode(rows::Version{.id = "null", .size = 3})},
           {rows::row::upload("pail", "k", "u1"),
            rows::encode(rows::Upload{.id = "u1", .bucket = "pail", .key = "k"})},
           {rows::row::upload("pail", "k", "u3"), "rubbish"},
           {rows::row::part("u1", 1),
            rows::encode(rows::Part{.number = 1, .extent = {"b", 500, "", ""}})},
           {rows::row::part("u1", 2), "rubbish"},
           {rows::row::part("u2", 1),
            rows::encode(rows::Part{.number = 1, .extent = {"b", 9000, "", ""}})}}}));
  ASSERT_TRUE(store.measure());
  EXPECT_EQ(store.usage().of("pail").bytes, 581u);  // 70 + 11 + 500
  EXPECT_EQ(store.usage().of("pail").objects, 2u);
  EXPECT_EQ(store.usage().of("tub").bytes, 3u);
  EXPECT_EQ(store.usage().of("tub").objects, 1u);
  EXPECT_EQ(store.usage().all().size(), 2u);
}

class RoomAhead : public testing::Test {
 protected:
  RoomAhead() {
    folder = (std::filesystem::temp_directory_path() / "orrery-ahead-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    // The one folder in which "name.00.0" lies: making all of them takes longer than the test.
    std::filesystem::create_directories(folder + "/data/fe");
    std::ofstream(folder + "/drive") << drives::mark_text({"s", "d"});
    drive =
        std::move(drives::open_folder_drive(folder, {"s", "d"}, drives::Marking::refuse).value());
  }
  ~RoomAhead() override { std::filesystem::remove_all(folder); }

  bool finds_places() const {
    const int file = ::open((folder + "/probe").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const bool found = ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0;
    ::close(file);
    return found && taken("/probe") >= kMib;
  }
  std::uint64_t taken(const std::string& name) const {
    struct stat found{};
    if (::stat((folder + name).c_str(), &found) != 0) return 0;
    return static_cast<std::uint64_t>(found.st_blocks) * 512;
  }
  std::uint64_t taken() const { return taken("/data/fe/name.00.0"); }
  // After the first bytes of a file that is to have so many.
  std::uint64_t ahead_of(std::uint64_t expected) {
    EXPECT_TRUE(drive->remove("name.00.0"));
    auto file = drive->create("name.00.0");
    EXPECT_TRUE(file);
    (*file)->expect(expected);
    const std::string_view pieces[] = {"the first bytes"};
    EXPECT_TRUE((*file)->append(pieces));
    return taken();
  }

  std::string folder;
  std::unique_ptr<drives::Drive> drive;
};

TEST_F(RoomAhead, is_taken_for_files_of_half_a_mebibyte_and_more) {
  if (!finds_places()) GTEST_SKIP() << "the file system finds no places ahead";
  EXPECT_LT(ahead_of(512 * 1024 - 1), 65'536u);
  EXPECT_GE(ahead_of(512 * 1024), 512u * 1024);
  EXPECT_GE(ahead_of(3 * kMib), 3 * kMib);
  const std::uint64_t most = ahead_of(1000 * kMib);
  EXPECT_GE(most, 4 * kMib) << "some megabytes ahead of what came";
  EXPECT_LT(most, 4 * kMib + 65'536);
}

// 64 bytes, then as many as were found places for: none are looked for until one more comes.
TEST_F(RoomAhead, is_looked_for_anew_where_it_ends) {
  if (!finds_places()) GTEST_SKIP() << "the file system finds no places ahead";
  auto file = drive->create("name.00.0");
  ASSERT_TRUE(file);
  (*file)->expect(100 * kMib);
  const auto append = [&](std::uint64_t bytes) {
    const std::string text(bytes, 'x');
    const std::string_view pieces[] = {text};
    EXPECT_TRUE((*file)->append(pieces));
    return taken();
  };
  append(64);
  EXPECT_LT(append(4 * kMib), 4 * kMib + 65'536) << "exactly to the end";
  EXPECT_GE(append(1), 8 * kMib) << "one more: as much again as there is";
  ASSERT_TRUE((*file)->sync());
  EXPECT_LT(taken(), 4 * kMib + 131'072) << "what did not come is given back";
}

TEST_F(RoomAhead, a_drive_that_is_anothers_or_away_is_named_with_its_remedy) {
  const auto said = [&](const std::string& where, const drives::DriveMark& mark) {
    const auto opened = drives::open_folder_drive(where, mark, drives::Marking::refuse);
    if (opened) return std::string("opened");
    const Diagnostic& first = opened.error().front();
    EXPECT_EQ(first.code, "store.drive");
    EXPECT_EQ(first.place.file, where);
    return first.what + " | " + first.fix;
  };
  EXPECT_EQ(said(folder, {"s", "d"}), "opened");
  EXPECT_EQ(said(folder, {"s", "e"}),
            "this drive belongs to another store, or to another place in it | mount each drive "
            "where it was");
  EXPECT_EQ(said(folder + "/none", {"s", "d"}),
            "this drive of the store is not there | mount it, or replace it with `orrery store "
            "repair STORE --apply`");
  EXPECT_FALSE(drive->is_remote());
  const auto none = drive->open("none.00.0");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, drives::PortFault::missing);
  const auto file = drive->create("name.00.0");
  ASSERT_TRUE(file);
  const auto twice = drive->create("name.00.0");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, drives::PortFault::failed);
  EXPECT_EQ(twice.error().what, "cannot open " + folder + "/data/fe/name.00.0: File exists");
}

}  // namespace
}  // namespace orrery::upkeep::store_gaps_tests
