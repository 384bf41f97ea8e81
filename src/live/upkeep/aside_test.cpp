// Files that no row names: set aside and not removed, brought back when a row names them after all,
// and removed only after a week in which the store was well and nothing spoke against its rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep::aside_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kWeekMs = 7ull * 24 * 3600 * 1000;

class AsideTest : public testing::Test {
 protected:
  AsideTest() { next_run(); }
  // The run before it dies.
  void next_run() {
    store = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = rows,
                            .drives = {{"d", &drive}},
                            .tiers = {{"hot", {1, 0}, {"d"}}},
                            .now_ms = [this] { return clock_ms; },
                            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); },
                            .agrees = [this] { return agrees; }});
    ASSERT_TRUE(store->open());
  }
  rows::Blob written(const std::string& bytes) {
    store::BlobWriter writer = store->writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    return *writer.finish();
  }
  static std::string file_of(const rows::Blob& blob) { return store::shard_name(blob.id, 0, 0); }

  rows::MemoryMetadata rows;
  drives::SimulatedDrive drive;
  rows::TimeMs clock_ms = 1'700'000'000'000;
  bool agrees = true;
  std::unique_ptr<store::Store> store;
};

TEST_F(AsideTest, what_a_dead_run_left_is_set_aside_and_can_still_be_read) {
  const rows::Blob left = written("never committed");
  next_run();
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 1u);
  EXPECT_THAT(drive.files(), IsEmpty());
  ASSERT_EQ(drive.aside()->size(), 1u);
  EXPECT_EQ(drive.aside()->front().name, file_of(left));
  EXPECT_TRUE(drive.open(file_of(left)));
}

TEST_F(AsideTest, it_is_removed_after_a_week_in_which_the_store_was_well_and_not_before) {
  written("never committed");
  next_run();
  ASSERT_TRUE(add_well(*store, 1000));
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  ASSERT_TRUE(add_well(*store, kWeekMs - 1));
  EXPECT_EQ(tend_aside(*store)->files, 1u) << "a millisecond is missing";
  ASSERT_TRUE(add_well(*store, 1));
  const auto done = tend_aside(*store);
  EXPECT_EQ(done->removed, 1u);
  EXPECT_EQ(done->files, 0u);
  EXPECT_THAT(*drive.aside(), IsEmpty());
}

