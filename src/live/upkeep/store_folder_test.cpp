// A store in a folder: how it is created, opened and upgraded, which plans its tiers may have, and
// what a first run that died leaves for the next.
#include "live/upkeep/store_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/drives/s3_drive.h"
#include "live/rows/rocks_metadata.h"
#include "live/store/store.h"
#include "live/upkeep/check.h"
#include "live/upkeep/old_store_fixture.h"

namespace orrery::upkeep::store_folder_tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class StoreFolderTest : public testing::Test {
 protected:
  StoreFolderTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-folder-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~StoreFolderTest() override { std::filesystem::remove_all(folder); }

  // A drive that exists already, so that its 256 subfolders need not be made and synced.
  static void mark(const std::string& place, const drives::DriveMark& as) {
    std::filesystem::create_directories(place + "/data");
    std::ofstream(place + "/drive") << drives::mark_text(as);
  }
  // Returns the code of the refusal, or "opened".
  static std::string code_of(const Result<OpenedFolder>& opened) {
    return opened ? "opened" : opened.error().front().code;
  }
  std::string folder;
};

// A store of format 1, as the first released version of the program wrote it.
class OldFormat : public StoreFolderTest {
 protected:
  void make_old() {
    const format1::Fixture old = format1::store_in(folder);
    auto metadata = rows::open_rocks_metadata(folder + "/metadata");
    ASSERT_TRUE(metadata);
    rows::Commit commit;
    for (const auto& [key, value] : old.rows) commit.changes.push_back({key, value});
    ASSERT_TRUE((*metadata)->commit(commit));
  }
  void open() {
    auto found = open_store_folder(folder, usual_tiers(), "another", false);
    ASSERT_TRUE(found) << to_text(found.error());
    opened = std::move(*found);
    store = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = *opened.metadata,
                            .drives = opened.drive_set(),
                            .tiers = opened.tiers,
                            .now_ms = [] { return rows::TimeMs{10'000}; },
                            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
    ASSERT_TRUE(store->open());
  }
  std::string get(const std::string& key, const std::optional<std::string>& version = {}) {
    auto object = store->open_object("pail", key, version,
                                     [](const rows::Version& of) -> store::Answer<void> {
                                       if (of.marker) return store::refused("NoSuchKey");
                                       return {};
                                     });
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    return object->reader->read(0, bytes) ? bytes : "unreadable";
  }

  OpenedFolder opened;
  std::unique_ptr<store::Store> store;
};

TEST_F(OldFormat, format_1_is_read_and_upgraded) {
  make_old();
  open();
  EXPECT_THAT(drives::read_file(folder + "/store").value_or(""),
              StartsWith("orrery-store 4\nid 0123"));
  EXPECT_EQ(get("a"), "second bytes");
  EXPECT_EQ(get("a", "v1"), "first bytes!");
  EXPECT_EQ(get("b"), "NoSuchKey");  // a marker
  EXPECT_EQ(get("b", "v3"), "cold bytes");
  const auto version = store->find("pail", "a", std::nullopt);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->etag, "be4e9d4ba32a6a8e62f3ad3a24b5bd2c");
  EXPECT_EQ(net::header_of(version->headers, "Content-Type"), "text/plain");
  EXPECT_EQ(net::header_of(version->tags, "who"), "me");
  EXPECT_EQ(store->bucket("pail")->versioning, rows::Versioning::on);
  const auto check = check_store(*store, true);
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->clean()) << (check->faults.empty() ? "" : check->faults.front());
  EXPECT_EQ(check->blobs, 4u);
  // The open upload can be completed, and new objects are stored next to old ones.
  const auto upload = store->upload("pail", "c", "upload");
  ASSERT_TRUE(upload);
  const auto parts = store->parts("upload");
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 1u);
  rows::Version whole = upload->draft;
  whole.size = 12;
  whole.extents = {parts->front().extent};
  ASSERT_TRUE(store->complete_upload(*upload, whole, {}));
  EXPECT_EQ(get("c"), "part of one.");
  EXPECT_EQ(store->epoch(), 2u);
}

TEST_F(OldFormat, format_1_is_read_from_parity) {
  make_old();
  std::filesystem::remove_all(folder + "/hot-0");
  open();
  EXPECT_EQ(std::ranges::count(opened.notes, "store.drive", &Diagnostic::code), 1);
  EXPECT_EQ(get("a"), "second bytes");
  EXPECT_EQ(get("a", "v1"), "first bytes!");
}

