#include "layers/storage/dataset.h"

#include <gtest/gtest.h>

#include "core/catalog/shipped_fixture.h"

namespace orrery::storage {
namespace {

TEST(Dataset, dataset_kinds_exist_and_differ) {
  const auto kinds =
      read_dataset_kinds(catalog::shipped().table("calibration/dataset_kinds.csv").value());
  ASSERT_TRUE(kinds.has_value());
  const DatasetKind* image = find_dataset_kind(*kinds, "image");
  const DatasetKind* video = find_dataset_kind(*kinds, "video");
  const DatasetKind* text = find_dataset_kind(*kinds, "text");
  ASSERT_TRUE(image != nullptr && video != nullptr && text != nullptr);
  EXPECT_GT(video->sample, image->sample);
  EXPECT_GT(image->decode, text->decode);
  // 500 x 375 pixels at 41.8 Mpixel/s.
  EXPECT_NEAR(image->decode / milliseconds(1), 500 * 375 / 41.8e3, 0.01);
  EXPECT_EQ(find_dataset_kind(*kinds, "smell"), nullptr);
}

TEST(Dataset, bad_row_is_refused) {
  const auto table = CsvTable::parse(
      "id,sample_bytes,object_bytes,decode_core_ms,decoded_bytes,source,basis\nx,0,1,1,1,s,b\n",
      "bad.csv");
  ASSERT_TRUE(table.has_value());
  const auto kinds = read_dataset_kinds(*table);
  ASSERT_FALSE(kinds.has_value());
  EXPECT_EQ(kinds.error().front().code, "dataset.kind");
}

TEST(Dataset, dataset_kinds_need_positive_sizes) {
  const auto kinds = [](const std::string& row) {
    const auto table = CsvTable::parse(
        "id,sample_bytes,object_bytes,decode_core_ms,decoded_bytes,source,basis\n" + row + "\n",
        "k.csv");
    return table && read_dataset_kinds(*table).has_value();
  };
  EXPECT_TRUE(kinds("x,1,1,0,1,s,b"));
  EXPECT_FALSE(kinds("x,1,0,1,1,s,b"));
  EXPECT_FALSE(kinds("x,1,1,-1,1,s,b"));
}

}  // namespace
}  // namespace orrery::storage
