// The store's small pieces, each on both sides of what it may be: plans of tiers, moments, what is
// remembered of reads, files of many pieces, checks in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/rows/postgres_metadata.h"
#include "live/store/listing.h"
#include "live/store/moment.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/store_folder.h"

namespace orrery::upkeep::small_pieces_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string plan_text(const std::string& text) {
  const auto plan = tier_plan_of(text);
  if (!plan) return "refused: " + plan.error().front().why;
  std::string out =
      plan->name + ' ' + std::to_string(plan->plan.data) + '+' + std::to_string(plan->plan.parity);
  for (const std::string& folder : plan->folders) out += ' ' + folder;
  return out;
}

TEST(TierPlans, are_read_or_refused_for_what_is_wrong) {
  EXPECT_EQ(plan_text("hot=1x"), "hot 1+0 hot");
  EXPECT_EQ(plan_text("warm=2x"), "warm 1+1 warm-0 warm-1");
  EXPECT_EQ(plan_text("hot=2+1:/a,/b,/c,/d"), "hot 2+1 /a /b /c /d") << "spares are fine";
  EXPECT_EQ(plan_text("cold=8x:/1,/2,/3,/4,/5,/6,/7,/8"), "cold 1+7 /1 /2 /3 /4 /5 /6 /7 /8");
  for (const char* bad :
       {"hot=9x", "hot=0x", "hot=x", "hot=0+1", "hot=1+-1", "hot=2", "hot=1+2+3", "hot=200+100"}) {
    EXPECT_THAT(plan_text(bad), HasSubstr("a redundancy is K+M")) << bad;
  }
  EXPECT_THAT(plan_text("hot"), HasSubstr("a name and a redundancy"));
  EXPECT_THAT(plan_text("lukewarm=1x"), HasSubstr("the tiers are"));
  EXPECT_THAT(plan_text("hot=1x:/a,"), HasSubstr("folder is empty"));
  EXPECT_THAT(plan_text("hot=2+1:/a,/b"), HasSubstr("it needs 3 drives and has 2"));
  EXPECT_THAT(plan_text("hot=1x:s3+https://h/pail"), HasSubstr("only warm and cold"));
  EXPECT_EQ(plan_text("warm=1x:s3+https://h/pail"), "warm 1+0 s3+https://h/pail");
  std::vector<std::string> usual;
  for (const TierPlan& tier : usual_tiers()) usual.push_back(tier.name);
  EXPECT_THAT(usual, ElementsAre("hot", "gpu-direct", "warm", "cold"));
}

TEST(Moments, in_every_notation_that_is_taken_and_none_other) {
  const rows::TimeMs at = 1'369'353'600'000;  // 2013-05-24
  for (const char* same :
       {"2013-05-24", "2013-05-24T00:00:00", "2013-05-24T00:00:00Z", "2013-05-24T00:00:00.000Z",
        "2013-05-24T00:00:00+00:00", "2013-05-24T00:00:00+0000", "2013-05-24T00:00:00.0+00:00"}) {
    EXPECT_EQ(store::moment_of_iso(same), at) << same;
  }
  EXPECT_EQ(store::moment_of_iso("2013-05-24T01:02:03.4Z"), at + 3'723'400);
  EXPECT_EQ(store::moment_of_iso("2013-05-24T01:02:03.45678Z"), at + 3'723'456)
      << "cut, not rounded";
  for (const char* none :
       {"2013-05-24T00:00:00+01:00", "2013-05-24T00:00:00z", "2013-05-24 00:00:00",
        "2013-05-24T24:00:00Z", "2013-05-24T00:60:00Z", "2013-05-24T00:00:61Z", "2013-02-29",
        "1969-12-31", "2013/05/24", "2013-05-24T00-00-00"}) {
    EXPECT_FALSE(store::moment_of_iso(none)) << none;
  }
  EXPECT_EQ(store::moment_of_iso("2013-05-24T23:59:60Z"), at + 86'400'000) << "a leap second";
  EXPECT_EQ(store::moment_of_amz("20130524T000000Z"), at);
  for (const char* none : {"20130524T000000", "20130524 000000Z", "2013052xT000000Z",
                           "20130524T000000z", "20130524T0000000Z"}) {
    EXPECT_FALSE(store::moment_of_amz(none)) << none;
  }
  EXPECT_EQ(store::moment_of_http("Fri, 24 May 2013 00:00:00 GMT"), at);
  EXPECT_FALSE(store::moment_of_http("Fri, 24 Mai 2013 00:00:00 GMT"));
  EXPECT_FALSE(store::moment_of_http("Fri, 24 May 2013 00:00 GMT"));
  EXPECT_EQ(store::http_time(at + 3'723'456), "Fri, 24 May 2013 01:02:03 GMT");
  EXPECT_EQ(store::xml_time(at + 3'723'456), "2013-05-24T01:02:03.456Z");
  EXPECT_EQ(store::amz_time(at + 3'723'456), "20130524T010203Z");
}