TEST_F(AsideTest, no_clock_that_jumps_shortens_the_week) {
  written("never committed");
  next_run();
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  for (const rows::TimeMs jump :
       {rows::TimeMs{1} << 45, -(rows::TimeMs{1} << 45), rows::TimeMs{-5'000'000'000}}) {
    clock_ms += jump;
    EXPECT_EQ(tend_aside(*store)->files, 1u);
  }
}

TEST_F(AsideTest, nothing_is_removed_while_the_drives_have_seen_more_than_the_rows) {
  written("never committed");
  next_run();
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  ASSERT_TRUE(add_well(*store, 2 * kWeekMs));
  agrees = false;
  EXPECT_EQ(tend_aside(*store)->files, 1u);
  agrees = true;
  EXPECT_EQ(tend_aside(*store)->removed, 1u);
}

// The rows that name it were put back from a backup.
TEST_F(AsideTest, what_a_row_names_after_all_is_brought_back_however_old) {
  const rows::Blob left = written("lost and found");
  next_run();
  ASSERT_EQ(sweep_orphans(*store)->set_aside, 1u);
  ASSERT_TRUE(add_well(*store, 2 * kWeekMs));
  ASSERT_TRUE(rows.commit({.changes = {{rows::row::blob(left.id), rows::encode(left)}}}));
  const auto done = tend_aside(*store);
  EXPECT_EQ(done->brought_back, 1u);
  EXPECT_EQ(done->removed, 0u);
  EXPECT_TRUE(drive.files().contains(file_of(left)));
}

// A run that ended in order leaves nothing; so where a whole object of one has no row, rows are
// missing.
TEST_F(AsideTest, a_whole_object_of_an_earlier_run_without_a_row_stays_and_is_told) {
  const rows::Blob lost = written("its row is gone");
  ASSERT_TRUE(end_run(*store));
  next_run();
  const auto swept = sweep_orphans(*store);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->set_aside, 0u);
  EXPECT_EQ(swept->kept, 1u);
  EXPECT_THAT(swept->says, ElementsAre(HasSubstr(file_of(lost))));
  EXPECT_TRUE(drive.files().contains(file_of(lost)));
}

TEST_F(AsideTest, part_of_an_object_of_an_earlier_run_is_set_aside) {
  const rows::Blob part = written(std::string(70'000, 'p'));
  ASSERT_TRUE(end_run(*store));
  drive.files()[file_of(part)]->bytes.resize(10);
  next_run();
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 1u);
}

TEST_F(AsideTest, files_of_a_run_that_the_rows_do_not_know_stop_the_sweep) {
  written("never committed");
  next_run();
  drive.files()["000000ff00000000000000aa.00.0"] =
      std::make_shared<drives::SimulatedDrive::Content>();
  const auto swept = sweep_orphans(*store);
  ASSERT_FALSE(swept);
  EXPECT_THAT(swept.error().message, HasSubstr("run 255"));
  EXPECT_EQ(drive.files().size(), 2u);
}

TEST_F(AsideTest, a_run_has_a_number_and_names_that_were_not_used_though_rows_are_from_before) {
  const rows::Blob before = written("of run 1");
  store::StoreSetting setting = store->setting();
  setting.run_after = 41;
  setting.random_bytes = [](std::size_t n) { return std::string(n, 'x'); };
  store::Store again(setting);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.epoch(), 42u) << "the drives have seen 41";
  store::BlobWriter writer = again.writer("hot");
  EXPECT_NE(writer.so_far().id.substr(8, 8), before.id.substr(8, 8)) << "drawn for each run";
}

// On a disk.

class AsideFolder : public testing::Test {
 protected:
  AsideFolder() {
    folder = (std::filesystem::temp_directory_path() / "orrery-aside-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    auto made = drives::open_folder_drive(folder, {"s", "d"}, drives::Marking::make);
    EXPECT_TRUE(made);
    drive = std::move(*made);
    const auto file = drive->create(kFile);
    const std::string_view bytes[] = {"bytes"};
    EXPECT_TRUE((*file)->append(bytes) && (*file)->sync());
  }
  ~AsideFolder() override { std::filesystem::remove_all(folder); }
  std::string bytes() const {
    std::string text(5, ' ');
    const auto file = drive->open(kFile);
    return file && (*file)->read(0, text) ? text : "none";
  }
  const std::string kFile = "0000000100000000000000aa.00.0";
  std::string folder;
  std::unique_ptr<drives::Drive> drive;
};

TEST_F(AsideFolder, a_file_moves_beside_the_data_with_its_time_and_origin_and_back) {
  ASSERT_TRUE(drive->set_aside({kFile, 77}, "by run 3"));
  EXPECT_THAT(drive->list().value(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(folder + "/aside/77/" + kFile));
  EXPECT_EQ(drives::read_file(folder + "/aside/77/origin"), "by run 3\n");
  const auto aside = drive->aside();
  ASSERT_EQ(aside->size(), 1u);
  EXPECT_EQ(aside->front().since_ms, 77u);
  EXPECT_EQ(bytes(), "bytes") << "whoever needs it reads it";
  ASSERT_TRUE(drive->set_aside({kFile, 77}, "again")) << "it is there";
  ASSERT_TRUE(drive->bring_back({kFile, 77}));
  EXPECT_THAT(drive->list().value(), ElementsAre(kFile));
  EXPECT_EQ(bytes(), "bytes");
}

TEST_F(AsideFolder, a_file_whose_copy_is_aside_already_is_set_aside_beside_it) {
  ASSERT_TRUE(drive->set_aside({kFile, 5}, "x"));
  ASSERT_TRUE(drive->create(kFile));
  ASSERT_TRUE(drive->set_aside({kFile, 5}, "x"));
  EXPECT_EQ(drive->aside()->size(), 2u);
  EXPECT_THAT(drive->list().value(), IsEmpty());
}

TEST_F(AsideFolder, nothing_is_written_over_and_what_is_removed_leaves_no_folder) {
  ASSERT_TRUE(drive->set_aside({kFile, 5}, "x"));
  ASSERT_TRUE(drive->create(kFile));
  EXPECT_FALSE(drive->bring_back({kFile, 5})) << "another has its place";
  EXPECT_EQ(drive->aside()->size(), 1u);
  ASSERT_TRUE(drive->remove_aside({kFile, 5}));
  EXPECT_FALSE(std::filesystem::exists(folder + "/aside/5"));
  EXPECT_THAT(drive->list().value(), ElementsAre(kFile));
}

}  // namespace
}  // namespace orrery::upkeep::aside_tests
