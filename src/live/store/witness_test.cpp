// What drives have seen of the metadata: written and read, the newest of several, and what speaks
// against metadata that are opened.
#include "live/store/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/codec.h"
#include "live/rows/records.h"
#include "live/rows/rocks_metadata.h"

namespace orrery::store::witness_tests {
namespace {

Witness seen(std::uint64_t run, std::uint64_t commits, bool stopped = false) {
  return {.store = "s", .run = run, .commits = commits, .stopped = stopped};
}

TEST(WitnessText, is_read_as_it_was_written_and_not_at_all_once_a_byte_is_other) {
  const std::string text = witness_text(seen(7, 1234, true));
  const auto read = witness_of(text + "\n\n\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->store, "s");
  EXPECT_EQ(read->run, 7u);
  EXPECT_EQ(read->commits, 1234u);
  EXPECT_TRUE(read->stopped);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(witness_of(other)) << i;
    EXPECT_FALSE(witness_of(text.substr(0, i))) << i;
  }
}

TEST(Witness, the_newest_is_of_the_latest_run_then_commit_and_running_goes_before_stopped) {
  EXPECT_TRUE(is_newer(seen(2, 1), seen(1, 9)));
  EXPECT_TRUE(is_newer(seen(2, 9), seen(2, 8)));
  EXPECT_TRUE(is_newer(seen(2, 9), seen(2, 9, true))) << "it was started again since";
  EXPECT_FALSE(is_newer(seen(2, 9), seen(2, 9)));
}

TEST(Witness, the_newest_is_found_on_any_drive_and_that_of_another_store_is_passed_over) {
  drives::SimulatedDrive old, fresh, others, blank;
  ASSERT_TRUE(old.set_note(witness_text(seen(1, 5)), true));
  ASSERT_TRUE(fresh.set_note(witness_text(seen(2, 8)), true));
  ASSERT_TRUE(others.set_note(witness_text({.store = "t", .run = 99}), true));
  const DriveSet drives = {{"a", &old}, {"b", &fresh}, {"c", &others}, {"d", &blank}, {"e", {}}};
  EXPECT_EQ(newest_witness(drives, "s", std::nullopt)->commits, 8u);
  EXPECT_EQ(newest_witness(drives, "s", seen(2, 9))->commits, 9u);
  EXPECT_FALSE(newest_witness({{"d", &blank}}, "s", std::nullopt));
}

TEST(Witness, metadata_are_doubted_that_are_anothers_or_know_less_than_the_drives) {
  const auto facts = [](std::optional<std::string> id, std::uint64_t run, std::uint64_t commits) {
    return MetadataFacts{.store = std::move(id), .run = run, .commits = commits};
  };
  EXPECT_EQ(doubt_of(facts("s", 3, 10), "s", seen(3, 10)), std::nullopt);
  EXPECT_EQ(doubt_of(facts("s", 4, 11), "s", seen(3, 10)), std::nullopt);
  EXPECT_EQ(doubt_of(facts("s", 3, 9), "s", seen(3, 10)), Doubt::behind) << "one commit is lost";
  EXPECT_EQ(doubt_of(facts("s", 2, 50), "s", seen(3, 10)), Doubt::behind);
  EXPECT_EQ(doubt_of(facts("t", 3, 10), "s", seen(3, 10)), Doubt::other_store);
  EXPECT_EQ(doubt_of(facts({}, 3, 10), "s", seen(3, 10)), Doubt::no_id);
  EXPECT_EQ(doubt_of(facts({}, 3, 10), "s", std::nullopt), std::nullopt) << "from before ids";
}

class NotesOfAFolder : public testing::Test {
 protected:
  NotesOfAFolder() {
    folder = (std::filesystem::temp_directory_path() / "orrery-note-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    std::filesystem::create_directories(folder + "/d/data/00");
    std::ofstream(folder + "/d/drive") << drives::mark_text({"s", "d"});
  }
  ~NotesOfAFolder() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<drives::Drive> opened() const {
    return std::move(*open_folder_drive(folder + "/d", {"s", "d"}, drives::Marking::refuse));
  }
  void damage(std::size_t at) const {
    std::fstream file(folder + "/d/seen", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << "damage";
  }
  std::string folder;
};

TEST_F(NotesOfAFolder, the_last_note_is_read_again_by_whoever_comes_next) {
  {
    const auto drive = opened();
    EXPECT_EQ(drive->note().error().kind, drives::PortFault::missing);
    ASSERT_TRUE(drive->set_note("one", true));
    ASSERT_TRUE(drive->set_note("two", false));
    EXPECT_EQ(drive->note().value(), "two");
  }
  const auto drive = opened();
  EXPECT_EQ(drive->note().value(), "two");
  ASSERT_TRUE(drive->set_note("three", true));
  EXPECT_EQ(drive->note().value(), "three");
}

TEST_F(NotesOfAFolder, a_torn_note_leaves_the_one_that_was_synced) {
  const auto drive = opened();
  ASSERT_TRUE(drive->set_note("synced", true));
  ASSERT_TRUE(drive->set_note("not synced", false));
  damage(4096 + 33);
  EXPECT_EQ(drive->note().value(), "synced");
  damage(33);
  EXPECT_EQ(drive->note().error().kind, drives::PortFault::corrupt);
  ASSERT_TRUE(drive->set_note("anew", true));
  EXPECT_EQ(drive->note().value(), "anew");
}

// S5: what is durable is noted before the caller hears of it, and no more than that.
TEST_F(NotesOfAFolder, each_durable_commit_is_noted_before_it_is_acknowledged) {
  const auto drive = opened();
  const DriveSet drives = {{"d", drive.get()}};
  auto rows = rows::open_rocks_metadata(folder + "/m");
  ASSERT_TRUE(rows);
  Witnesses witnesses(drives, {.store = "s", .run = 1}, true);
  const auto metadata = witnessed(std::move(*rows), witnesses);
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(metadata->commit({.changes = {{"k" + std::to_string(i), "v"}}}).value());
    const auto noted = newest_witness(drives, "s", std::nullopt);
    ASSERT_TRUE(noted);
    EXPECT_EQ(noted->commits, metadata->commits());
    EXPECT_GT(noted->commits, last);
    last = noted->commits;
  }
  ASSERT_TRUE(metadata->commit({.changes = {{"lazy", "v"}}, .durable = false}).value());
  EXPECT_EQ(newest_witness(drives, "s", std::nullopt)->commits, last) << "a crash may take it";
  ASSERT_TRUE(metadata->flush());
  EXPECT_EQ(newest_witness(drives, "s", std::nullopt)->commits, last + 1);
}

}  // namespace
}  // namespace orrery::store::witness_tests
