#include "storage/dataset.h"

#include <gtest/gtest.h>

#include "catalog/shipped_fixture.h"

namespace orrery::storage {
namespace {

TEST(Dataset, KindsAreThereAndDiffer) {
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

TEST(Dataset, DemandByHand) {
  // A million images of 100 kB in 100 MB shards, read at 2,000 a second, 5 ms of a core each.
  const DatasetDemand d = dataset_demand({.samples = 1e6,
                                          .sample = kilobytes(100),
                                          .object = megabytes(100),
                                          .decode = milliseconds(5),
                                          .samples_rate = PerSecond(2000)});
  EXPECT_DOUBLE_EQ(d.capacity / gigabytes(1), 100);
  EXPECT_DOUBLE_EQ(d.read / gbytes_per_s(1), 0.2);
  EXPECT_EQ(d.objects, 1000);
  EXPECT_DOUBLE_EQ(d.requests.base(), 2);
  EXPECT_DOUBLE_EQ(d.decode_cores, 10);
}

TEST(Dataset, OneFileASampleAsksForEveryOne) {
  const DatasetDemand d = dataset_demand({.samples = 5e6,
                                          .sample = kilobytes(100),
                                          .object = kilobytes(100),
                                          .decode = {},
                                          .samples_rate = PerSecond(2000)});
  EXPECT_EQ(d.objects, 5e6);
  EXPECT_DOUBLE_EQ(d.requests.base(), 2000);
}

TEST(Dataset, ABadRowIsRefused) {
  const auto table = CsvTable::parse(
      "id,sample_bytes,object_bytes,decode_core_ms,decoded_bytes,source,basis\nx,0,1,1,1,s,b\n",
      "bad.csv");
  ASSERT_TRUE(table.has_value());
  const auto kinds = read_dataset_kinds(*table);
  ASSERT_FALSE(kinds.has_value());
  EXPECT_EQ(kinds.error().front().code, "dataset.kind");
}

}  // namespace
}  // namespace orrery::storage