TEST_F(OldFormat, a_later_format_is_refused_and_left_alone) {
  make_old();
  const std::string later = "orrery-store 99\nid 0123456789abcdef\nwarp hot 9\n";
  std::ofstream(folder + "/store") << later;
  const auto refused = open_store_folder(folder, usual_tiers(), "another", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "store.format");
  EXPECT_THAT(refused.error().front().what, HasSubstr("format 99"));
  EXPECT_THAT(refused.error().front().what, HasSubstr("up to 4"));
  EXPECT_EQ(drives::read_file(folder + "/store"), later);
}

TEST_F(OldFormat, formats_2_to_4_are_opened_and_get_the_current_number) {
  mark(folder + "/s/hot", {"i", "hot-0"});
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/s/metadata"));
  for (const int format : {2, 3, 4}) {
    const std::string rest = "id i\ntier hot 1+0\ndrive hot-0  hot \n";
    ASSERT_TRUE(drives::write_durably(folder + "/s/store",
                                      "orrery-store " + std::to_string(format) + '\n' + rest));
    const auto found = open_store_folder(folder + "/s", {}, "x");
    ASSERT_TRUE(found) << format;
    EXPECT_EQ(found->folders.at("hot-0"), "hot");
    EXPECT_EQ(drives::read_file(folder + "/s/store"), "orrery-store 4\n" + rest);
    EXPECT_EQ(found->database, "");
  }
}

std::string plan_of(const std::string& text) {
  const auto plan = tier_plan_of(text);
  if (!plan) return plan.error().front().code;
  std::string out =
      plan->name + ' ' + std::to_string(plan->plan.data) + '+' + std::to_string(plan->plan.parity);
  if (plan->folders.size() > 4) return out + " on " + std::to_string(plan->folders.size());
  for (const std::string& place : plan->folders) out += ' ' + place;
  return out;
}

TEST(TierPlans, are_parsed) {
  EXPECT_EQ(plan_of("hot=1x"), "hot 1+0 hot");
  EXPECT_EQ(plan_of("cold=1+0"), "cold 1+0 cold");
  EXPECT_EQ(plan_of("warm=2x"), "warm 1+1 warm-0 warm-1");
  EXPECT_EQ(plan_of("warm=2+1"), "warm 2+1 warm-0 warm-1 warm-2");
  EXPECT_EQ(plan_of("hot=2+1:/a,/b,/c,/d"), "hot 2+1 /a /b /c /d") << "with a spare";
  EXPECT_EQ(plan_of("warm=1x:s3+https://h/pail"), "warm 1+0 s3+https://h/pail");
  EXPECT_EQ(plan_of("hot=1x:rados:p/n"), "hot 1+0 rados:p/n");
  EXPECT_EQ(plan_of("hot=30+2"), "hot 30+2 on 32");
  EXPECT_EQ(plan_of("hot=32+0"), "hot 32+0 on 32");
  EXPECT_EQ(plan_of("hot=1+31"), "hot 1+31 on 32");
  EXPECT_EQ(plan_of("hot=8x"), "hot 1+7 on 8");
}

TEST(TierPlans, with_an_impossible_redundancy_or_place_are_refused) {
  for (const char* bad :
       {"hot=9x", "hot=0x", "hot=x", "hot=0+1", "hot=+1", "hot=1+", "hot=", "hot=1+-1", "hot=2",
        "hot=1+2+3", "hot=200+100", "hot=31+2", "hot=33+0", "hot", "lukewarm=1x", "hot=1x:/a,",
        "hot=2+1:/a,/b", "gpu-direct=1x:rados:p/n", "hot=1x:s3+https://h/pail"}) {
    EXPECT_EQ(plan_of(bad), "store.tier") << bad;
  }
  EXPECT_EQ(plan_of("hot=1x:rados:p"), "store.rados");
}

TEST(TierPlans, are_written_to_the_file_of_the_store) {
  EXPECT_EQ(store_text("i", {{"hot", {4, 2}, {"/a", "/b"}}, {"cold", {1, 0}, {}}}),
            "orrery-store 4\nid i\ntier hot 4+2\ndrive hot-0 /a\ndrive hot-1 /b\ntier cold 1+0\n"
            "drive cold-0 cold\n");
  EXPECT_EQ(store_text("i", {{"hot"}}, "postgresql://h/d"),
            "orrery-store 4\nid i\nmetadata postgresql://h/d\ntier hot 1+0\ndrive hot-0 hot\n");
}

