// Rows in RocksDB: ordered, changed atomically, kept over restarts, and open in one process only.
#include "live/rows/rocks_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

namespace orrery::rows::rocks_metadata_tests {
namespace {

using testing::StartsWith;

class RocksMetadataTest : public testing::Test {
 protected:
  RocksMetadataTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-rocks-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~RocksMetadataTest() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

TEST_F(RocksMetadataTest, rows_are_ordered_changed_atomically_and_kept) {
  const std::string place = folder + "/rows";
  {
    auto rows = open_rocks_metadata(place);
    ASSERT_TRUE(rows);
    Metadata& metadata = **rows;
    EXPECT_FALSE(metadata.is_shared());
    EXPECT_TRUE(metadata.leads().value());
    EXPECT_TRUE(metadata.hold_run(3).value());
    EXPECT_FALSE(metadata.is_held(3).value());
    EXPECT_TRUE(metadata.commit({.changes = {{"b", "2"}, {"a", "1"}, {"c", "3"}}}).value());
    EXPECT_FALSE(metadata.commit({.expects = {{"a", "0"}}, .changes = {{"a", "9"}}}).value());
    EXPECT_FALSE(metadata.commit({.expects = {{"a", {}}}, .changes = {{"a", "9"}}}).value());
    EXPECT_TRUE(metadata
                    .commit({.expects = {{"a", "1"}, {"none", {}}},
                             .changes = {{"c", {}}, {"d", "4"}},
                             .durable = false})
                    .value());
    EXPECT_TRUE(metadata.flush());
    const auto cursor = metadata.cursor();
    EXPECT_TRUE(metadata.commit({.changes = {{"aa", "later"}}}).value());
    std::string all;
    for (cursor->seek("a"); cursor->valid(); cursor->next()) {
      all += std::string(cursor->key()) + '=' + std::string(cursor->value()) + ' ';
      ASSERT_LT(all.size(), 100u);
    }
    EXPECT_EQ(all, "a=1 b=2 d=4 ") << "a cursor sees one moment";
    EXPECT_TRUE(cursor->state());
    const auto taken = open_rocks_metadata(place);
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error().front().what, StartsWith("the metadata cannot be opened: "));
    EXPECT_EQ(taken.error().front().code, "store.metadata");
  }
  auto again = open_rocks_metadata(place);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->get("d").value(), "4");
  EXPECT_EQ((*again)->get("aa").value(), "later");
  EXPECT_EQ((*again)->get("c").value(), std::nullopt);
}

}  // namespace
}  // namespace orrery::rows::rocks_metadata_tests