TEST(ReadTimesAndUse, are_of_one_version_and_of_one_bucket) {
  store::ReadTimes times;
  times.note("b", "k", "v", 5);
  times.note("b", "k", "w", 7);
  EXPECT_EQ(times.last("b", "k", "v"), 5);
  EXPECT_EQ(times.last("b", "k", "w"), 7);
  EXPECT_EQ(times.last("b", "k", "x"), 0);
  EXPECT_EQ(times.last("c", "k", "v"), 0);
  times.note("b", "k", "v", 9);
  EXPECT_EQ(times.last("b", "k", "v"), 9);
  store::Usage use;
  use.add("b", 10, 1);
  use.add("b", 5, 1);
  use.add("b", -10, -1);
  use.add("c", 3, 1);
  EXPECT_EQ(use.of("b").bytes, 5u);
  EXPECT_EQ(use.of("b").objects, 1u);
  EXPECT_EQ(use.of("none").bytes, 0u);
  EXPECT_EQ(use.all().size(), 2u);
  use.set({{"d", {1, 2}}});
  EXPECT_EQ(use.of("b").bytes, 0u);
  EXPECT_EQ(use.of("d").objects, 2u);
}

TEST(Pins, hold_until_the_last_has_gone) {
  store::BlobPins pins;
  for (int i = 0; i < 3; ++i) pins.pin("b");
  pins.pin("c");
  pins.unpin("b");
  pins.unpin("b");
  EXPECT_TRUE(pins.pinned("b") && pins.pinned("c"));
  pins.unpin("b");
  EXPECT_FALSE(pins.pinned("b"));
  pins.unpin("b");  // nobody holds it
  EXPECT_FALSE(pins.pinned("b"));
  EXPECT_TRUE(pins.pinned("c"));
}

class PiecesOnDisk : public testing::Test {
 protected:
  PiecesOnDisk()
      : folder(testing::TempDir() + "orrery-pieces." + std::to_string(::getpid()) + '.' +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~PiecesOnDisk() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

// More pieces than one call takes, empty ones among them.
TEST_F(PiecesOnDisk, a_file_of_hundreds_of_pieces_is_all_of_them) {
  auto drive = drives::open_folder_drive(folder + "/d", {"s", "d"}, drives::Marking::make);
  ASSERT_TRUE(drive);
  auto file = (*drive)->create("name.00.0");
  ASSERT_TRUE(file);
  std::vector<std::string> texts;
  std::string all;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(i % 7 == 0 ? "" : std::to_string(i) + ',');
    all += texts.back();
  }
  for (const std::size_t count : {1u, 63u, 64u, 65u, 200u}) {
    const std::vector<std::string_view> pieces(texts.begin(),
                                               texts.begin() + static_cast<std::ptrdiff_t>(count));
    auto part = (*drive)->create("part-" + std::to_string(count) + ".00.0");
    ASSERT_TRUE(part && (*part)->append(pieces) && (*part)->sync());
    auto back = (*drive)->open("part-" + std::to_string(count) + ".00.0");
    std::string wanted;
    for (std::size_t i = 0; i < count; ++i) wanted += texts[i];
    std::string got(wanted.size() + 10, '?');
    EXPECT_EQ((*back)->read(0, got).value_or(0), wanted.size()) << count;
    EXPECT_EQ(got.substr(0, wanted.size()), wanted) << count;
  }
  const auto missing = (*drive)->open("none.00.0");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, drives::PortFault::missing);
  EXPECT_FALSE((*drive)->create("name.00.0")) << "written once";
  EXPECT_TRUE((*drive)->remove("none.00.0")) << "good where there is none";
  const auto space = (*drive)->space();
  ASSERT_TRUE(space);
  EXPECT_GT(space->total_bytes, space->free_bytes);
}

