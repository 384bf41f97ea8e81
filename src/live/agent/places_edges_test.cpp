// Places of a lifecycle at their edges: links that are no items, a person who does not stop it,
// empty files, and lines whose fields are of another kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "live/agent/keep_store.h"
#include "live/agent/keep_store_fixture.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/lifecycle_places.h"
#include "live/agent/probe_files.h"
#include "live/agent/test_folder.h"
#include "live/s3/hash.h"

namespace orrery::agent::places_edges_tests {
namespace {

namespace fs = std::filesystem;
using storage::LifecycleActionKind;
using testing::SizeIs;

TEST(PlacesEdges, a_link_is_no_item_and_no_file_of_one) {
  const TestFolder folder;
  folder.write("store/real/a.bin", "abc");
  folder.write("elsewhere/b.bin", "secret");
  fs::create_directory_symlink(folder.at("elsewhere"), folder.at("store/link"));
  fs::create_symlink(folder.at("elsewhere/b.bin"), folder.at("store/real/b.bin"));
  const auto listing = folder_store(folder.at("store"))->list();
  ASSERT_TRUE(listing);
  ASSERT_THAT(listing->items, SizeIs(1));
  EXPECT_EQ(listing->items[0].id, "real");
  ASSERT_NE(listing->items[0].file("a.bin"), nullptr);
  EXPECT_EQ(listing->items[0].file("a.bin")->bytes, 3U);
  EXPECT_EQ(listing->items[0].file("b.bin"), nullptr);
  EXPECT_EQ(listing->items[0].odd, "b.bin: it is a symbolic link");
}

TEST(PlacesEdges, a_place_is_made_where_the_folder_above_it_is_there) {
  const TestFolder folder;
  // One that is missing as well may be a file system that is not mounted.
  EXPECT_FALSE(put_item(*folder_store(folder.at("not/yet")), "item", {{"a", "x"}}));
  EXPECT_FALSE(fs::exists(folder.at("not")));
  const auto store = folder_store(folder.at("yet"));
  ASSERT_TRUE(put_item(*store, "item", {{"deep/er/f.bin", "0123456789"}}));
  const auto listing = store->list();
  ASSERT_TRUE(listing);
  ASSERT_THAT(listing->items, SizeIs(1));
  ASSERT_THAT(listing->items[0].files, SizeIs(1));
  EXPECT_EQ(listing->items[0].files[0].path, "deep/er/f.bin");
  EXPECT_EQ(listing->items[0].files[0].bytes, 10U);
}

struct WatchedPlaces {
  TestFolder folder;
  int asked = 0;
  Seconds now = seconds(static_cast<double>(std::time(nullptr)) + 3600);
  std::unique_ptr<LifecyclePlaces> places;

  WatchedPlaces() {
    folder.write("hot/step-5/.metadata", "m");
    folder.write("hot/step-5/empty.bin", "");
    std::vector<LivePlace> all;
    all.push_back({"hot", true, folder_store(folder.at("hot"))});
    all.push_back({"cold", false, folder_store(folder.at("cold"))});
    places = std::make_unique<LifecyclePlaces>(std::move(all),
                                               LivePlacesOptions{.run = "r",
                                                                 .marker = {},
                                                                 .clock = [this] { return now; },
                                                                 .stop =
                                                                     [this] {
                                                                       ++asked;
                                                                       return false;
                                                                     }});
  }
  std::vector<storage::CopyView> copies() const {
    const auto seen = places->look();
    return seen && seen->items.size() == 1 ? seen->items[0].copies
                                           : std::vector<storage::CopyView>{};
  }
};

// Of the list ".metadata, 1 byte, its digest; empty.bin, 0 bytes, that of nothing".
TEST(PlacesEdges, nobody_stops_it_and_empty_files_count_in_the_digest) {
  WatchedPlaces two;
  ASSERT_THAT(two.copies(), SizeIs(1));
  const auto copied = two.places->act(
      {.kind = LifecycleActionKind::copy, .item = "step-5", .place = "cold", .from = "hot"});
  ASSERT_TRUE(copied) << to_text(copied.error());
  EXPECT_GE(two.asked, 2) << "before each file";
  const auto copies = two.copies();
  ASSERT_THAT(copies, SizeIs(2));
  const std::string digest = s3::sha256_hex(".metadata\n1\n" + s3::sha256_hex("m") +
                                            "\nempty.bin\n0\n" + s3::sha256_hex("") + "\n");
  for (const storage::CopyView& copy : copies) {
    const auto verified = two.places->act({.kind = LifecycleActionKind::verify,
                                           .item = "step-5",
                                           .place = copy.place,
                                           .stamp = copy.stamp});
    ASSERT_TRUE(verified) << copy.place << to_text(verified.error());
    EXPECT_TRUE(verified->good && verified->sound) << copy.place;
    EXPECT_EQ(verified->digest, digest) << copy.place;
    EXPECT_EQ(verified->stamp, copy.stamp);
    EXPECT_EQ(copy.size, bytes(1));
    EXPECT_TRUE(copy.complete);
  }
  EXPECT_GT(two.asked, 6) << "and while it is read";
}

// A field that is not of its kind is as one that is not there.
TEST(PlacesEdges, a_field_of_another_kind_says_nothing) {
  const std::string header = lifecycle_header() + "\n";
  const auto memory = [&](const std::string& line) {
    return recall_lifecycle(header + line + "\n", "life.jsonl");
  };
  const std::string verified = line_of(storage::LifecycleEvent{
      .kind = storage::LifecycleEventKind::verified, .at = seconds(5), .item = "i", .place = "p"});
  ASSERT_TRUE(memory(verified));
  std::string odd = verified;
  odd.replace(odd.find("\"i\""), 3, "7");
  EXPECT_TRUE(memory(odd)) << "a number where a name belongs";
  odd = verified;
  odd.replace(odd.find("\"verified\""), 10, "7");
  EXPECT_FALSE(memory(odd)) << "and no kind is no event";
}

TEST(PlacesEdges, folders_of_a_probe_are_its_owners) {
  const TestFolder folder;
  const FilesPlan plan{.folder = folder.path(), .threads = 2, .files = 4, .seconds_max = 30};
  EXPECT_EQ(measure_metadata(plan).fault, "");
  for (const char* name : {"0", "1"}) {
    ASSERT_TRUE(fs::is_directory(folder.at(name)));
    EXPECT_EQ(fs::status(folder.at(name)).permissions() & fs::perms(0777), fs::perms(0700));
    EXPECT_TRUE(fs::is_empty(folder.at(name))) << "what was made is removed";
  }
  EXPECT_FALSE(fs::exists(folder.at("2")));
}

}  // namespace
}  // namespace orrery::agent::places_edges_tests
