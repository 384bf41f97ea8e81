// What the drives have recorded about the metadata: how a witness is written and read, which of
// several is the newest, and what makes metadata doubtful.
#include "live/store/witness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/rocks_metadata.h"

namespace orrery::store::witness_tests {
namespace {

Witness seen(std::uint64_t run, std::uint64_t commits, bool stopped = false) {
  return {.store = "s", .run = run, .commits = commits, .stopped = stopped};
}

TEST(WitnessText, is_refused_if_any_byte_changed) {
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

TEST(Witness, newer_means_a_later_run_then_commit_then_running) {
  EXPECT_TRUE(is_newer(seen(2, 1), seen(1, 9)));
  EXPECT_TRUE(is_newer(seen(2, 9), seen(2, 8)));
  EXPECT_TRUE(is_newer(seen(2, 9), seen(2, 9, true))) << "the store has been started since";
  EXPECT_FALSE(is_newer(seen(2, 9), seen(2, 9)));
}

TEST(Witness, the_newest_of_this_store_is_found_on_any_drive) {
  drives::SimulatedDrive old, fresh, others, blank;
  ASSERT_TRUE(old.set_note(witness_text(seen(1, 5)), true));
  ASSERT_TRUE(fresh.set_note(witness_text(seen(2, 8)), true));
  ASSERT_TRUE(others.set_note(witness_text({.store = "t", .run = 99}), true));
  const DriveSet drives = {{"a", &old}, {"b", &fresh}, {"c", &others}, {"d", &blank}, {"e", {}}};
  EXPECT_EQ(newest_witness(drives, "s", std::nullopt)->commits, 8u);
  EXPECT_EQ(newest_witness(drives, "s", seen(2, 9))->commits, 9u);
  EXPECT_FALSE(newest_witness({{"d", &blank}}, "s", std::nullopt));
}

TEST(Witness, metadata_of_another_store_or_behind_the_drives_are_doubted) {
  const auto facts = [](std::optional<std::string> id, std::uint64_t run, std::uint64_t commits) {
    return MetadataFacts{.store = std::move(id), .run = run, .commits = commits};
  };
  EXPECT_EQ(doubt_of(facts("s", 3, 10), "s", seen(3, 10)), std::nullopt);
  EXPECT_EQ(doubt_of(facts("s", 4, 11), "s", seen(3, 10)), std::nullopt);
  EXPECT_EQ(doubt_of(facts("s", 3, 9), "s", seen(3, 10)), Doubt::behind) << "one commit is lost";
  EXPECT_EQ(doubt_of(facts("s", 2, 50), "s", seen(3, 10)), Doubt::behind);
  EXPECT_EQ(doubt_of(facts("t", 3, 10), "s", seen(3, 10)), Doubt::other_store);
  EXPECT_EQ(doubt_of(facts({}, 3, 10), "s", seen(3, 10)), Doubt::no_id);
  EXPECT_EQ(doubt_of(facts({}, 3, 10), "s", std::nullopt), std::nullopt) << "before stores had ids";
}

class WitnessedMetadata : public testing::Test {
 protected:
  WitnessedMetadata() {
    folder = (std::filesystem::temp_directory_path() / "orrery-witness-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~WitnessedMetadata() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

// Safety case S5: a durable commit is noted on the drives before it is acknowledged.
TEST_F(WitnessedMetadata, notes_each_durable_commit_before_acknowledging_it) {
  drives::SimulatedDrive drive;
  const DriveSet drives = {{"d", &drive}};
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
  EXPECT_EQ(newest_witness(drives, "s", std::nullopt)->commits, last) << "a crash may lose it";
  ASSERT_TRUE(metadata->flush());
  EXPECT_EQ(newest_witness(drives, "s", std::nullopt)->commits, last + 1);
}

}  // namespace
}  // namespace orrery::store::witness_tests