TEST_F(PiecesOnDisk, a_text_is_written_whole_or_not_at_all) {
  EXPECT_TRUE(drives::write_durably(folder + "/text", "first"));
  EXPECT_TRUE(drives::write_durably(folder + "/text", "second"));
  EXPECT_EQ(drives::read_file(folder + "/text"), "second");
  EXPECT_FALSE(drives::write_durably(folder + "/none/text", "x"));
  std::filesystem::create_directories(folder + "/taken");
  std::filesystem::create_directories(folder + "/taken/by");
  EXPECT_FALSE(drives::write_durably(folder + "/taken", "x")) << "a folder stands there";
  EXPECT_FALSE(drives::read_file(folder + "/taken.new")) << "nothing is left beside it";
  EXPECT_FALSE(drives::read_file(folder + "/text.new"));
  EXPECT_FALSE(drives::read_file(folder + "/none"));
}

TEST_F(PiecesOnDisk, a_store_has_its_file_and_its_parts_where_they_are_looked_for) {
  const std::vector<TierPlan> tiers = {{.name = "hot", .plan = {1, 1}, .folders = {"a", "b c"}},
                                       {.name = "cold"}};
  {
    const auto made = open_store_folder(folder + "/s", tiers, "id-1");
    ASSERT_TRUE(made) << to_text(made.error());
    EXPECT_EQ(made->id, "id-1");
    EXPECT_EQ(made->drives.size(), 3u);
    EXPECT_EQ(made->tiers.at(0).plan.parity, 1);
    EXPECT_TRUE(made->notes.empty());
  }
  EXPECT_EQ(drives::read_file(folder + "/s/store"),
            "orrery-store 4\nid id-1\ntier hot 1+1\ndrive hot-0 a\ndrive hot-1 b c\ntier cold 1+0\n"
            "drive cold-0 cold\n");
  EXPECT_FALSE(std::filesystem::exists(folder + "/s/store.begun"));
  EXPECT_EQ(drives::read_file(folder + "/s/b c/drive"),
            "orrery-drive 1\nstore id-1\ndrive hot-1\n");
  // Another id and other tiers are of no account: it is what it was made.
  {
    const auto again = open_store_folder(folder + "/s", {{.name = "hot"}}, "id-2");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id, "id-1");
    EXPECT_EQ(again->drives.size(), 3u);
  }
  // Without one of its drives it goes on, and says so; replaced, there is an empty one.
  std::filesystem::remove_all(folder + "/s/a");
  {
    const auto less = open_store_folder(folder + "/s", {}, "x");
    ASSERT_TRUE(less);
    ASSERT_EQ(less->notes.size(), 1u);
    EXPECT_EQ(less->notes.front().severity, Severity::warning);
    EXPECT_EQ(less->drives.at("hot-0"), nullptr);
    EXPECT_EQ(less->drive_set().at("hot-0"), nullptr);
    EXPECT_NE(less->drive_set().at("hot-1"), nullptr);
  }
  {
    const auto replaced = open_store_folder(folder + "/s", {}, "x", true);
    ASSERT_TRUE(replaced);
    EXPECT_TRUE(replaced->notes.empty());
    EXPECT_NE(replaced->drives.at("hot-0"), nullptr);
  }
  std::filesystem::create_directories(folder + "/other");
  ASSERT_TRUE(drives::write_durably(folder + "/other/readme", "mine"));
  const auto taken = open_store_folder(folder + "/other", tiers, "x");
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().front().what, HasSubstr("not a store"));
  const auto wish =
      open_store_folder(folder + "/s", {}, "x", false, {}, {.database = "postgresql://h/d"});
  ASSERT_FALSE(wish);
  EXPECT_THAT(wish.error().front().what, HasSubstr("the metadata of this store lie in its folder"));
}

// Nobody listens there: what the library says comes along, on one line.
TEST(PostgresPlace, a_database_that_does_not_answer_says_why) {
  const auto opened = rows::open_postgres_metadata({"postgresql://127.0.0.1:1/none", "id", false});
  ASSERT_FALSE(opened);
  const std::string said = to_text(opened.error());
  EXPECT_THAT(said, HasSubstr("127.0.0.1"));
  EXPECT_THAT(said, HasSubstr("refused"));
}