TEST_F(StoreFolderTest, a_store_is_made_once_and_opened_as_it_was_made) {
  mark(folder + "/s/a", {"id-1", "hot-0"});
  mark(folder + "/s/b c", {"id-1", "hot-1"});
  const std::vector<TierPlan> tiers = {{.name = "hot", .plan = {1, 1}, .folders = {"a", "b c"}}};
  std::filesystem::create_directories(folder + "/s");
  ASSERT_TRUE(drives::write_durably(folder + "/s/store.begun", store_text("id-1", tiers)));
  EXPECT_EQ(open_store_folder(folder + "/s", tiers, "id-2")->id, "id-1")
      << "creating the store was started";
  EXPECT_EQ(drives::read_file(folder + "/s/store"), store_text("id-1", tiers));
  EXPECT_FALSE(std::filesystem::exists(folder + "/s/store.begun"));
  {
    const auto again = open_store_folder(folder + "/s", {{.name = "hot"}}, "id-2");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id, "id-1");
    EXPECT_EQ(again->drives.size(), 2u);
    EXPECT_TRUE(again->notes.empty());
  }
  std::filesystem::remove_all(folder + "/s/a");
  {
    const auto less = open_store_folder(folder + "/s", {}, "x");
    ASSERT_TRUE(less);
    ASSERT_EQ(less->notes.size(), 1u);
    EXPECT_EQ(less->notes.front().severity, Severity::warning);
    EXPECT_EQ(less->drive_set().at("hot-0"), nullptr);
    EXPECT_NE(less->drive_set().at("hot-1"), nullptr);
  }
  const auto replaced = open_store_folder(folder + "/s", {}, "x", true);
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(replaced->notes.empty());
  EXPECT_NE(replaced->drives.at("hot-0"), nullptr);
}

TEST_F(StoreFolderTest, a_store_is_made_only_in_an_empty_or_begun_folder) {
  const std::vector<TierPlan> tiers = {{"hot", {1, 0}, {folder + "/drive"}}};
  mark(folder + "/drive", {"a", "hot-0"});
  std::filesystem::create_directories(folder + "/two/spools");
  std::filesystem::create_directories(folder + "/three/spool");
  std::ofstream(folder + "/three/store.new") << "x";
  std::ofstream(folder + "/four") << "x";
  for (const char* taken : {"/two", "/three", "/four"}) {
    EXPECT_EQ(code_of(open_store_folder(folder + taken, tiers, "a")), "store.format") << taken;
  }
  std::filesystem::create_directories(folder + "/one/spool");
  std::ofstream(folder + "/one/store.begun.new") << "torn";
  std::ofstream(folder + "/one/store.begun") << "torn";
  EXPECT_EQ(code_of(open_store_folder(folder + "/one", tiers, "a")), "opened");
  EXPECT_FALSE(drives::read_file(folder + "/one/store.begun"));
}

TEST_F(StoreFolderTest, a_drive_of_another_store_is_not_taken) {
  mark(folder + "/drive", {"other", "hot-0"});
  const std::vector<TierPlan> tiers = {{"hot", {1, 0}, {folder + "/drive"}}};
  EXPECT_EQ(code_of(open_store_folder(folder + "/s", tiers, "a")), "store.drive");
  EXPECT_FALSE(drives::read_file(folder + "/s/store"));
  EXPECT_TRUE(drives::read_file(folder + "/s/store.begun"));
}

TEST_F(StoreFolderTest, a_refused_first_run_can_be_repeated_with_other_tiers) {
  drives::S3Access access;
  access.keys[""] = {"key", "secret", ""};
  access.retry.attempts_max = 1;
  auto tiers = usual_tiers();
  // No server listens there. By then, the tiers before it have made their folders.
  tiers[2] = *tier_plan_of("warm=1x:s3+http://127.0.0.1:1/pail");
  const auto refused = open_store_folder(folder, tiers, "first", false, access);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "store.s3");
  const auto made = open_store_folder(folder, usual_tiers(), "second", false, access);
  ASSERT_TRUE(made) << made.error().front().what;
  EXPECT_EQ(made->id, "first");
  EXPECT_EQ(made->folders.at("warm-0"), "warm");
}

