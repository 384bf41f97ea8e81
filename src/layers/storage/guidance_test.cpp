#include "layers/storage/guidance.h"

#include <gtest/gtest.h>

#include "core/catalog/shipped_fixture.h"

namespace orrery::storage {
namespace {

std::vector<StorageGuidance> published() {
  auto all = read_storage_guidance(catalog::shipped().table("catalog/refarch_storage.csv").value());
  EXPECT_TRUE(all.has_value());
  return all.value_or(std::vector<StorageGuidance>{});
}

double gbs(const std::vector<StorageGuidance>& all, const GuidanceAsk& ask) {
  const auto rate = guided_rate(all, ask);
  EXPECT_TRUE(rate.has_value());
  return rate.value_or(BytesPerSecond(0)) / gbytes_per_s(1);
}

// RA-11333-001 V11 table 6.
TEST(Guidance, PublishedRows) {
  const auto all = published();
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 1, GuidanceLevel::good}), 15);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 1, GuidanceLevel::best}), 125);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "write", 4, GuidanceLevel::good}), 30);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 4, GuidanceLevel::better}), 160);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 8, GuidanceLevel::best}), 1000);
  EXPECT_EQ(gbs(all, {"SuperPOD GB200", "write", 1, GuidanceLevel::best}), 62);
  EXPECT_FALSE(guided_rate(all, {"SuperPOD GB200", "read", 1, GuidanceLevel::good}).has_value());
  EXPECT_FALSE(guided_rate(all, {"Colossus", "read", 1, GuidanceLevel::best}).has_value());
}

}  // namespace
}  // namespace orrery::storage
