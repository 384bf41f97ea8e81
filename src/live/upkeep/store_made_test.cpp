// Where a store may be made, which plans its tiers may have, and what a first run that died leaves
// to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/rows/rocks_metadata.h"
#include "live/upkeep/store_folder.h"

namespace orrery::upkeep::store_made_tests {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::string plan_of(const std::string& text) {
  const auto plan = tier_plan_of(text);
  if (!plan) return "refused";
  return std::to_string(plan->plan.data) + '+' + std::to_string(plan->plan.parity) + " on " +
         std::to_string(plan->folders.size());
}

TEST(PlansOfTiers, have_up_to_32_shards_and_8_copies) {
  EXPECT_EQ(plan_of("hot=30+2"), "30+2 on 32");
  EXPECT_EQ(plan_of("hot=32+0"), "32+0 on 32");
  EXPECT_EQ(plan_of("hot=1+31"), "1+31 on 32");
  EXPECT_EQ(plan_of("hot=31+2"), "refused");
  EXPECT_EQ(plan_of("hot=32+1"), "refused");
  EXPECT_EQ(plan_of("hot=33+0"), "refused");
  EXPECT_EQ(plan_of("hot=1x"), "1+0 on 1");
  EXPECT_EQ(plan_of("hot=8x"), "1+7 on 8");
  EXPECT_EQ(plan_of("hot=9x"), "refused");
  EXPECT_EQ(plan_of("hot=0x"), "refused");
  EXPECT_EQ(plan_of("hot=1+0"), "1+0 on 1");
  EXPECT_EQ(plan_of("hot=0+1"), "refused");
  EXPECT_EQ(plan_of("hot=+1"), "refused");
  EXPECT_EQ(plan_of("hot=1+"), "refused");
  EXPECT_EQ(plan_of("hot="), "refused");
  EXPECT_THAT(tier_plan_of("warm=2+1")->folders, ElementsAre("warm-0", "warm-1", "warm-2"));
  EXPECT_THAT(tier_plan_of("cold=1+0")->folders, ElementsAre("cold"));
}

TEST(PlansOfTiers, are_written_down_as_they_are_read) {
  EXPECT_EQ(store_text("i", {{"hot", {4, 2}, {"/a", "/b"}}, {"cold", {1, 0}, {}}}),
            "orrery-store 4\nid i\ntier hot 4+2\ndrive hot-0 /a\ndrive hot-1 /b\ntier cold 1+0\n"
            "drive cold-0 cold\n");
  EXPECT_EQ(store_text("i", {{"hot"}}, "postgresql://h/d"),
            "orrery-store 4\nid i\nmetadata postgresql://h/d\ntier hot 1+0\ndrive hot-0 hot\n");
}

class StoreMadeTest : public testing::Test {
 protected:
  StoreMadeTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-made-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~StoreMadeTest() override { std::filesystem::remove_all(folder); }
  // A drive that is there already, so that none of 256 folders is made.
  void mark(const std::string& place, const std::string& store) const {
    std::filesystem::create_directories(place + "/data");
    std::ofstream(place + "/drive") << drives::mark_text({store, "hot-0"});
  }
  // The id of the store that is there then, or why there is none.
  std::string made(const std::string& place, const std::string& id) const {
    const std::vector<TierPlan> tiers = {{"hot", {1, 0}, {folder + "/drive-of-" + id}}};
    const auto opened = open_store_folder(place, tiers, id);
    return opened ? opened->id : opened.error().front().what;
  }
  std::string folder;
};

TEST_F(StoreMadeTest, a_folder_that_holds_nothing_but_a_begun_store_is_free) {
  const std::string taken = "this folder holds something that is not a store";
  mark(folder + "/drive-of-a", "a");
  std::filesystem::create_directories(folder + "/one/spool");
  std::ofstream(folder + "/one/store.begun.new") << "torn";
  EXPECT_EQ(made(folder + "/one", "a"), "a");
  std::filesystem::create_directories(folder + "/two/spools");
  EXPECT_EQ(made(folder + "/two", "a"), taken);
  std::filesystem::create_directories(folder + "/three/spool");
  std::ofstream(folder + "/three/store.new") << "x";
  EXPECT_EQ(made(folder + "/three", "a"), taken);
  std::ofstream(folder + "/four") << "x";
  EXPECT_EQ(made(folder + "/four", "a"), taken) << "a file";
  EXPECT_EQ(drives::read_file(folder + "/one/store")->substr(0, 20), "orrery-store 4\nid a\n");
  EXPECT_FALSE(drives::read_file(folder + "/one/store.begun"));
}

TEST_F(StoreMadeTest, what_was_begun_keeps_its_id) {
  mark(folder + "/drive-of-new", "old");
  std::filesystem::create_directories(folder + "/s");
  std::ofstream(folder + "/s/store.begun") << store_text("old", {{"hot"}});
  std::ofstream(folder + "/s/mine") << "beside it";
  EXPECT_EQ(made(folder + "/s", "new"), "old");
  // One that cannot be read is begun anew.
  mark(folder + "/drive-of-next", "next");
  std::filesystem::create_directories(folder + "/t");
  std::ofstream(folder + "/t/store.begun") << "torn";
  EXPECT_EQ(made(folder + "/t", "next"), "next");
}

TEST_F(StoreMadeTest, a_place_that_cannot_be_understood_is_said_and_so_is_another_database) {
  std::filesystem::create_directories(folder + "/s");
  const auto said = [&](const std::string& lines, const std::string& database = "") {
    std::ofstream(folder + "/s/store") << "orrery-store 4\nid i\n" + lines;
    const auto opened =
        open_store_folder(folder + "/s", {}, "x", false, {}, {.database = database});
    return opened ? "opened" : opened.error().front().what;
  };
  EXPECT_EQ(said("tier cold 1+0\ndrive cold-0 s3+rubbish\n"),
            "this is no place in an object store");
  EXPECT_NE(said("tier hot 1+0\ndrive hot-0 rados:rubbish\n"), "opened");
  EXPECT_EQ(said("metadata postgresql://h/a\ntier hot 1+0\ndrive hot-0 x\n", "postgresql://h/b"),
            "the metadata of this store lie in postgresql://h/a");
  EXPECT_EQ(said("tier hot 1+0\ndrive hot-0 x\n", "postgresql://h/b"),
            "the metadata of this store lie in its folder");
}

// As much as the file system says, while nobody else fills a tenth of it meanwhile.
TEST_F(StoreMadeTest, a_drive_has_the_room_of_its_file_system) {
  mark(folder + "/drive", "s");
  auto drive =
      drives::open_folder_drive(folder + "/drive", {"s", "hot-0"}, drives::Marking::refuse);
  ASSERT_TRUE(drive);
  const auto said = std::filesystem::space(folder);
  const drives::DriveSpace space = (*drive)->space().value();
  EXPECT_EQ(space.total_bytes, said.capacity);
  EXPECT_NEAR(static_cast<double>(space.free_bytes), static_cast<double>(said.available),
              0.1 * static_cast<double>(said.available) + 1e6);
}

TEST_F(StoreMadeTest, a_drive_that_is_another_stores_is_not_taken) {
  mark(folder + "/drive-of-a", "other");
  EXPECT_THAT(made(folder + "/s", "a"), StartsWith("this drive belongs to another store"));
  EXPECT_FALSE(drives::read_file(folder + "/s/store")) << "it is not made";
  EXPECT_TRUE(drives::read_file(folder + "/s/store.begun"));
}

TEST_F(StoreMadeTest, a_file_of_an_earlier_format_says_the_new_number_once_it_is_opened) {
  mark(folder + "/s/hot", "i");
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/s/metadata"));
  for (const int format : {1, 2, 3, 4}) {
    const std::string rest = "id i\ntier hot 1+0\ndrive hot-0  hot \n";
    ASSERT_TRUE(drives::write_durably(folder + "/s/store",
                                      "orrery-store " + std::to_string(format) + '\n' + rest));
    const auto opened = open_store_folder(folder + "/s", {}, "x");
    ASSERT_TRUE(opened) << format;
    EXPECT_EQ(opened->folders.at("hot-0"), "hot");
    EXPECT_EQ(drives::read_file(folder + "/s/store"), "orrery-store 4\n" + rest);
    EXPECT_EQ(opened->database, "");
    EXPECT_EQ(opened->notes.empty(), format > 1) << "it gets its id once, and that is said";
  }
}

}  // namespace
}  // namespace orrery::upkeep::store_made_tests