TEST(Listings, stop_where_the_prefix_ends) {
  rows::MemoryMetadata rows;
  for (const char* key : {"a", "b", "b/1", "b/2", "b0", "c"}) {
    ASSERT_TRUE(rows.commit({.changes = {{rows::row::object("pail", key),
                                          rows::encode(rows::Version{.id = "null"})}}}));
  }
  const auto keys = [&](store::PageRequest request) {
    request.bucket = "pail";
    std::vector<std::string> out;
    const auto page = store::page_of_objects(rows, request);
    for (const store::PageEntry& entry : page->entries) out.push_back(entry.key);
    return out;
  };
  EXPECT_THAT(keys({.prefix = "b/"}), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(keys({.prefix = "b/", .after = "a"}), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(keys({.prefix = "b/", .after = "b/1"}), ElementsAre("b/2"));
  EXPECT_THAT(keys({.prefix = "b/", .after = "c"}), ElementsAre());
  EXPECT_THAT(keys({.prefix = "b", .delimiter = "/"}), ElementsAre("b", "b/", "b0"));
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::object("pail", "b/3"), "rubbish"}}}));
  const auto bad = store::page_of_objects(rows, {.bucket = "pail"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, "InternalError");
}

TEST(Checks, count_what_is_there_and_say_what_is_wrong) {
  rows::MemoryMetadata rows;
  drives::SimulatedDrive drive;
  const store::DriveSet set = {{"d", &drive}};
  store::Store store({.metadata = rows,
                      .drives = set,
                      .tiers = {{"hot", {1, 0}, {"d"}}},
                      .now_ms = [] { return rows::TimeMs{5}; },
                      .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
  ASSERT_TRUE(store.open() && store.make_bucket({.name = "pail", .owner = "main"}));
  store::BlobWriter writer = store.writer("hot");
  ASSERT_TRUE(writer.append("four"));
  const rows::Blob blob = *writer.finish();
  rows::Version version{.size = 4, .etag = "e"};
  version.extents = {{blob.id, 4, "e", ""}};
  ASSERT_TRUE(store.put("pail", "k", version, {blob}));
  const auto good = check_store(store, true);
  ASSERT_TRUE(good && good->clean());
  EXPECT_EQ(good->buckets, 1u);
  EXPECT_EQ(good->versions, 1u);
  EXPECT_EQ(good->blobs, 1u);
  EXPECT_EQ(good->bytes, 4u);
  const auto said = [&](const rows::RowChange& change) {
    const auto before = rows.get(change.key).value_or(std::nullopt);
    EXPECT_TRUE(rows.commit({.changes = {change}}));
    const auto check = check_store(store, false);
    EXPECT_TRUE(rows.commit({.changes = {{change.key, before}}}));
    std::string all;
    for (const std::string& fault : check->faults) all += fault + '\n';
    return all;
  };
  EXPECT_THAT(said({rows::row::bucket("tub"), "rubbish"}),
              HasSubstr("the row of a bucket is unreadable"));
  EXPECT_THAT(said({rows::row::object("pail", "l"), "rubbish"}),
              HasSubstr("the row of a version is unreadable"));
  EXPECT_THAT(said({rows::row::object("gone", "k"), rows::encode(rows::Version{.id = "null"})}),
              HasSubstr("a version lies in bucket gone, which is not there"));
  EXPECT_THAT(said({rows::row::blob(blob.id), std::nullopt}),
              HasSubstr("a version names blob " + blob.id + ", which has no row"));
  EXPECT_THAT(said({rows::row::blob("x"), "rubbish"}),
              HasSubstr("the row of a blob is unreadable"));
  EXPECT_THAT(said({rows::row::object("pail", "k"), std::nullopt}),
              HasSubstr("nothing names blob " + blob.id));
  drive.files().clear();
  const auto lost = check_store(store, false);
  EXPECT_EQ(lost->lost_blobs, 1u);
  EXPECT_EQ(lost->damaged_shards, 1u);
  EXPECT_THAT(lost->faults.front(), HasSubstr("has too few good shards"));
}

}  // namespace
}  // namespace orrery::upkeep::small_pieces_tests