TEST_F(StoreFolderTest, a_bad_line_of_the_file_is_refused_with_its_number) {
  // Returns the line that is refused; 0 for the file as a whole.
  const auto line_of = [&](const std::string& text) {
    std::filesystem::create_directories(folder + "/s");
    EXPECT_TRUE(drives::write_durably(folder + "/s/store", text));
    const auto opened = open_store_folder(folder + "/s", {}, "id");
    EXPECT_FALSE(opened) << text;
    return opened ? std::size_t{99} : static_cast<std::size_t>(opened.error().front().place.line);
  };
  EXPECT_EQ(line_of("orrery-depot 4\n"), 1u);
  EXPECT_EQ(line_of("orrery-store x\n"), 1u);
  EXPECT_EQ(line_of("orrery-store 5\n"), 1u);
  EXPECT_EQ(line_of("orrery-store 4\nid a\n"), 0u) << "there is no tier";
  EXPECT_EQ(line_of("orrery-store 4\nid a\ntier hot 1+x\n"), 3u);
  EXPECT_EQ(line_of("orrery-store 4\nid a\ntier hot 1+1\ndrive hot-0 a\n"), 0u)
      << "one drive of two";
  EXPECT_EQ(line_of("orrery-store 4\ndrive hot-0 a\n"), 2u) << "a drive before its tier";
  EXPECT_EQ(line_of("orrery-store 4\n\nid a b\n"), 3u);
  EXPECT_EQ(line_of("orrery-store 4\nid a\ntier hot 1+0\ndrive hot-0 none\n"), 0u)
      << "the tier has no drive";
}

TEST_F(StoreFolderTest, a_bad_place_or_another_database_is_refused) {
  std::filesystem::create_directories(folder + "/s");
  const auto code = [&](const std::string& lines, const std::string& database = "") {
    std::ofstream(folder + "/s/store") << "orrery-store 4\nid i\n" + lines;
    return code_of(open_store_folder(folder + "/s", {}, "x", false, {}, {.database = database}));
  };
  EXPECT_EQ(code("tier cold 1+0\ndrive cold-0 s3+rubbish\n"), "store.s3");
  EXPECT_NE(code("tier hot 1+0\ndrive hot-0 rados:rubbish\n"), "opened");
  EXPECT_EQ(code("metadata postgresql://h/a\ntier hot 1+0\ndrive hot-0 x\n", "postgresql://h/b"),
            "store.format");
  EXPECT_EQ(code("tier hot 1+0\ndrive hot-0 x\n", "postgresql://h/b"), "store.format");
}

TEST_F(StoreFolderTest, a_failed_write_is_reported_with_the_error_of_the_system) {
  const std::vector<TierPlan> tiers = {{.name = "hot"}};
  const auto refusal = [&](const std::string& place, const std::string& file) {
    const auto opened = open_store_folder(folder + place, tiers, "id");
    EXPECT_EQ(code_of(opened), "store.format") << place;
    if (opened) return std::string();
    EXPECT_EQ(opened.error().front().place.file, folder + file);
    return opened.error().front().what;
  };
  std::filesystem::create_directories(folder + "/a/store.begun.new");
  EXPECT_THAT(refusal("/a", "/a"), HasSubstr("File exists"));
  // A first run that died after its drives were made.
  std::filesystem::create_directories(folder + "/b/store.new");
  mark(folder + "/b/hot", {"id-0", "hot-0"});
  ASSERT_TRUE(drives::write_durably(folder + "/b/store.begun", store_text("id-0", tiers, "")));
  EXPECT_THAT(refusal("/b", "/b"), HasSubstr("File exists"));
  mark(folder + "/c/hot", {"id", "hot-0"});
  ASSERT_TRUE(drives::write_durably(folder + "/c/store",
                                    "orrery-store 3\nid id\ntier hot 1+0\ndrive hot-0 hot\n"));
  std::filesystem::create_directories(folder + "/c/store.new");
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/c/metadata"));
  EXPECT_THAT(refusal("/c", "/c/store"), HasSubstr("File exists"));
}

}  // namespace
}  // namespace orrery::upkeep::store_folder_tests
