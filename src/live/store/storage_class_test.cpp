// S3 storage classes and the tiers that they name.
#include "live/store/storage_class.h"

#include <gtest/gtest.h>

#include <optional>

namespace orrery::store::storage_class_tests {
namespace {

TEST(StorageClass, names_tiers_in_their_order) {
  EXPECT_LT(tier_rank("gpu-direct"), tier_rank("hot"));
  EXPECT_LT(tier_rank("hot"), tier_rank("warm"));
  EXPECT_LT(tier_rank("warm"), tier_rank("cold"));
  EXPECT_LT(tier_rank("cold"), tier_rank("none such"));
  EXPECT_EQ(tier_rank("gpu-direct"), 0);
  for (const char* tier : {"gpu-direct", "hot", "warm", "cold"}) {
    EXPECT_EQ(tier_of_class(class_of_tier(tier)), tier) << "shown and read back";
  }
  EXPECT_EQ(tier_of_class(""), "hot");
  EXPECT_EQ(tier_of_class("DEEP_ARCHIVE"), "cold");
  EXPECT_EQ(tier_of_class("MOON"), std::nullopt);
  EXPECT_EQ(class_of_tier("moon"), "");
  rows::Version v;
  v.storage_class = "GLACIER";
  EXPECT_EQ(tier_of(v), "cold");
  v.tier = "hot";  // a copy in the hot tier is read
  EXPECT_EQ(tier_of(v), "hot");
}

}  // namespace
}  // namespace orrery::store::storage_class_tests
