// Copies of the parts of a version to another tier.
#include "live/upkeep/copy_extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/rows/records.h"
#include "live/store/blob.h"
#include "live/store/store_fixture.h"

namespace orrery::upkeep::copy_extents_tests {
namespace {

using testing::IsEmpty;

class CopyExtentsTest : public store::StoreBench {
 protected:
  CopyExtentsTest() : StoreBench({{"hot", {1, 0}, {"d"}}, {"cold", {1, 0}, {"d3"}}}) { begin(); }
  rows::Extent add(const std::string& bytes) {
    if (bytes.empty()) return {"", 0, "none", ""};
    const rows::Blob blob = written(bytes);
    set_row(rows::row::blob(blob.id), rows::encode(blob));
    return {blob.id, bytes.size(), "etag of " + std::to_string(bytes.size()), "sum"};
  }
  static std::string mixed(std::size_t bytes, int seed) {
    std::string out(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) {
      out[i] = static_cast<char>((i * 37) ^ (i >> 11) ^ static_cast<std::size_t>(seed));
    }
    return out;
  }
  std::string read(const rows::Blob& blob) const {
    store::BlobReader reader(set, blob);
    std::string bytes(blob.size, '?');
    EXPECT_EQ(reader.read(0, bytes).value_or(0), blob.size);
    return bytes;
  }
};

TEST_F(CopyExtentsTest, each_part_is_copied_to_its_own_blob) {
  const std::vector<std::string> parts = {mixed((1u << 20) + 5, 1), "", mixed(70'000, 2),
                                          mixed(2u << 20, 3)};
  std::vector<rows::Extent> extents;
  for (const std::string& part : parts) extents.push_back(add(part));
  auto reader = store->open_extents(extents);
  ASSERT_TRUE(reader);
  int looks = 0;
  const auto made = copy_extents(*store, **reader, extents, "cold", [&] { return ++looks > 99; });
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(looks, 5) << "2 + 1 + 2 pieces";
  ASSERT_EQ(made->extents.size(), 4u);
  ASSERT_EQ(made->blobs.size(), 3u);
  EXPECT_TRUE(read(made->blobs[0]) == parts[0]);
  EXPECT_TRUE(read(made->blobs[1]) == parts[2]);
  EXPECT_TRUE(read(made->blobs[2]) == parts[3]);
  EXPECT_EQ(made->extents[0].blob, made->blobs[0].id);
  EXPECT_EQ(made->extents[1].blob, "");
  EXPECT_EQ(made->extents[2].blob, made->blobs[1].id);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(made->extents[i].size, extents[i].size);
    EXPECT_EQ(made->extents[i].etag, extents[i].etag);
    EXPECT_EQ(made->extents[i].checksum, extents[i].checksum);
  }
  for (const rows::Blob& blob : made->blobs) EXPECT_EQ(blob.tier, "cold");
  EXPECT_EQ(drives["d3"].files().size(), 3u);
}

TEST_F(CopyExtentsTest, a_copy_that_fails_or_is_stopped_leaves_no_files) {
  const std::vector<rows::Extent> extents = {add(mixed(100, 1)), add(mixed(200, 2))};
  auto reader = store->open_extents(extents);
  ASSERT_TRUE(reader);
  int looks = 0;
  EXPECT_FALSE(copy_extents(*store, **reader, extents, "cold", [&] { return ++looks > 1; }));
  EXPECT_THAT(drives["d3"].files(), IsEmpty()) << "it was stopped in the second part";
  drives["d"].files().at(store::shard_name(extents[1].blob, 0, 0))->bytes[70] ^= 1;
  const auto bad = copy_extents(*store, **reader, extents, "cold", [] { return false; });
  EXPECT_EQ(bad.error().code, "InternalError");
  EXPECT_THAT(drives["d3"].files(), IsEmpty());
  std::vector<rows::Extent> longer = {extents[0]};
  longer[0].size = 101;
  auto first = store->open_extents(longer);
  EXPECT_FALSE(copy_extents(*store, **first, longer, "cold", [] { return false; }))
      << "the source is too short";
  EXPECT_THAT(drives["d3"].files(), IsEmpty());
}

}  // namespace
}  // namespace orrery::upkeep::copy_extents_tests
